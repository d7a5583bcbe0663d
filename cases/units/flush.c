/* What becomes of numbers below 2^-126 in sums of 16-bit products. The contracts keep them; the
   matrix units of some processors read them as zeros and write zeros for them, and a backend that
   uses one says so (struct hc_accumulator). Here a subnormal factor meets a large one, a product of
   two small factors underflows, and two ordinary terms leave a subnormal sum. Every value is exact,
   so what comes out is settled by what the backend says: the value, or 0. One that flushes and does
   not say so fails, and so does one that says so and does not. Normal numbers next to the subnormal
   ones, as factors, products and sums, are no zeros to either. */
#include <math.h>

#include "case.h"

/* Two terms of one output element, by the places of their factors. All else is 0. */
struct terms {
    enum hc_op op;
    struct hc_tensor first, second, out; /* their shapes */
    int64_t at_first[2], at_second[2], at_out;
};

struct subject {
    const struct terms *terms;
    enum hc_format format;
};

#define ONE                                                                                        \
    {                                                                                              \
        .rank = 1, .shape = { 1 }                                                                  \
    }
#define VECTOR                                                                                     \
    {                                                                                              \
        .rank = 1, .shape = { 64 }                                                                 \
    }
#define MATRIX                                                                                     \
    {                                                                                              \
        .rank = 2, .shape = { 32, 32 }                                                             \
    }
#define IMAGES                                                                                     \
    {                                                                                              \
        .rank = 4, .shape = { 2, 8, 8, 32 }                                                        \
    }
#define FILTERS                                                                                    \
    {                                                                                              \
        .rank = 4, .shape = { 32, 3, 3, 32 }                                                       \
    }

/* Pixels (4, 4) and (4, 5) of the first image, and the middle of the first filter. */
enum { PIXEL = 36 * 32, NEXT_PIXEL = 37 * 32, MIDDLE = 4 * 32, FILTER = 9 * 32 };

static const struct terms of_dot = {HC_OP_dot, VECTOR, VECTOR, ONE, {0, 1}, {0, 1}, 0};
static const struct terms of_gemm = {HC_OP_gemm, MATRIX, MATRIX, MATRIX, {0, 1}, {0, 32}, 0};
static const struct terms of_conv2d = {
    HC_OP_conv2d, IMAGES, FILTERS, IMAGES, {PIXEL, PIXEL + 1}, {MIDDLE, MIDDLE + 1}, PIXEL};
static const struct terms of_bwd_data = {
    HC_OP_conv2d_bwd_data,     IMAGES, FILTERS, IMAGES, {PIXEL, PIXEL + 1},
    {MIDDLE, FILTER + MIDDLE}, PIXEL};
static const struct terms of_bwd_filter = {
    HC_OP_conv2d_bwd_filter, IMAGES, IMAGES, FILTERS, {PIXEL, NEXT_PIXEL},
    {PIXEL, NEXT_PIXEL},     MIDDLE};

static struct hc_tensor zeros(struct hc_check *check, struct hc_tensor shape, enum hc_format format)
{
    shape.format = format;
    return hc_check_tensor(check, shape);
}

/* Sets *got to a[0] b[0] + a[1] b[1]. False if the call could not be run. */
static bool sum_of(struct hc_check *check, const double a[2], const double b[2], double *got,
                   bool *flushes)
{
    const struct subject *s = hc_check_case(check)->data;
    const struct terms *t = s->terms;
    struct hc_call call = {.op = t->op};
    call.in[HC_FIRST] = zeros(check, t->first, s->format);
    call.in[HC_FIRST + 1] = zeros(check, t->second, s->format);
    call.out[HC_OUT] = zeros(check, t->out, HC_FP32);
    if (t->op == HC_OP_gemm)
        call.params.gemm = (struct hc_gemm){.alpha = 1};
    else if (t->op == HC_OP_dot)
        call.params.reduce = (struct hc_reduce){HC_FP32};
    else
        call.params.conv = (struct hc_conv){.stride = 1, .pad = 1};
    for (int i = 0; i < 2; i++) {
        hc_tensor_set(&call.in[HC_FIRST], t->at_first[i], a[i]);
        hc_tensor_set(&call.in[HC_FIRST + 1], t->at_second[i], b[i]);
    }
    if (hc_do(check, &call) != HC_OK)
        return false;
    *flushes = hc_backend_accumulator(hc_check_backend(check), &call).flushes;
    *got = hc_tensor_get(&call.out[HC_OUT], t->at_out);
    return true;
}

/* a[0] b[0] + a[1] b[1], which is `want` unless what is subnormal in it is flushed. */
static void hold(struct hc_check *check, const char *what, const double a[2], const double b[2],
                 double want)
{
    double got;
    bool flushes;
    if (!sum_of(check, a, b, &got, &flushes))
        return;
    hc_say(check, "%s: %g, as one that %s", what, flushes ? 0 : want,
           flushes ? "flushes" : "keeps them");
    hc_claim_value(check, what, flushes ? 0 : want, got);
}

/* Whether a sum of normal numbers is another than it is. */
static int is_lost(struct hc_check *check, double a, double b, double c, double d)
{
    double got = a * b + c * d;
    bool flushes;
    return sum_of(check, (const double[]){a, c}, (const double[]){b, d}, &got, &flushes) &&
           got != a * b + c * d;
}

/* The smallest normal number of the format and some up to 2^23 of it as either factor; and in fp32
   as the product, and as the sum of two. */
static void keeps_normal_numbers(struct hc_check *check, enum hc_format format)
{
    int least = hc_formats[format].emin;
    double large = format == HC_FP16 ? 0x1p10 : 0x1p100;
    int lost = 0;
    for (int up = 0; up <= 23; up = 2 * up + 1) {
        double small = ldexp(1, least + up);
        double factor = ldexp(1, up - 63);
        lost += is_lost(check, small, large, 0, 0) + is_lost(check, 0, 0, large, small);
        if (format != HC_FP16)
            lost += is_lost(check, 0x1p-63, factor, 0, 0) +
                    is_lost(check, 0x1p-62, factor, 0x1p-63, -factor);
    }
    hc_claim_value(check, "small normal numbers that are lost", 0, lost);
}

/* Products of fp16 numbers do not come near 2^-126. */
static void flushes_as_declared(struct hc_check *check)
{
    const struct subject *s = hc_check_case(check)->data;
    bool half = s->format == HC_FP16;
    hold(check, "a subnormal factor and a large one",
         (const double[]){half ? 0x1p-20 : 0x1p-130, 0},
         (const double[]){half ? 0x1p10 : 0x1p100, 0}, half ? 0x1p-10 : 0x1p-30);
    hold(check, "a large factor and a subnormal one", (const double[]){0, half ? 0x1p10 : 0x1p100},
         (const double[]){0, half ? 0x1p-20 : 0x1p-130}, half ? 0x1p-10 : 0x1p-30);
    keeps_normal_numbers(check, s->format);
    if (half)
        return;
    hold(check, "a product that is subnormal", (const double[]){0x1p-70, 0},
         (const double[]){0x1p-70, 0}, 0x1p-140);
    hold(check, "a sum that is subnormal", (const double[]){0x1.8p-63, 0x1p-63},
         (const double[]){0x1p-63, -0x1p-63}, 0x1p-127);
}

static const char title[] =
    "a sum of 16-bit products keeps subnormals, or the backend says that it does not";
static const char source[] = "contracts in src/op; Intel's SDM, VDPBF16PS and TDPBF16PS (DAZ, "
                             "FTZ); Arm's BFMMLA; MMA-Sim (MI200)";

static const struct subject subjects[] = {
    {&of_dot, HC_BF16},        {&of_dot, HC_FP16},      {&of_gemm, HC_BF16},
    {&of_gemm, HC_FP16},       {&of_conv2d, HC_BF16},   {&of_conv2d, HC_FP16},
    {&of_bwd_data, HC_BF16},   {&of_bwd_data, HC_FP16}, {&of_bwd_filter, HC_BF16},
    {&of_bwd_filter, HC_FP16},
};

static const struct hc_case cases[] = {
    {"units/flush-dot-bf16", title, source, .level = HC_QUICK, .run = flushes_as_declared,
     .data = &subjects[0]},
    {"units/flush-dot-fp16", title, source, .level = HC_QUICK, .run = flushes_as_declared,
     .data = &subjects[1]},
    {"units/flush-gemm-bf16", title, source, .level = HC_QUICK, .run = flushes_as_declared,
     .data = &subjects[2]},
    {"units/flush-gemm-fp16", title, source, .level = HC_QUICK, .run = flushes_as_declared,
     .data = &subjects[3]},
    {"units/flush-conv2d-bf16", title, source, .level = HC_QUICK, .run = flushes_as_declared,
     .data = &subjects[4]},
    {"units/flush-conv2d-fp16", title, source, .level = HC_QUICK, .run = flushes_as_declared,
     .data = &subjects[5]},
    {"units/flush-conv2d-bwd-data-bf16", title, source, .level = HC_QUICK,
     .run = flushes_as_declared, .data = &subjects[6]},
    {"units/flush-conv2d-bwd-data-fp16", title, source, .level = HC_QUICK,
     .run = flushes_as_declared, .data = &subjects[7]},
    {"units/flush-conv2d-bwd-filter-bf16", title, source, .level = HC_QUICK,
     .run = flushes_as_declared, .data = &subjects[8]},
    {"units/flush-conv2d-bwd-filter-fp16", title, source, .level = HC_QUICK,
     .run = flushes_as_declared, .data = &subjects[9]},
};

HC_CASES(units_flush, cases);
