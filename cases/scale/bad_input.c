/* What comes of a scale that is 0, infinite, NaN or negative, and of a NaN in a format without one:
   op/quant.h states it, to the bit. (Blocks that do not divide a matrix are in op/quantize and
   op/dequantize, whose matrices none of the usual blocks divides.) */
#include <math.h>

#include "case.h"

enum { N = 4 };

/* Codes of 2, -2, inf and NaN under a given multiplier, and the scale that is stored. The factor 0
   makes NaN of inf, and a NaN of either sign is the largest positive number where there is none. */
static const struct multiplied {
    enum hc_format codes;
    double multiplier;
    uint8_t code[N];
    double scale;
} multiplied[] = {
    {HC_E4M3, 1, {0x40, 0xc0, 0x7e, 0x7f}, 1},
    {HC_E5M2, 1, {0x40, 0xc0, 0x7b, 0x7f}, 1},
    {HC_E4M3FNUZ, 1, {0x48, 0xc8, 0x7f, 0x80}, 1},
    {HC_E2M3, 1, {0x10, 0x30, 0x1f, 0x1f}, 1},
    {HC_E3M2, 1, {0x10, 0x30, 0x1f, 0x1f}, 1},
    {HC_E2M1, 1, {0x4, 0xc, 0x7, 0x7}, 1},
    {HC_E4M3, 0, {0x00, 0x80, 0x7f, 0x7f}, (double)INFINITY},
    {HC_E4M3FNUZ, 0, {0x00, 0x00, 0x80, 0x80}, (double)INFINITY},
    {HC_E2M1, 0, {0x0, 0x8, 0x7, 0x7}, (double)INFINITY},
    {HC_E4M3, -0.0, {0x80, 0x00, 0x7f, 0x7f}, -(double)INFINITY},
    {HC_E4M3, (double)NAN, {0x7f, 0x7f, 0x7f, 0x7f}, (double)NAN},
    {HC_E2M1, (double)NAN, {0x7, 0x7, 0x7, 0x7}, (double)NAN},
    {HC_E4M3, -1, {0xc0, 0x40, 0xfe, 0x7f}, -1},
    {HC_E2M1, -1, {0xc, 0x4, 0xf, 0x7}, -1},
    {HC_E4M3, (double)INFINITY, {0x7e, 0xfe, 0x7e, 0x7f}, 0},
    {HC_E2M1, -(double)INFINITY, {0xf, 0x7, 0xf, 0x7}, -0.0},
    {HC_E4M3, 0x1p-149, {0x00, 0x80, 0x7e, 0x7f}, (double)INFINITY},
};

static void compare(struct hc_comparisons *c, const struct hc_tensor *t, int64_t i, uint64_t want,
                    const char *what, double under)
{
    uint64_t got = hc_tensor_bits(t, i);
    c->checked++;
    if (!hc_same_bits(t->format, want, got))
        hc_comparisons_wrong(c, "%s %s under %g: want %llx, got %llx", hc_formats[t->format].name,
                             what, under, (unsigned long long)want, (unsigned long long)got);
}

static struct hc_tensor matrix(struct hc_check *check, enum hc_format format, int64_t columns)
{
    return hc_check_tensor(check, hc_tensor2(format, 1, columns, NULL));
}

static void multipliers(struct hc_check *check)
{
    static const double x[N] = {2, -2, (double)INFINITY, (double)NAN};
    static const char *const names[N] = {"2", "-2", "inf", "NaN"};
    struct hc_comparisons c = {.what = "codes and scales"};
    for (size_t r = 0; r < sizeof multiplied / sizeof multiplied[0]; r++) {
        const struct multiplied *m = &multiplied[r];
        struct hc_call call = {.op = HC_OP_quantize, .params.quantize = {.rule = HC_SCALE_GIVEN}};
        call.in[HC_QUANTIZE_X] = matrix(check, HC_FP32, N);
        call.in[HC_QUANTIZE_SCALE] = hc_check_vector(check, HC_FP32, 1);
        call.out[HC_QUANTIZE_CODES] = matrix(check, m->codes, N);
        call.out[HC_QUANTIZE_SCALES] = matrix(check, HC_FP32, 1);
        call.out[HC_QUANTIZE_TENSOR] = hc_check_vector(check, HC_FP32, 1);
        call.out[HC_QUANTIZE_AMAX] = hc_check_vector(check, HC_FP32, 1);
        hc_tensor_set(&call.in[HC_QUANTIZE_SCALE], 0, m->multiplier);
        for (int i = 0; i < N; i++)
            hc_tensor_set(&call.in[HC_QUANTIZE_X], i, x[i]);
        if (hc_do(check, &call) != HC_OK)
            return;
        for (int i = 0; i < N; i++)
            compare(&c, &call.out[HC_QUANTIZE_CODES], i, m->code[i], names[i], m->multiplier);
        compare(&c, &call.out[HC_QUANTIZE_SCALES], 0, hc_encode(HC_FP32, m->scale, 0, HC_NEAREST),
                "scale", m->multiplier);
        compare(&c, &call.out[HC_QUANTIZE_AMAX], 0, 0x7f800000, "amax", m->multiplier);
    }
    hc_claim_comparisons(check, &c);
}

/* 1, -1 and 0 of e4m3 and of e2m1 under a scale of fp32 and a second factor. */
static const struct decoded {
    double scale, tensor;
    double y[3];
} decoded[] = {
    {0, 1, {0, -0.0, 0}},
    {-0.0, 1, {-0.0, 0, -0.0}},
    {(double)NAN, 1, {(double)NAN, (double)NAN, (double)NAN}},
    {(double)INFINITY, 1, {(double)INFINITY, -(double)INFINITY, (double)NAN}},
    {-2, 1, {-2, 2, -0.0}},
    {1, 0, {0, -0.0, 0}},
    {1, (double)NAN, {(double)NAN, (double)NAN, (double)NAN}},
    {0, (double)INFINITY, {(double)NAN, (double)NAN, (double)NAN}},
    {1, -(double)INFINITY, {-(double)INFINITY, (double)INFINITY, (double)NAN}},
};

static void decode(struct hc_check *check)
{
    static const enum hc_format formats[] = {HC_E4M3, HC_E2M1};
    static const char *const names[] = {"1", "-1", "0"};
    static const double x[] = {1, -1, 0};
    struct hc_comparisons c = {.what = "numbers"};
    for (size_t r = 0; r < 2 * sizeof decoded / sizeof decoded[0]; r++) {
        const struct decoded *d = &decoded[r / 2];
        struct hc_call call = {.op = HC_OP_dequantize};
        call.in[HC_DEQUANTIZE_CODES] = matrix(check, formats[r % 2], 3);
        call.in[HC_DEQUANTIZE_SCALES] = matrix(check, HC_FP32, 1);
        call.in[HC_DEQUANTIZE_TENSOR] = hc_check_vector(check, HC_FP32, 1);
        call.out[HC_DEQUANTIZE_Y] = matrix(check, HC_FP32, 3);
        hc_tensor_set(&call.in[HC_DEQUANTIZE_SCALES], 0, d->scale);
        hc_tensor_set(&call.in[HC_DEQUANTIZE_TENSOR], 0, d->tensor);
        for (int i = 0; i < 3; i++)
            hc_tensor_set(&call.in[HC_DEQUANTIZE_CODES], i, x[i]);
        if (hc_do(check, &call) != HC_OK)
            return;
        for (int i = 0; i < 3; i++)
            compare(&c, &call.out[HC_DEQUANTIZE_Y], i, hc_encode(HC_FP32, d->y[i], 0, HC_NEAREST),
                    names[i], d->scale);
    }
    hc_claim_comparisons(check, &c);
}

static const struct hc_case cases[] = {
    {.name = "scale/bad-multipliers",
     .title = "codes and scales of multipliers that are 0, infinite, NaN or negative",
     .source = "src/op/quant.h; OCP OFP8 1.0 and Microscaling Formats (MX) 1.0",
     .level = HC_QUICK,
     .run = multipliers},
    {.name = "scale/bad-scales-decoded",
     .title = "codes are decoded under scales that are 0, infinite, NaN or negative",
     .source = "src/op/quant.h",
     .level = HC_QUICK,
     .run = decode},
};

HC_CASES(scale_bad_input, cases);
