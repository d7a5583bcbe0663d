/* safetensors. The bytes are those of the format's specification, written by hand. */
#include <ctype.h>

#include "tensor_file/testing.h"

TestSuite(safetensors, .init = make, .fini = unmake);

static unsigned char bytes[8192];

static void reads(const char *type, const void *data, size_t size, enum hc_format format,
                  double first, double second)
{
    char header[100];
    struct hc_tensor_file file;
    (void)snprintf(header, sizeof header,
                   "{\"a\":{\"dtype\":\"%s\",\"shape\":[2],\"data_offsets\":[0,%zu]}}", type, size);
    read_as(&file, bytes, safetensors(bytes, header, data, size));
    const struct hc_tensor *t = hc_tensor_file_find(&file, "a");
    cr_assert(t && t->format == format && t->rank == 1 && t->shape[0] == 2, "%s", type);
    cr_expect_eq(hc_tensor_get(t, 0), first, "%s", type);
    cr_expect_eq(hc_tensor_get(t, 1), second, "%s", type);
    cr_expect_eq((uintptr_t)t->data % 64, 0);
    hc_tensor_file_close(&file);
}

Test(safetensors, each_type_is_read_by_its_bits)
{
    reads("F64", "\0\0\0\0\0\0\xf0\x3f\0\0\0\0\0\0\0\xc0", 16, HC_FP64, 1, -2);
    reads("F32", "\0\0\x80\x3f\0\0\0\xc0", 8, HC_FP32, 1, -2);
    reads("F16", "\0\x3c\0\xc0", 4, HC_FP16, 1, -2);
    reads("BF16", "\x80\x3f\0\xc0", 4, HC_BF16, 1, -2);
    reads("F8_E4M3", "\x38\xc0", 2, HC_E4M3, 1, -2);
    reads("F8_E5M2", "\x3c\xc0", 2, HC_E5M2, 1, -2);
    reads("I32", "\1\0\0\0\xfe\xff\xff\xff", 8, HC_I32, 1, -2);
    reads("I64", "\1\0\0\0\0\0\0\0\xfe\xff\xff\xff\xff\xff\xff\xff", 16, HC_I32, 1, -2);
    reads("U8", "\1\xff", 2, HC_U8, 1, 255);
    reads("BOOL", "\1\0", 2, HC_U8, 1, 0);
}

Test(safetensors, what_halfcheck_cannot_hold_is_listed_without_data)
{
    struct hc_tensor_file file;
    read_as(&file, bytes,
            safetensors(bytes,
                        "{\"__metadata__\":{\"format\":\"pt\",\"k\":\"v\"},"
                        "\"c\":{\"dtype\":\"C64\",\"shape\":[1],\"data_offsets\":[1,9]},"
                        "\"r\":{\"dtype\":\"U8\",\"shape\":[1,1,1,1,1],\"data_offsets\":[0,1]},"
                        "\"i\":{\"dtype\":\"I64\",\"shape\":[],\"data_offsets\":[9,17]}}",
                        "\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x80", 17));
    cr_assert_eq(file.count, 3);
    cr_expect_str_eq(file.tensors[0].unread, "halfcheck has no format for its type");
    cr_expect_str_eq(file.tensors[1].unread, "its rank is above 4");
    cr_expect_str_eq(file.tensors[2].unread, "it has an i64 beyond i32");
    cr_expect_null(hc_tensor_file_find(&file, "c"));
    cr_expect_null(file.tensors[2].tensor.data);
    cr_expect_str_eq(hc_tensor_file_metadata(&file, "k"), "v");
    cr_expect_null(hc_tensor_file_metadata(&file, "l"));
    hc_tensor_file_close(&file);
}

static void header_refused(const char *header, const char *line)
{
    refused(bytes, safetensors(bytes, header, "\0\0\0\0\0\0\0\0", 8), line);
}

/* The header of fp32 tensors that are given as "NAME SHAPE OFFSETS; ...". */
static const char *fp32s(const char *tensors)
{
    static char header[6000];
    size_t n = (size_t)sprintf(header, "{");
    for (const char *at = tensors; *at; at += strcspn(at, ";"), at += strspn(at, "; ")) {
        char name[40];
        char shape[100];
        char offsets[60];
        cr_assert_eq(sscanf(at, "%39s %99s %59[^;]", name, shape, offsets), 3);
        n += (size_t)snprintf(header + n, sizeof header - n,
                              "%s\"%s\":{\"dtype\":\"F32\",\"shape\":%s,\"data_offsets\":%s}",
                              n > 1 ? "," : "", name, shape, offsets);
    }
    (void)snprintf(header + n, sizeof header - n, "}");
    return header;
}

Test(safetensors, offsets_that_lie_are_refused)
{
    header_refused(fp32s("a [1] [4,8]; b [1] [4,8]"), "tensor 'a' lies behind a hole");
    header_refused(fp32s("a [2] [0,8]; b [1] [4,8]"), "tensor 'b' shares bytes with another one");
    header_refused(fp32s("a [1] [0,4]"), "4 bytes at its end belong to no tensor");
    header_refused(fp32s("a [2] [4,12]"), "tensor 'a' lies outside the file");
    header_refused(fp32s("a [2] [8,0]"), "tensor 'a' lies outside the file");
    header_refused(fp32s("a [2] [-8,0]"), "tensor 'a' lies outside the file");
    header_refused(fp32s("a [2] [0,9223372036854775807]"), "tensor 'a' lies outside the file");
    header_refused(fp32s("a [3] [0,8]"), "tensor 'a' has another size than its shape needs");
}

Test(safetensors, shapes_that_lie_are_refused)
{
    const char *size = "tensor 'a' has another size than its shape needs";
    const char *list = "tensor 'a' has a shape that is no list of sizes";
    header_refused(fp32s("a [4611686018427387904,4] [0,8]"), size);
    header_refused(fp32s("a [4294967296,4294967296,2] [0,8]"), size);
    header_refused(fp32s("a [0,4294967296,4294967296] [0,0]"), size);
    header_refused(fp32s("a [-2] [0,8]"), list);
    header_refused(fp32s("a [2.0] [0,8]"), list);
    header_refused(fp32s("a [\"2\"] [0,8]"), list);
    header_refused(fp32s("a 2 [0,8]"), "tensor 'a' has no shape");
}

Test(safetensors, headers_of_another_form_are_refused)
{
    const char *form = "tensor 'a' must have dtype, shape and two data_offsets, and nothing else";
    header_refused("{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8,9]}}", form);
    header_refused("{\"a\":{\"dtype\":1,\"shape\":[2],\"data_offsets\":[0,8]}}", form);
    header_refused("{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8],\"x\":1}}",
                   form);
    header_refused("{\"a\":7}", form);
    header_refused("{\"__metadata__\":{\"k\":1}}", "its __metadata__ has 'k', which is no text");
    header_refused("{\"__metadata__\":[]}", "its __metadata__ is no object");
}

/* jansson says where; what counts is that one line comes. */
static void json_refused(const char *header)
{
    struct hc_tensor_file file;
    put("file", bytes, safetensors(bytes, header, "\0\0\0\0\0\0\0\0", 8));
    cr_expect_eq(hc_tensor_file_read(&file, "file"), HC_INVALID, "accepted: %.80s", header);
    cr_expect_not_null(strstr(hc_message(), "no JSON object of different names"), "%s",
                       hc_message());
    hc_tensor_file_close(&file);
}

Test(safetensors, headers_that_are_no_json_are_refused)
{
    json_refused(fp32s("a [1] [0,4]; a [1] [4,8]"));
    json_refused("{\"a\":{\"dtype\":\"F32\",\"dtype\":\"F32\",\"shape\":[2]}}");
    json_refused(fp32s("a [2] [0,99999999999999999999]"));
    json_refused(fp32s("a\\u0000b [2] [0,8]"));
    json_refused(fp32s("\xff\xfe [2] [0,8]"));
    json_refused("{} {}");
    char deep[6000] = "{\"a\":";
    memset(deep + 5, '[', sizeof deep - 6);
    json_refused(deep);
}

Test(safetensors, the_headers_length_is_not_believed)
{
    memset(bytes, 0, 16);
    bytes[7] = 0x80; /* 2^63 */
    bytes[8] = '{';
    refused(bytes, 10,
            "its header should have 9223372036854775808 bytes, but only 2 follow its length");
}

Test(safetensors, files_of_other_kinds_are_named)
{
    refused("PK\3\4...........", 15,
            "it is a zip archive (.npz or .pt); save its tensors as safetensors or with "
            "numpy.save");
    refused("\x80\2}q........", 12,
            "it is a pickle, which is never loaded; save its tensors as safetensors or with "
            "numpy.save");
    refused("", 0, "it is neither .npy nor safetensors");
    refused("hello, world", 12, "it is neither .npy nor safetensors");
    struct hc_tensor_file file;
    cr_expect_eq(hc_tensor_file_read(&file, "."), HC_IO);
    cr_expect_str_eq(hc_message(), "cannot read .: it is no regular file");
    hc_tensor_file_close(&file);
    cr_expect_eq(hc_tensor_file_read(&file, "nothing"), HC_IO);
    hc_tensor_file_close(&file);
}

Test(safetensors, a_file_that_is_cut_at_any_byte_is_refused)
{
    size_t size = safetensors(bytes, fp32s("a [1,2] [0,8]"), "12345678", 8);
    for (size_t cut = 0; cut < size; cut++) {
        struct hc_tensor_file file;
        put("file", bytes, cut);
        cr_expect_eq(hc_tensor_file_read(&file, "file"), HC_INVALID, "cut at %zu", cut);
        hc_tensor_file_close(&file);
    }
}

/* Writing safetensors, and the layouts of images. */

TestSuite(safetensors_write, .init = make, .fini = unmake);

static size_t content(const char *path)
{
    FILE *file = fopen(path, "rb");
    cr_assert_not_null(file);
    size_t n = fread(bytes, 1, sizeof bytes, file);
    (void)fclose(file);
    return n;
}

Test(safetensors_write, the_bytes_are_those_of_the_specification)
{
    unsigned char small[] = {7};
    float wide[] = {1, -2};
    const struct hc_named_tensor tensors[] = {
        {.name = "a", .tensor = hc_tensor1(HC_U8, 1, small)},
        {.name = "b", .tensor = hc_tensor2(HC_FP32, 1, 2, wide)},
    };
    const struct hc_metadata metadata[] = {{"k", "v\n"}};
    const char *header = "{\"__metadata__\":{\"k\":\"v\\n\"},"
                         "\"a\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[8,9]},"
                         "\"b\":{\"dtype\":\"F32\",\"shape\":[1,2],\"data_offsets\":[0,8]}}";
    cr_assert_eq(hc_safetensors_write("out", tensors, 2, metadata, 1), HC_OK, "%s", hc_message());
    size_t size = content("out");
    size_t length = bytes[0] + 256U * bytes[1];
    cr_expect_eq((8 + length) % 64, 0);
    cr_expect_eq(size, 8 + length + 9);
    cr_expect_eq(strncmp((char *)bytes + 8, header, strlen(header)), 0, "%s", (char *)bytes + 8);
    for (size_t i = strlen(header); i < length; i++)
        cr_expect_eq(bytes[8 + i], ' ');
    cr_expect_eq(memcmp(bytes + 8 + length, "\0\0\x80\x3f\0\0\0\xc0\7", 9), 0);
}

Test(safetensors_write, every_format_comes_back_with_its_bits_in_its_order)
{
    unsigned char data[HC_FORMAT_COUNT][64];
    struct hc_named_tensor tensors[HC_FORMAT_COUNT];
    char names[HC_FORMAT_COUNT][32];
    for (int f = 0; f < HC_FORMAT_COUNT; f++) {
        for (size_t i = 0; i < sizeof data[f]; i++)
            data[f][i] = (unsigned char)(37 * i + (size_t)f);
        (void)snprintf(names[f], sizeof names[f], "\xc3\xa4 \" %d", 9 - f);
        tensors[f] = (struct hc_named_tensor){
            .name = names[f], .tensor = hc_tensor4((enum hc_format)f, 1, 2, f % 3, 2, data[f])};
    }
    cr_assert_eq(hc_safetensors_write("out", tensors, HC_FORMAT_COUNT, NULL, 0), HC_OK);
    struct hc_tensor_file file;
    cr_assert_eq(hc_tensor_file_read(&file, "out"), HC_OK, "%s", hc_message());
    cr_assert_eq(file.count, HC_FORMAT_COUNT);
    for (int f = 0; f < HC_FORMAT_COUNT; f++) {
        const struct hc_tensor *t = &file.tensors[f].tensor;
        cr_expect_str_eq(file.tensors[f].name, names[f]);
        bool bytes_alone = f == HC_E2M3 || f == HC_E3M2 || f == HC_E2M1 || f == HC_UE4M3;
        cr_expect_eq(t->format, f == HC_TF32 ? HC_FP32 : bytes_alone ? HC_U8 : (enum hc_format)f);
        cr_expect_eq(memcmp(t->shape, tensors[f].tensor.shape, sizeof t->shape), 0);
        cr_expect_eq(memcmp(t->data, data[f], hc_tensor_bytes(t)), 0, "format %d", f);
    }
    hc_tensor_file_close(&file);
}

Test(safetensors_write, names_that_are_no_utf8_are_refused)
{
    float one = 1;
    const struct hc_named_tensor wrong = {.name = "\xff", .tensor = hc_tensor1(HC_FP32, 1, &one)};
    const struct hc_named_tensor right = {.name = "a", .tensor = hc_tensor1(HC_FP32, 1, &one)};
    const struct hc_metadata metadata = {"k", "\xff"};
    cr_expect_eq(hc_safetensors_write("out", &wrong, 1, NULL, 0), HC_INVALID);
    cr_expect_eq(hc_safetensors_write("out", &right, 1, &metadata, 1), HC_INVALID);
    cr_expect_neq(access("out", F_OK), 0);
    cr_expect_eq(hc_safetensors_write("no/out", &right, 1, NULL, 0), HC_IO);
}

/* x[n][h][w][c] = 1000 n + 100 h + 10 w + c, in sizes beyond a tile of the transposition. */
Test(layout, both_ways_move_each_element_to_its_place)
{
    const enum hc_format formats[] = {HC_FP64, HC_FP32, HC_FP16, HC_U8};
    const int64_t n = 2;
    const int64_t h = 5;
    const int64_t w = 7;
    const int64_t c = 41;
    for (int f = 0; f < 4; f++) {
        struct hc_tensor nhwc = hc_tensor4(formats[f], n, h, w, c, NULL);
        struct hc_tensor nchw = hc_tensor4(formats[f], n, c, h, w, NULL);
        struct hc_tensor back = nhwc;
        struct hc_tensor *all[] = {&nhwc, &nchw, &back};
        for (int i = 0; i < 3; i++)
            all[i]->data = calloc(1, hc_tensor_bytes(&nhwc));
        for (int64_t i = 0; i < hc_tensor_count(&nhwc); i++)
            hc_tensor_set_bits(&nhwc, i, (uint64_t)(i * 7919));
        hc_tensor_to_nchw(&nhwc, &nchw);
        hc_tensor_to_nhwc(&nchw, &back);
        for (int64_t i = 0; i < hc_tensor_count(&nhwc); i++) {
            int64_t channel = i % c;
            int64_t pixel = i / c % (h * w);
            int64_t image = i / c / (h * w);
            cr_assert_eq(hc_tensor_bits(&nchw, (image * c + channel) * h * w + pixel),
                         hc_tensor_bits(&nhwc, i));
        }
        cr_expect_eq(memcmp(nhwc.data, back.data, hc_tensor_bytes(&nhwc)), 0);
        for (int i = 0; i < 3; i++)
            free(all[i]->data);
    }
}

/* Changes a few bytes of the file: sets one, repeats a stretch, or writes another digit. */
static void mutate(unsigned char *file, size_t size)
{
    for (int i = rand() % 4; i >= 0; i--) {
        size_t at = (size_t)rand() % (rand() % 4 ? size : 16);
        size_t from = (size_t)rand() % size;
        size_t n = (size_t)rand() % 8;
        if (rand() % 3 == 0)
            file[at] = (unsigned char)rand();
        else if (isdigit(file[at]))
            file[at] = (unsigned char)('0' + rand() % 10);
        else if (at + n <= size && from + n <= size)
            memmove(file + at, file + from, n);
    }
}

/* Reads every byte that a file is said to have: the sanitizers see what lies outside. */
static unsigned touch(const struct hc_tensor_file *file)
{
    unsigned sum = 0;
    for (int i = 0; i < file->count; i++) {
        const struct hc_tensor *t = &file->tensors[i].tensor;
        sum += (unsigned)strlen(file->tensors[i].name);
        for (size_t b = 0; t->data && b < hc_tensor_bytes(t); b++)
            sum += ((const unsigned char *)t->data)[b];
        cr_assert((t->data == NULL) == (file->tensors[i].unread != NULL));
    }
    return sum;
}

Test(tensor_file, changed_files_are_read_or_refused_but_never_believed, .init = make,
     .fini = unmake, .timeout = 60)
{
    const char *header = "{\"__metadata__\":{\"k\":\"v\"},"
                         "\"a\":{\"dtype\":\"I64\",\"shape\":[2,1],\"data_offsets\":[8,24]},"
                         "\"b\":{\"dtype\":\"F16\",\"shape\":[1,2,2],\"data_offsets\":[0,8]}}";
    unsigned char right[2][512];
    size_t size[2] = {safetensors(right[0], header, "123456781\0\0\0\0\0\0\0002\0\0\0\0\0\0", 24),
                      npy(right[1], "{'descr': '<f4', 'fortran_order': True, 'shape': (2, 3), }",
                          "123456781234567812345678", 24)};
    int read = 0;
    unsigned sum = 0;
    srand(12);
    for (int i = 0; i < 1200; i++) {
        unsigned char changed[512];
        struct hc_tensor_file file;
        size_t length = size[i % 2] - (i % 5 == 0 ? (size_t)rand() % 32 : 0);
        memcpy(changed, right[i % 2], length);
        mutate(changed, length);
        put("file", changed, length);
        enum hc_status status = hc_tensor_file_read(&file, "file");
        cr_assert(status == HC_OK || status == HC_INVALID, "%d: %s", i, hc_message());
        if (status == HC_OK)
            sum += touch(&file);
        read += status == HC_OK;
        hc_tensor_file_close(&file);
    }
    cr_expect(read > 60 && read < 1140 && sum > 0, "%d were read", read);
}
