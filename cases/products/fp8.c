/* Products of fp8 by their codes: all of them, decoded here from the tables of OCP's specification
   (OCP 8-bit floating point, OFP8, revision 1.0, 2023) and of AMD's (CDNA3 ISA, 7.1). */
#include <math.h>

#include "case.h"

enum { CODES = 256 };

/* A code is a sign, an exponent field and a fraction field. */
struct fp8 {
    enum hc_format format;
    int fraction;
    int bias;
    bool infinities; /* If not, NaN is one code alone, and the other codes are numbers. */
    int nan;
};

static const struct fp8 e4m3 = {HC_E4M3, 3, 7, false, 0x7f};
static const struct fp8 e5m2 = {HC_E5M2, 2, 15, true, 0};
static const struct fp8 e4m3fnuz = {HC_E4M3FNUZ, 3, 8, false, 0x80};
static const struct fp8 e5m2fnuz = {HC_E5M2FNUZ, 2, 16, false, 0x80};

static double decoded(const struct fp8 *f, int code)
{
    int ones = (1 << f->fraction) - 1;
    int fraction = code & ones;
    int field = code >> f->fraction & ((CODES / 2 - 1) >> f->fraction);
    bool top = field == (CODES / 2 - 1) >> f->fraction;
    double value =
        ldexp(field ? ones + 1 + fraction : fraction, (field ? field : 1) - f->bias - f->fraction);
    if (top && f->infinities)
        value = fraction ? (double)NAN : (double)INFINITY;
    else if (!f->infinities && (code == f->nan || code - CODES / 2 == f->nan))
        value = (double)NAN;
    return code < CODES / 2 ? value : -value;
}

/* A backend that flushes says so, and reads subnormal numbers as zeros. */
static double as_read(const struct fp8 *f, int code, bool flushes)
{
    double x = decoded(f, code);
    return flushes && fabs(x) < ldexp(1, 1 - f->bias) ? 0 : x;
}

/* Factors of all codes in a column and a row, whose product has every pair of them. */
static bool compare_all(struct hc_check *check, const struct fp8 *first, const struct fp8 *second,
                        struct hc_comparisons *all)
{
    struct hc_call call = {.op = HC_OP_gemm, .params.gemm = {.alpha = 1}};
    struct hc_tensor *a = &call.in[HC_GEMM_A];
    struct hc_tensor *b = &call.in[HC_GEMM_B];
    *a = hc_check_tensor(check, hc_tensor2(first->format, CODES, 1, NULL));
    *b = hc_check_tensor(check, hc_tensor2(second->format, 1, CODES, NULL));
    call.out[HC_GEMM_OUT] = hc_check_tensor(check, hc_tensor2(HC_FP32, CODES, CODES, NULL));
    for (int i = 0; i < CODES; i++) {
        hc_tensor_set_bits(a, i, (uint64_t)i);
        hc_tensor_set_bits(b, i, (uint64_t)i);
    }
    if (hc_do(check, &call) != HC_OK)
        return false;
    bool flushes = hc_backend_accumulator(hc_check_backend(check), &call).flushes;
    for (int i = 0; i < CODES * CODES; i++) {
        double want = as_read(first, i / CODES, flushes) * as_read(second, i % CODES, flushes);
        double got = hc_tensor_get(&call.out[HC_GEMM_OUT], i);
        all->checked++;
        if (isnan(want) ? !isnan(got) : want != got)
            hc_comparisons_wrong(all, "%s %02x times %s %02x: want %.9g, got %.9g",
                                 hc_formats[first->format].name, i / CODES,
                                 hc_formats[second->format].name, i % CODES, want, got);
    }
    return true;
}

static void every_product(struct hc_check *check)
{
    static const struct fp8 *const formats[] = {&e4m3, &e5m2, &e4m3fnuz, &e5m2fnuz};
    struct hc_comparisons all = {.what = "products of two codes"};
    for (int i = 0; i < 8; i++)
        if (!compare_all(check, formats[i / 2], formats[i / 4 * 2 + i % 2], &all))
            return;
    hc_claim_comparisons(check, &all);
}

/* Two products, codes of which are infinite or NaN, or the largest numbers. */
static const struct ends {
    const struct fp8 *first, *second;
    int a[2], b[2];
    double want;
} ends[] = {
    {&e4m3, &e4m3, {0x7e, 0x7e}, {0x7e, 0x7e}, 2 * 448.0 * 448},
    {&e5m2, &e5m2, {0x7b, 0x7b}, {0x7b, 0x7b}, 2 * 57344.0 * 57344},
    {&e4m3, &e4m3, {0x7e, 0xfe}, {0x7e, 0x7e}, 0},
    {&e4m3, &e4m3, {0x7f, 0x38}, {0x38, 0x38}, (double)NAN},
    {&e4m3, &e4m3, {0xff, 0x38}, {0x00, 0x38}, (double)NAN},
    {&e4m3, &e4m3, {0x80, 0x38}, {0x38, 0x38}, 1}, /* -0 and 1: a NaN in FNUZ's codes */
    {&e5m2, &e5m2, {0x7c, 0x3c}, {0x3c, 0x3c}, (double)INFINITY},
    {&e5m2, &e4m3, {0x7c, 0x7c}, {0x38, 0xb8}, (double)NAN},
    {&e5m2, &e4m3, {0x7c, 0x3c}, {0x00, 0x38}, (double)NAN},
    {&e4m3, &e5m2, {0x38, 0x38}, {0xfc, 0x3c}, -(double)INFINITY},
    {&e4m3, &e5m2, {0x38, 0x38}, {0x7d, 0x3c}, (double)NAN},
    {&e4m3fnuz, &e4m3fnuz, {0x7f, 0x7f}, {0x7f, 0x7f}, 2 * 240.0 * 240},
    {&e5m2fnuz, &e5m2fnuz, {0x7f, 0x7f}, {0x7f, 0x7f}, 2 * 57344.0 * 57344},
    {&e4m3fnuz, &e5m2fnuz, {0x80, 0x40}, {0x00, 0x40}, (double)NAN},
    {&e5m2fnuz, &e4m3fnuz, {0x40, 0x00}, {0x40, 0x80}, (double)NAN},
    {&e4m3fnuz, &e4m3fnuz, {0x40, 0xc0}, {0x40, 0x00}, 1},
};

static void claim_ends(struct hc_check *check)
{
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        const struct ends *e = &ends[i];
        struct hc_call call = {.op = HC_OP_gemm, .params.gemm = {.alpha = 1}};
        call.in[HC_GEMM_A] = hc_check_tensor(check, hc_tensor2(e->first->format, 1, 2, NULL));
        call.in[HC_GEMM_B] = hc_check_tensor(check, hc_tensor2(e->second->format, 2, 1, NULL));
        call.out[HC_GEMM_OUT] = hc_check_tensor(check, hc_tensor2(HC_FP32, 1, 1, NULL));
        for (int k = 0; k < 2; k++) {
            hc_tensor_set_bits(&call.in[HC_GEMM_A], k, (uint64_t)e->a[k]);
            hc_tensor_set_bits(&call.in[HC_GEMM_B], k, (uint64_t)e->b[k]);
        }
        if (hc_do(check, &call) != HC_OK)
            return;
        hc_claim_value(check, "two products of fp8", e->want,
                       hc_tensor_get(&call.out[HC_GEMM_OUT], 0));
    }
}

#define SOURCE                                                                                     \
    "OCP 8-bit floating point specification (OFP8), revision 1.0; AMD's FNUZ formats (CDNA3 ISA, " \
    "7.1); src/op/gemm.h"

static const struct hc_case cases[] = {
    {.name = "products/every-product-of-fp8",
     .title =
         "each of the 65,536 products of two codes of e4m3 or e5m2, or of their FNUZ formats, is "
         "exact",
     .source = SOURCE,
     .level = HC_QUICK,
     .run = every_product},
    {.name = "products/fp8-ends",
     .title =
         "e4m3 has one NaN, no infinity and a largest number of 448; e5m2 is as IEEE's formats; "
         "FNUZ's have one NaN, the code of -0",
     .source = SOURCE,
     .level = HC_QUICK,
     .run = claim_ends},
};

HC_CASES(products_fp8, cases);
