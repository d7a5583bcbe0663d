/* numpy's .npy, and below it .npz. The first (numpy.lib.format) is "\x93NUMPY", a version, the
   header's length, and a literal of Python such as {'descr': '<f4', 'fortran_order': False,
   'shape': (3, 4), }. Then the elements.

   A format of ml_dtypes has no name of its own in descr. Version 0.6 writes '<V2' for bfloat16, the
   only one of two bytes, and '<f1' for float8_e5m2; all others of one byte share '<V1', which is
   therefore refused. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "tensor_file/inner.h"
#include "op/output.h"

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

/* Writing numpy's .npz: a zip file whose members are .npy files, NAME.npy each, as numpy.savez
   writes it, without compression. numpy.load opens it, and so does everything that opens zip files.

   The zip format is that of PKWARE's APPNOTE 6.3, sections 4.3.7, 4.3.12 and 4.3.16: before each
   member a local header, behind all of them the central directory with the same facts and where
   each begins, and the end record. Numbers are little-endian; those here have two or four bytes, so
   that a file ends before 4 GiB and has fewer than 65536 members. Names are UTF-8, which bit 11
   says. The date is 1980-01-01, so that the same tensors give the same bytes. */

enum {
    LOCAL = 30,
    CENTRAL = 46,
    END = 22,
    LONGEST_NAME = 512,
    MAX_MEMBERS = 65535,
    NPY = 192, /* a .npy header: 10 bytes and a text, in all a multiple of 64 */
    FIRST_DAY = 1 << 5 | 1
};

static const uint32_t most_bytes = 0xffffffff;

/* numpy's own numpy_types. Its file format has no name for the others. */
static const struct hc_stored_type numpy_types[] = {
    {"<f8", HC_FP64, HC_STORED_AS_IS, 8}, {"<f4", HC_FP32, HC_STORED_AS_IS, 4},
    {"<f2", HC_FP16, HC_STORED_AS_IS, 2}, {"<i4", HC_I32, HC_STORED_AS_IS, 4},
    {"|u1", HC_U8, HC_STORED_AS_IS, 1},
};

static const char *descr_of(enum hc_format format)
{
    for (size_t i = 0; i < sizeof numpy_types / sizeof *numpy_types; i++)
        if (numpy_types[i].format == format)
            return numpy_types[i].name;
    return NULL;
}

bool hc_npz_has(enum hc_format format)
{
    return descr_of(format) != NULL;
}

/* The checksum of zip files: CRC-32 by the reversed polynomial 0xedb88320 (APPNOTE 4.4.7). */
static uint32_t checksum(uint32_t crc, const unsigned char *data, size_t bytes)
{
    crc = ~crc;
    for (size_t i = 0; data && i < bytes; i++) {
        crc ^= data[i];
        for (int bit = 0; bit < 8; bit++)
            crc = crc >> 1 ^ (crc & 1 ? 0xedb88320 : 0);
    }
    return ~crc;
}

static unsigned char *put(unsigned char *at, uint32_t value, int bytes)
{
    for (int i = 0; i < bytes; i++)
        *at++ = (unsigned char)(value >> 8 * i);
    return at;
}

/* What both headers of a member have in common, from the version on. */
struct member {
    char name[LONGEST_NAME + 1];
    unsigned char header[NPY];
    uint32_t crc;
    uint32_t bytes;
    uint32_t at; /* of its local header */
};

static unsigned char *put_facts(unsigned char *at, const struct member *m)
{
    at = put(at, 20, 2);      /* version 2.0 reads it */
    at = put(at, 1 << 11, 2); /* UTF-8 */
    at = put(at, 0, 2);       /* stored */
    at = put(at, 0, 2);
    at = put(at, FIRST_DAY, 2);
    at = put(at, m->crc, 4);
    at = put(at, m->bytes, 4);
    at = put(at, m->bytes, 4);
    at = put(at, (uint32_t)strlen(m->name), 2);
    return put(at, 0, 2); /* no extra field */
}

/* "\x93NUMPY", version 1.0, and the literal with its length. */
static void make_npy_header(const struct hc_tensor *t, unsigned char header[NPY])
{
    static const unsigned char magic[] = {0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0};
    char *text = (char *)header + 10;
    char shape[100] = "";
    size_t used = 0;
    for (int d = 0; d < t->rank; d++)
        used += (size_t)snprintf(shape + used, sizeof shape - used, "%lld,%s",
                                 (long long)t->shape[d], d + 1 < t->rank ? " " : "");
    memset(header, ' ', NPY);
    memcpy(header, magic, sizeof magic);
    (void)put(header + 8, NPY - 10, 2);
    int length =
        snprintf(text, NPY - 10, "{'descr': '%s', 'fortran_order': False, 'shape': (%s), }",
                 descr_of(t->format), shape);
    text[length] = ' ';
    header[NPY - 1] = '\n';
}

static enum hc_status make_member(struct member *m, const struct hc_named_tensor *named,
                                  uint64_t at)
{
    uint64_t bytes = NPY + (uint64_t)hc_tensor_bytes(&named->tensor);
    int length = snprintf(m->name, sizeof m->name, "%s.npy", named->name);
    if (length >= (int)sizeof m->name || !hc_npz_has(named->tensor.format))
        return hc_fail(HC_INVALID, "an .npz file cannot hold '%.40s'", named->name);
    if (at + LOCAL + (uint64_t)length + bytes > most_bytes)
        return hc_fail(HC_INVALID, "an .npz file ends before 4 GiB");
    make_npy_header(&named->tensor, m->header);
    m->crc = checksum(0, m->header, NPY);
    m->crc = checksum(m->crc, named->tensor.data, hc_tensor_bytes(&named->tensor));
    m->bytes = (uint32_t)bytes;
    m->at = (uint32_t)at;
    return HC_OK;
}

static bool append_member(struct hc_output *output, const struct member *m,
                          const struct hc_tensor *t)
{
    unsigned char local[LOCAL];
    (void)put_facts(put(local, 0x04034b50, 4), m);
    return hc_output_append(output, local, LOCAL) &&
           hc_output_append(output, m->name, strlen(m->name)) &&
           hc_output_append(output, m->header, NPY) &&
           hc_output_append(output, t->data, hc_tensor_bytes(t));
}

static bool append_directory(struct hc_output *output, const struct member *members, int count,
                             uint64_t begin)
{
    unsigned char end[END] = {0};
    uint64_t size = 0;
    for (int i = 0; i < count; i++) {
        unsigned char central[CENTRAL] = {0};
        unsigned char *at = put(put(central, 0x02014b50, 4), 20, 2);
        (void)put_facts(at, &members[i]);
        (void)put(central + CENTRAL - 4, members[i].at, 4);
        if (!hc_output_append(output, central, CENTRAL) ||
            !hc_output_append(output, members[i].name, strlen(members[i].name)))
            return false;
        size += CENTRAL + strlen(members[i].name);
    }
    unsigned char *at = put(end, 0x06054b50, 4) + 4;
    at = put(put(at, (uint32_t)count, 2), (uint32_t)count, 2);
    (void)put(put(at, (uint32_t)size, 4), (uint32_t)begin, 4);
    return begin + size <= most_bytes && hc_output_append(output, end, END);
}

enum hc_status hc_npz_write(const char *path, const struct hc_named_tensor *tensors, int count)
{
    struct hc_output output;
    uint64_t at = 0;
    if (count > MAX_MEMBERS)
        return hc_fail(HC_INVALID, "an .npz file has at most %d tensors", MAX_MEMBERS);
    struct member *members = calloc((size_t)count + 1, sizeof *members);
    enum hc_status status = HC_OK;
    if (!members)
        return hc_fail(HC_NO_MEMORY, "cannot write %s: no memory", path);
    for (int i = 0; i < count && status == HC_OK; i++) {
        status = make_member(&members[i], &tensors[i], at);
        at += LOCAL + strlen(members[i].name) + members[i].bytes;
    }
    if (status == HC_OK)
        status = hc_output_open(&output, path);
    if (status == HC_OK) {
        bool good = true;
        for (int i = 0; i < count && good; i++)
            good = append_member(&output, &members[i], &tensors[i].tensor);
        good = good && append_directory(&output, members, count, at);
        status = hc_output_close(&output, good);
    }
    free(members);
    return status;
}
