/* Arrays of numpy. The bytes are those of numpy's format (numpy.lib.format), written by hand; where
   Python has numpy, its own files are read, too. */
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
