/* Writing numpy's .npz: a zip file whose members are .npy files, NAME.npy each, as numpy.savez
   writes it, without compression. numpy.load opens it, and so does everything that opens zip files.

   The zip format is that of PKWARE's APPNOTE 6.3, sections 4.3.7, 4.3.12 and 4.3.16: before each
   member a local header, behind all of them the central directory with the same facts and where
   each begins, and the end record. Numbers are little-endian; those here have two or four bytes, so
   that a file ends before 4 GiB and has fewer than 65536 members. Names are UTF-8, which bit 11
   says. The date is 1980-01-01, so that the same tensors give the same bytes. */
#include <stdlib.h>
#include <string.h>

#include "op/output.h"
#include "tensor_file/inner.h"

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

/* numpy's own types. Its file format has no name for the others. */
static const struct hc_stored_type types[] = {
    {"<f8", HC_FP64, HC_STORED_AS_IS, 8}, {"<f4", HC_FP32, HC_STORED_AS_IS, 4},
    {"<f2", HC_FP16, HC_STORED_AS_IS, 2}, {"<i4", HC_I32, HC_STORED_AS_IS, 4},
    {"|u1", HC_U8, HC_STORED_AS_IS, 1},
};

static const char *descr_of(enum hc_format format)
{
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (types[i].format == format)
            return types[i].name;
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
