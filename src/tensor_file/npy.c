/* numpy's .npy (numpy.lib.format): "\x93NUMPY", a version, the header's length, and a literal of
   Python such as {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }. Then the elements.

   A format of ml_dtypes has no name of its own in descr. Version 0.6 writes '<V2' for bfloat16, the
   only one of two bytes, and '<f1' for float8_e5m2; all others of one byte share '<V1', which is
   therefore refused. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "tensor_file/inner.h"

enum { LONGEST_HEADER = 65536, LONGEST_DESCR = 32 };

/* By descr without its first character, the order of bytes. */
static const struct hc_stored_type types[] = {
    {"f8", HC_FP64, HC_STORED_AS_IS, 8}, {"f4", HC_FP32, HC_STORED_AS_IS, 4},
    {"f2", HC_FP16, HC_STORED_AS_IS, 2}, {"V2", HC_BF16, HC_STORED_AS_IS, 2},
    {"f1", HC_E5M2, HC_STORED_AS_IS, 1}, {"i4", HC_I32, HC_STORED_AS_IS, 4},
    {"i8", HC_I32, HC_STORED_I64, 8},    {"u1", HC_U8, HC_STORED_AS_IS, 1},
    {"b1", HC_U8, HC_STORED_BOOL, 1},
};

struct header {
    char descr[LONGEST_DESCR];
    bool fortran;
    int64_t shape[HC_MAX_RANK];
    int rank;
    bool has[3]; /* descr, fortran_order and shape */
};

static void skip_blanks(const char **at)
{
    while (**at == ' ' || **at == '\t' || **at == '\n' || **at == '\r')
        ++*at;
}

/* Takes the word if it comes next. */
static bool take_word(const char **at, const char *word)
{
    skip_blanks(at);
    size_t length = strlen(word);
    if (strncmp(*at, word, length) != 0)
        return false;
    *at += length;
    return true;
}

static bool take_string(const char **at, char *text, size_t size)
{
    skip_blanks(at);
    char quote = **at;
    if (quote != '\'' && quote != '"')
        return false;
    size_t n = 0;
    for (++*at; **at != quote; ++*at) {
        if (**at == '\0' || **at == '\\' || n + 1 >= size)
            return false;
        text[n++] = **at;
    }
    text[n] = '\0';
    ++*at;
    return true;
}

/* Takes "(3, 4)", "(3,)" or "()", where a number may end in the L of Python 2. False if that is not
   what stands there, or the rank or an extent is too large; *rank is then HC_MAX_RANK + 1. */
static bool take_shape(const char **at, struct header *h)
{
    if (!take_word(at, "("))
        return false;
    for (h->rank = 0; !take_word(at, ")"); h->rank++) {
        skip_blanks(at);
        if (h->rank == HC_MAX_RANK || !isdigit((unsigned char)**at)) {
            h->rank = isdigit((unsigned char)**at) ? HC_MAX_RANK + 1 : 0;
            return false;
        }
        int64_t extent = 0;
        for (; isdigit((unsigned char)**at); ++*at) {
            if (extent > (INT64_MAX - 9) / 10)
                return false;
            extent = extent * 10 + (**at - '0');
        }
        (void)take_word(at, "L");
        h->shape[h->rank] = extent;
        if (!take_word(at, ",") && *(skip_blanks(at), *at) != ')')
            return false;
    }
    return true;
}

static bool take_value(const char **at, int key, struct header *h)
{
    if (key == 0)
        return take_string(at, h->descr, sizeof h->descr);
    if (key == 2)
        return take_shape(at, h);
    h->fortran = take_word(at, "True");
    return h->fortran || take_word(at, "False");
}

static bool take_header(const char *text, struct header *h)
{
    static const char *const keys[] = {"descr", "fortran_order", "shape"};
    const char *at = text;
    if (!take_word(&at, "{"))
        return false;
    while (!take_word(&at, "}")) {
        char name[16];
        int key = 0;
        if (!take_string(&at, name, sizeof name) || !take_word(&at, ":"))
            return false;
        while (key < 3 && strcmp(name, keys[key]) != 0)
            key++;
        if (key == 3 || h->has[key] || !take_value(&at, key, h))
            return false;
        h->has[key] = true;
        if (!take_word(&at, ",") && *(skip_blanks(&at), at) != '}')
            return false;
    }
    skip_blanks(&at);
    return *at == '\0' && h->has[0] && h->has[1] && h->has[2];
}

/* Reads version, length and text of the header; *data is where the elements begin. */
static enum hc_status read_header(struct hc_tensor_source *source, struct header *h, uint64_t *data)
{
    unsigned char b[12] = {0};
    size_t known = source->size < sizeof b ? (size_t)source->size : sizeof b;
    enum hc_status status = hc_tensor_fetch(source, 0, b, known);
    if (status != HC_OK)
        return status;
    if (known > 6 && (b[6] < 1 || b[6] > 3 || b[7] != 0))
        return hc_tensor_refuse(source, "version %d.%d of .npy is unknown", b[6], b[7]);
    uint64_t begin = b[6] == 1 ? 10 : 12;
    uint64_t length = b[8] + 256U * b[9];
    if (begin == 12)
        length += 65536ULL * b[10] + 16777216ULL * b[11];
    if (source->size < begin || length > source->size - begin)
        return hc_tensor_refuse(source, "its header is cut");
    if (length > LONGEST_HEADER)
        return hc_tensor_refuse(source, "its header has %llu bytes, which no array needs",
                                (unsigned long long)length);
    char *text = hc_tensor_memory(source, (size_t)length + 1);
    if (!text)
        return HC_NO_MEMORY;
    status = hc_tensor_fetch(source, begin, text, (size_t)length);
    if (status != HC_OK)
        return status;
    text[length] = '\0';
    *data = begin + length;
    if (strlen(text) == length && take_header(text, h))
        return HC_OK;
    if (h->rank > HC_MAX_RANK)
        return hc_tensor_refuse(source, "its rank is above %d", HC_MAX_RANK);
    return hc_tensor_refuse(source, "its header is not as numpy writes it: %.80s", text);
}

static const struct hc_stored_type *type_of(const char *descr)
{
    if (strcmp(descr, "bfloat16") == 0)
        descr = "<V2";
    if (!strchr("<>|=", descr[0]) || descr[0] == '\0')
        return NULL;
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (strcmp(descr + 1, types[i].name) == 0)
            return &types[i];
    return NULL;
}

/* Copies elements in Fortran order, where the first index runs fastest, to row-major order. */
static enum hc_status to_row_major(struct hc_tensor_source *source, struct hc_tensor *t)
{
    int64_t count = hc_tensor_count(t);
    struct hc_tensor to = *t;
    to.data = hc_tensor_memory(source, hc_tensor_bytes(t));
    if (!to.data)
        return HC_NO_MEMORY;
    int64_t at[HC_MAX_RANK] = {0};
    for (int64_t i = 0; i < count; i++) {
        int64_t row_major = 0;
        for (int d = 0; d < t->rank; d++)
            row_major = row_major * t->shape[d] + at[d];
        hc_tensor_set_bits(&to, row_major, hc_tensor_bits(t, i));
        for (int d = 0; d < t->rank && ++at[d] == t->shape[d]; d++)
            at[d] = 0;
    }
    t->data = to.data;
    return HC_OK;
}

enum hc_status hc_npy_read(struct hc_tensor_source *source)
{
    struct header h = {.shape = {1, 1, 1, 1}};
    uint64_t begin = 0;
    int64_t count = 0;
    enum hc_status status = read_header(source, &h, &begin);
    if (status != HC_OK)
        return status;
    const struct hc_stored_type *type = type_of(h.descr);
    if (!type)
        return hc_tensor_refuse(source,
                                "its dtype '%s' is none of f8, f4, f2, i4, i8, u1, b1, V2 "
                                "(bfloat16) and f1 (float8_e5m2)",
                                h.descr);
    if (!hc_tensor_elements(h.shape, h.rank, &count))
        return hc_tensor_refuse(source, "its shape has more elements than can be counted");
    uint64_t bytes = (uint64_t)count * (uint64_t)type->bytes;
    if (bytes != source->size - begin)
        return hc_tensor_refuse(source, "its shape needs %llu bytes, but %llu follow the header",
                                (unsigned long long)bytes,
                                (unsigned long long)(source->size - begin));
    struct hc_named_tensor *one = hc_tensor_memory(source, sizeof *one);
    if (!one)
        return HC_NO_MEMORY;
    *one = (struct hc_named_tensor){.name = ""};
    one->tensor.rank = h.rank;
    memcpy(one->tensor.shape, h.shape, sizeof h.shape);
    status =
        hc_tensor_elements_read(source, type, begin, h.descr[0] == '>', &one->tensor, &one->unread);
    if (status == HC_OK && one->unread)
        return hc_tensor_refuse(source, "%s", one->unread);
    if (status == HC_OK && h.fortran && h.rank > 1)
        status = to_row_major(source, &one->tensor);
    source->file->tensors = one;
    source->file->count = status == HC_OK;
    return status;
}
