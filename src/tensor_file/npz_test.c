/* .npz files: their members, as a reader of zip files finds them, are .npy files with the tensors'
   bits. Python's zipfile, which checks every sum, opens them in tests/calc/export.txt. */
#include "tensor_file/testing.h"

#include <stdint.h>

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
