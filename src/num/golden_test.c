#define HERE HC_SOURCE "/src/num/golden"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "num/narrow8.h"
#include "num/sha256.h"

static void expect(const char *text, int times, const char *want)
{
    struct hc_sha256 hash;
    char got[HC_SHA256_TEXT];
    hc_sha256_start(&hash);
    for (int i = 0; i < times; i++)
        hc_sha256_add(&hash, text, strlen(text));
    hc_sha256_end(&hash, got);
    cr_expect_str_eq(got, want);
}

static const char *sha256(const void *bytes, size_t n, char text[HC_SHA256_TEXT])
{
    struct hc_sha256 hash;
    hc_sha256_start(&hash);
    hc_sha256_add(&hash, bytes, n);
    hc_sha256_end(&hash, text);
    return text;
}

/* The examples of FIPS 180-2's appendix B, and the hash of nothing. */
Test(sha256, is_that_of_the_standards_examples)
{
    expect("", 1, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    expect("abc", 1, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    expect("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 1,
           "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
    expect("a", 1000000, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

/* The formats below half against golden vectors of other implementations: those in golden/, and,
   where there is one, the whole folder of which they are a part. Each file names its tools. */

static FILE *open_in(const char *folder, const char *file)
{
    char path[4096];
    (void)snprintf(path, sizeof path, "%s/%s", folder, file);
    return fopen(path, "r");
}

/* The next line that is no comment; false at the end. */
static bool next_line(FILE *in, char *line, size_t size)
{
    while (fgets(line, (int)size, in))
        if (line[0] != '#')
            return true;
    return false;
}

/* Whether that is the code: NaN is any NaN, and where there is none nothing is said ("--"). */
static bool right(enum hc_format format, const char *want, uint64_t got)
{
    if (strcmp(want, "--") == 0)
        return true;
    uint64_t code = strtoull(want, NULL, 16);
    return code == got || (isnan(hc_decode(format, code)) && isnan(hc_decode(format, got)));
}

/* "BITS SATURATING NOT-SATURATING", by hc_encode and by the fast conversion. */
static int converts(const char *folder, enum hc_format format)
{
    char file[64], line[256], saturated[3], not_saturated[3];
    unsigned bits;
    int lines = 0;
    (void)snprintf(file, sizeof file, "conv_%s.txt", hc_formats[format].name);
    FILE *in = open_in(folder, file);
    struct hc_narrow8 fast[2] = {hc_narrow8_of(&hc_formats[format], 0),
                                 hc_narrow8_of(&hc_formats[format], 1)};
    for (; in && next_line(in, line, sizeof line); lines++) {
        cr_assert_eq(sscanf(line, "%8x %2s %2s", &bits, saturated, not_saturated), 3, "%s", line);
        double x = (double)hc_fp32_value(bits);
        cr_expect(right(format, saturated, hc_encode_saturated(format, x, 0, HC_NEAREST)), "%s: %s",
                  file, line);
        cr_expect(right(format, not_saturated, hc_encode(format, x, 0, HC_NEAREST)), "%s: %s", file,
                  line);
        cr_expect(right(format, saturated, hc_narrow8(&fast[1], bits)), "%s: %s", file, line);
        cr_expect(right(format, not_saturated, hc_narrow8(&fast[0], bits)), "%s: %s", file, line);
    }
    if (in)
        (void)fclose(in);
    return lines;
}

/* "FORMAT CODE FP32-BITS". */
static int decodes(const char *folder)
{
    char line[256], name[16];
    unsigned code, bits;
    int lines = 0;
    FILE *in = open_in(folder, "decode.txt");
    cr_assert(in);
    for (; next_line(in, line, sizeof line); lines++) {
        cr_assert_eq(sscanf(line, "%15s %2x %8x", name, &code, &bits), 3, "%s", line);
        enum hc_format format = hc_format_by_name(name);
        cr_assert_neq(format, HC_FORMAT_COUNT, "%s", line);
        float want = hc_fp32_value(bits);
        float got = (float)hc_decode(format, code);
        cr_expect(isnan(want) ? isnan(got) : hc_fp32_bits(got) == bits, "%s", line);
    }
    (void)fclose(in);
    return lines;
}

/* "A x B exact HASH r_sat HASH r_nosat HASH": of all products in fp32, and of these rounded into
   A's format. */
static int multiplies(const char *folder)
{
    enum { CODES = 256, PRODUCTS = CODES * CODES };
    static uint8_t exact[4 * PRODUCTS], rounded[2][PRODUCTS];
    char line[512], a[16], b[16], want[3][HC_SHA256_TEXT], got[HC_SHA256_TEXT];
    int lines = 0;
    FILE *in = open_in(folder, "products.txt");
    cr_assert(in);
    for (; next_line(in, line, sizeof line); lines++) {
        cr_assert_eq(sscanf(line, "%15s x %15s exact %64s r_sat %64s r_nosat %64s", a, b, want[0],
                            want[1], want[2]),
                     5, "%s", line);
        enum hc_format fa = hc_format_by_name(a);
        enum hc_format fb = hc_format_by_name(b);
        for (unsigned i = 0; i < PRODUCTS; i++) {
            float p = (float)hc_decode(fa, i / CODES) * (float)hc_decode(fb, i % CODES);
            uint32_t bits = isnan(p) ? 0x7fc00000u : hc_fp32_bits(p);
            for (int k = 0; k < 4; k++)
                exact[4 * i + (unsigned)k] = (uint8_t)(bits >> 8 * k);
            double x = (double)hc_fp32_value(bits);
            rounded[0][i] = (uint8_t)hc_encode_saturated(fa, x, 0, HC_NEAREST);
            rounded[1][i] = (uint8_t)hc_encode(fa, x, 0, HC_NEAREST);
        }
        cr_expect_str_eq(sha256(exact, sizeof exact, got), want[0], "%s", line);
        cr_expect_str_eq(sha256(rounded[0], PRODUCTS, got), want[1], "%s", line);
        cr_expect_str_eq(sha256(rounded[1], PRODUCTS, got), want[2], "%s", line);
    }
    (void)fclose(in);
    return lines;
}

static int all_conversions(const char *folder)
{
    int lines = 0;
    for (int f = HC_E4M3; f < HC_I32; f++)
        lines += converts(folder, (enum hc_format)f);
    return lines;
}

Test(golden, those_kept_here_have_the_bits_of_other_implementations)
{
    cr_expect_eq(all_conversions(HERE), 5714);
    cr_expect_eq(decodes(HERE), 1424);
    cr_expect_eq(multiplies(HERE), 8);
}

Test(golden, the_whole_folder_has_the_bits_of_other_implementations)
{
    const char *folder = getenv("HALFCHECK_FP8_VECTORS");
    FILE *beside = folder ? NULL : open_in(HC_SOURCE "/../shared/fp8", "decode.txt");
    if (beside)
        (void)fclose(beside);
    if (!folder && !beside)
        cr_skip_test("HALFCHECK_FP8_VECTORS names no folder");
    cr_expect_gt(all_conversions(folder ? folder : HC_SOURCE "/../shared/fp8"), 20000);
}
