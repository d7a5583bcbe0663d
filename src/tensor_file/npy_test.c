/* Arrays of numpy. The bytes are those of numpy's format (numpy.lib.format), written by hand; where
   Python has numpy, its own files are read, too. */
#include <stdint.h>

#include "tensor_file/testing.h"

TestSuite(npy, .init = make, .fini = unmake);

static unsigned char bytes[4096];

static void expect(const struct hc_tensor_file *file, enum hc_format format, int count,
                   const double *values)
{
    const struct hc_tensor *t = hc_tensor_file_find(file, "");
    cr_assert(t && file->count == 1 && t->format == format && hc_tensor_count(t) == count);
    for (int i = 0; i < count; i++)
        cr_expect_eq(hc_tensor_get(t, i), values[i], "element %d", i);
}

static void reads(const char *descr, const void *data, size_t size, enum hc_format format,
                  const double *values)
{
    char header[100];
    struct hc_tensor_file file;
    (void)snprintf(header, sizeof header,
                   "{'descr': '%s', 'fortran_order': False, 'shape': (2,), }", descr);
    read_as(&file, bytes, npy(bytes, header, data, size));
    expect(&file, format, 2, values);
    hc_tensor_file_close(&file);
}

Test(npy, each_dtype_is_read_by_its_bits)
{
    const double values[] = {1, -2};
    const double bits[] = {1, 0};
    reads("<f8", "\0\0\0\0\0\0\xf0\x3f\0\0\0\0\0\0\0\xc0", 16, HC_FP64, values);
    reads(">f8", "\x3f\xf0\0\0\0\0\0\0\xc0\0\0\0\0\0\0\0", 16, HC_FP64, values);
    reads("<f4", "\0\0\x80\x3f\0\0\0\xc0", 8, HC_FP32, values);
    reads(">f4", "\x3f\x80\0\0\xc0\0\0\0", 8, HC_FP32, values);
    reads("<f2", "\0\x3c\0\xc0", 4, HC_FP16, values);
    reads("<V2", "\x80\x3f\0\xc0", 4, HC_BF16, values);
    reads("|V2", "\x80\x3f\0\xc0", 4, HC_BF16, values);
    reads("bfloat16", "\x80\x3f\0\xc0", 4, HC_BF16, values);
    reads("<f1", "\x3c\xc0", 2, HC_E5M2, values);
    reads("<i4", "\1\0\0\0\xfe\xff\xff\xff", 8, HC_I32, values);
    reads("<i8", "\1\0\0\0\0\0\0\0\xfe\xff\xff\xff\xff\xff\xff\xff", 16, HC_I32, values);
    reads("|u1", "\1\0", 2, HC_U8, bits);
    reads("|b1", "\1\0", 2, HC_U8, bits);
}

Test(npy, fortran_order_becomes_row_major)
{
    /* [[1, 2, 3], [4, 5, 6]] column by column */
    const unsigned char columns[] = {1, 4, 2, 5, 3, 6};
    const double rows[] = {1, 2, 3, 4, 5, 6};
    struct hc_tensor_file file;
    read_as(&file, bytes,
            npy(bytes, "{'descr': '|u1', 'fortran_order': True, 'shape': (2, 3), }", columns, 6));
    expect(&file, HC_U8, 6, rows);
    hc_tensor_file_close(&file);
}

Test(npy, scalars_and_empty_arrays_are_read)
{
    const double seven = 7;
    struct hc_tensor_file file;
    read_as(&file, bytes,
            npy(bytes, "{'descr': '|u1', 'fortran_order': False, 'shape': (), }", "\7", 1));
    expect(&file, HC_U8, 1, &seven);
    cr_expect_eq(file.tensors[0].tensor.rank, 0);
    hc_tensor_file_close(&file);
    read_as(&file, bytes,
            npy(bytes, "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 0), }", "", 0));
    expect(&file, HC_FP32, 0, NULL);
    cr_expect_not_null(file.tensors[0].tensor.data);
    hc_tensor_file_close(&file);
}

Test(npy, versions_two_and_three_have_a_longer_length)
{
    const char *header = "{'descr': '|u1', 'fortran_order': False, 'shape': (1,), }";
    const double seven = 7;
    for (unsigned char version = 2; version <= 3; version++) {
        unsigned char small[128];
        struct hc_tensor_file file;
        size_t length = strlen(header);
        memcpy(small, "\x93NUMPY", 6);
        const unsigned char rest[] = {version, 0, (unsigned char)length, 0, 0, 0};
        memcpy(small + 6, rest, sizeof rest);
        memcpy(small + 12, header, length);
        small[12 + length] = 7;
        read_as(&file, small, 13 + length);
        expect(&file, HC_U8, 1, &seven);
        hc_tensor_file_close(&file);
    }
}

static void header_refused(const char *header, const char *line)
{
    refused(bytes, npy(bytes, header, "\0\0\0\0\0\0\0\x80", 8), line);
}

Test(npy, wrong_headers_are_refused_in_a_line)
{
    const char *types = "its dtype '%s' is none of f8, f4, f2, i4, i8, u1, b1, V2 (bfloat16) and "
                        "f1 (float8_e5m2)";
    const char *const unknown[] = {"|O", "<V1", "<c8", "<U4", "f4", "", "<f16"};
    for (size_t i = 0; i < sizeof unknown / sizeof *unknown; i++) {
        char header[100];
        char line[160];
        (void)snprintf(header, sizeof header,
                       "{'descr': '%s', 'fortran_order': False, 'shape': (2,), }", unknown[i]);
        (void)snprintf(line, sizeof line, types, unknown[i]);
        header_refused(header, line);
    }
    header_refused("{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }",
                   "its shape needs 12 bytes, but 8 follow the header");
    header_refused("{'descr': '<f4', 'fortran_order': False, 'shape': (1, 1, 1, 1, 2), }",
                   "its rank is above 4");
    header_refused("{'descr': '<i8', 'fortran_order': False, 'shape': (1,), }",
                   "it has an i64 beyond i32");
    header_refused("{'descr': '|b1', 'fortran_order': False, 'shape': (8,), }",
                   "it has a bool that is neither 0 nor 1");
}

Test(npy, shapes_that_overflow_are_refused)
{
    const char *line = "its shape has more elements than can be counted";
    header_refused("{'descr': '<f4', 'fortran_order': False, 'shape': (4294967296, 4294967296), }",
                   line);
    header_refused("{'descr': '<f4', 'fortran_order': False, 'shape': (9223372036854775790,), }",
                   line);
    header_refused(
        "{'descr': '<f4', 'fortran_order': False, 'shape': (0, 4294967296, 4294967296), }", line);
}

Test(npy, headers_that_are_no_literal_of_numpys_are_refused)
{
    const char *const wrong[] = {
        "{'descr': '<f4', 'fortran_order': False}",
        "{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (2,)}",
        "{'descr': '<f4', 'fortran_order': 0, 'shape': (2,)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (-2,)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), 'more': 1}",
        "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (2,)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999999,)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (2,)} + evil()",
        "",
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct hc_tensor_file file;
        put("file", bytes, npy(bytes, wrong[i], "\0\0\0\0\0\0\0\0", 8));
        cr_expect_eq(hc_tensor_file_read(&file, "file"), HC_INVALID, "accepted: %s", wrong[i]);
        cr_expect_not_null(strstr(hc_message(), "not as numpy writes it"), "%s", hc_message());
        hc_tensor_file_close(&file);
    }
}

Test(npy, a_file_that_is_cut_at_any_byte_is_refused)
{
    const char *header = "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }";
    size_t size = npy(bytes, header, "\0\0\0\0\0\0\0\0", 8);
    for (size_t cut = 0; cut < size; cut++) {
        struct hc_tensor_file file;
        put("file", bytes, cut);
        cr_expect_eq(hc_tensor_file_read(&file, "file"), HC_INVALID, "cut at %zu", cut);
        cr_expect_eq(file.count, 0);
        hc_tensor_file_close(&file);
    }
    bytes[size] = 0;
    refused(bytes, size + 1, "its shape needs 8 bytes, but 9 follow the header");
}

Test(npy, a_header_of_four_gigabytes_is_refused)
{
    refused("\x93NUMPY\2\0\xff\xff\xff\xff{}", 14, "its header is cut");
    refused("\x93NUMPY\4\0\2\0{}", 12, "version 4.0 of .npy is unknown");
}

/* The numbers 0 .. 23, as numpy itself writes them. */
Test(npy, numpys_own_files_are_read)
{
    if (system("/usr/bin/python3 -c 'import numpy' 2>/dev/null") != 0)
        cr_skip("there is no numpy");
    const char *program = "import numpy as n\n"
                          "a = n.arange(24).reshape(2, 3, 4)\n"
                          "for i, t in enumerate(['<f8', '>f4', '<f2', '<i4', '>i8', '|u1']):\n"
                          "    n.save(f'c{i}.npy', a.astype(t))\n"
                          "    n.save(f'f{i}.npy', n.asfortranarray(a.astype(t)))\n";
    const enum hc_format formats[] = {HC_FP64, HC_FP32, HC_FP16, HC_I32, HC_I32, HC_U8};
    put("make.py", program, strlen(program));
    cr_assert_eq(system("/usr/bin/python3 make.py"), 0);
    double values[24];
    for (int i = 0; i < 24; i++)
        values[i] = i;
    for (int i = 0; i < 12; i++) {
        char path[16];
        struct hc_tensor_file file;
        (void)snprintf(path, sizeof path, "%c%d.npy", i < 6 ? 'c' : 'f', i % 6);
        cr_assert_eq(hc_tensor_file_read(&file, path), HC_OK, "%s", hc_message());
        expect(&file, formats[i % 6], 24, values);
        cr_expect_eq(file.tensors[0].tensor.rank, 3);
        hc_tensor_file_close(&file);
    }
}

/* .npz files: their members, as a reader of zip files finds them, are .npy files with the tensors'
   bits. Python's zipfile, which checks every sum, opens them in tests/calc/export.txt. */

TestSuite(npz, .init = make, .fini = unmake);

static uint32_t number(const unsigned char *at, int bytes)
{
    uint32_t value = 0;
    for (int i = bytes - 1; i >= 0; i--)
        value = value << 8 | at[i];
    return value;
}

static size_t read_all(const char *path, unsigned char *bytes, size_t size)
{
    FILE *file = fopen(path, "rb");
    cr_assert(file);
    size_t n = fread(bytes, 1, size, file);
    (void)fclose(file);
    return n;
}

/* Writes member `which` to member.npy by the central directory, and returns its name. */
static const char *extract(const unsigned char *zip, size_t size, int which)
{
    static char name[100];
    const unsigned char *end = zip + size - 22;
    cr_assert_eq(number(end, 4), 0x06054b50);
    cr_assert_lt(which, (int)number(end + 10, 2));
    const unsigned char *central = zip + number(end + 16, 4);
    for (int i = 0; i < which; i++)
        central += 46 + number(central + 28, 2);
    cr_assert_eq(number(central, 4), 0x02014b50);
    const unsigned char *local = zip + number(central + 42, 4);
    cr_assert_eq(number(local, 4), 0x04034b50);
    size_t length = number(central + 28, 2);
    cr_assert_eq(memcmp(central + 46, local + 30, length), 0, "both headers have one name");
    cr_assert_eq(memcmp(central + 6, local + 4, 26), 0, "and the same facts");
    cr_assert_eq(number(central + 10, 2), 0, "stored");
    put("member.npy", local + 30 + length, number(central + 24, 4));
    (void)snprintf(name, sizeof name, "%.*s", (int)length, (const char *)central + 46);
    return name;
}

Test(npz, has_an_npy_file_for_each_tensor)
{
    static double a[6] = {1, -2.5, 0, 1e300, -0.0, 7};
    static uint16_t b[3] = {0x3c00, 0x7c00, 0x8000};
    static int32_t c = -5;
    static unsigned char zip[4096];
    struct hc_named_tensor tensors[] = {
        {.name = "fp64/w"}, {.name = "h\xc3\xa9"}, {.name = "c"}, {.name = "none"}};
    const struct hc_tensor want[] = {
        {.format = HC_FP64, .rank = 2, .shape = {2, 3, 1, 1}, .data = a},
        {.format = HC_FP16, .rank = 1, .shape = {3, 1, 1, 1}, .data = b},
        {.format = HC_I32, .rank = 0, .shape = {1, 1, 1, 1}, .data = &c},
        {.format = HC_FP32, .rank = 1, .shape = {0, 1, 1, 1}, .data = a},
    };
    static const char *const names[] = {"fp64/w.npy", "h\xc3\xa9.npy", "c.npy", "none.npy"};
    for (int i = 0; i < 4; i++)
        tensors[i].tensor = want[i];
    cr_assert_eq(hc_npz_write("t.npz", tensors, 4), HC_OK, "%s", hc_message());
    size_t size = read_all("t.npz", zip, sizeof zip);
    for (int i = 0; i < 4; i++) {
        struct hc_tensor_file file;
        cr_assert_str_eq(extract(zip, size, i), names[i]);
        cr_assert_eq(hc_tensor_file_read(&file, "member.npy"), HC_OK, "%s", hc_message());
        const struct hc_tensor *got = &file.tensors[0].tensor;
        cr_assert_eq(got->format, want[i].format);
        cr_assert_eq(got->rank, want[i].rank);
        cr_assert_eq(memcmp(got->shape, want[i].shape, sizeof got->shape), 0);
        cr_assert_eq(memcmp(got->data, want[i].data, hc_tensor_bytes(&want[i])), 0);
        hc_tensor_file_close(&file);
    }
}

Test(npz, refuses_what_it_cannot_hold)
{
    static uint16_t b = 0x3f80;
    char name[600];
    struct hc_named_tensor one = {
        .name = "b", .tensor = {.format = HC_BF16, .rank = 0, .shape = {1, 1, 1, 1}, .data = &b}};
    cr_assert_eq(hc_npz_write("t.npz", &one, 1), HC_INVALID);
    cr_assert_str_eq(hc_message(), "an .npz file cannot hold 'b'");
    cr_assert(!hc_npz_has(HC_E4M3) && hc_npz_has(HC_FP16));
    memset(name, 'x', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    one.name = name;
    one.tensor.format = HC_FP16;
    cr_assert_eq(hc_npz_write("t.npz", &one, 1), HC_INVALID);
    cr_assert_eq(hc_npz_write("/nonexistent/t.npz", &one, 0), HC_IO);
    cr_assert_neq(access("t.npz", F_OK), 0, "nothing is left behind");
}

Test(npz, of_no_tensors_is_an_empty_zip_file)
{
    unsigned char zip[64];
    cr_assert_eq(hc_npz_write("t.npz", NULL, 0), HC_OK);
    cr_assert_eq(read_all("t.npz", zip, sizeof zip), 22);
    cr_assert_eq(number(zip, 4), 0x06054b50);
}
