/* Sums of products: at extremes, in narrow accumulators, over padding, before the sum, and of
   fp8. */
#include <math.h>

#include "case.h"

/* Sums and products at extremes, whatever the seed: beyond the largest number they are infinite,
   opposed infinities give NaN, and a NaN stays. Every op here has two equal terms or one pair. */

/* Two terms, each the product of its element and 1. */
struct pair {
    double first;
    double second;
    double want;
};

/* The largest number of the format where the row says 2, otherwise the row's number. */
static double scaled(enum hc_format format, double value)
{
    return fabs(value) == 2 ? copysign(hc_format_max(format), value) : value;
}

/* In the rows 2 stands for the largest number. */
static const struct pair pairs[] = {
    {2, 2, (double)INFINITY},
    {-2, -2, -(double)INFINITY},
    {2, -2, 0},
    {(double)INFINITY, 1, (double)INFINITY},
    {-(double)INFINITY, 2, -(double)INFINITY},
    {(double)INFINITY, -(double)INFINITY, (double)NAN},
    {(double)NAN, 1, (double)NAN},
    {1, (double)NAN, (double)NAN},
};

/* A call that sums the two elements of x, each times 1. */
static struct hc_call call_of(struct hc_check *check, enum hc_op op, enum hc_format format)
{
    struct hc_call call = {.op = op};
    struct hc_tensor x = hc_check_vector(check, format, 2);
    struct hc_tensor ones = hc_check_vector(check, format, 2);
    struct hc_tensor sum = hc_check_vector(check, format, 1);
    hc_tensor_set(&ones, 0, 1);
    hc_tensor_set(&ones, 1, 1);
    if (op == HC_OP_gemm) {
        call.in[HC_GEMM_A] = hc_tensor2(format, 1, 2, x.data);
        call.in[HC_GEMM_B] = hc_tensor2(format, 2, 1, ones.data);
        call.out[HC_GEMM_OUT] = hc_tensor2(format, 1, 1, sum.data);
        call.params.gemm.alpha = 1;
    } else if (op == HC_OP_conv2d) {
        call.in[HC_CONV_X] = hc_tensor4(format, 1, 1, 1, 2, x.data);
        call.in[HC_CONV_W] = hc_tensor4(format, 1, 1, 1, 2, ones.data);
        call.out[HC_CONV_Y] = hc_tensor4(format, 1, 1, 1, 1, sum.data);
        call.params.conv.stride = 1;
    } else {
        call.in[HC_REDUCE_X] = x;
        if (op == HC_OP_dot)
            call.in[HC_DOT_Y] = ones;
        call.out[HC_REDUCE_OUT] = sum;
        call.params.reduce.accumulator = HC_FP32;
    }
    return call;
}

static void ends(struct hc_check *check)
{
    static const enum hc_op ops[] = {HC_OP_sum, HC_OP_dot, HC_OP_gemm, HC_OP_conv2d};
    static const enum hc_format formats[] = {HC_FP16, HC_BF16, HC_FP32};
    for (size_t o = 0; o < sizeof ops / sizeof ops[0]; o++)
        for (size_t f = 0; f < sizeof formats / sizeof formats[0]; f++)
            for (size_t p = 0; p < sizeof pairs / sizeof pairs[0]; p++) {
                struct hc_call call = call_of(check, ops[o], formats[f]);
                hc_tensor_set(&call.in[HC_FIRST], 0, scaled(formats[f], pairs[p].first));
                hc_tensor_set(&call.in[HC_FIRST], 1, scaled(formats[f], pairs[p].second));
                if (hc_do(check, &call) != HC_OK)
                    return;
                hc_claim_value(check, hc_ops[ops[o]].name, pairs[p].want,
                               hc_tensor_get(&call.out[HC_FIRST], 0));
            }
}

/* A matrix product without terms is +0, whatever alpha is. */
static void no_terms(struct hc_check *check)
{
    static const double alphas[] = {1, -1, -0.5, 3};
    static const enum hc_format formats[] = {HC_FP16, HC_BF16, HC_FP32};
    for (int k = 0; k < 12; k++) {
        enum hc_format f = formats[k % 3];
        struct hc_tensor y = hc_check_vector(check, f, 6);
        struct hc_call call = {.op = HC_OP_gemm, .params.gemm = {.alpha = alphas[k / 3]}};
        call.in[HC_GEMM_A] = hc_tensor2(f, 2, 0, hc_check_memory(check, 1));
        call.in[HC_GEMM_B] = hc_tensor2(f, 0, 3, hc_check_memory(check, 1));
        call.out[HC_GEMM_OUT] = hc_tensor2(f, 2, 3, y.data);
        if (hc_do(check, &call) != HC_OK)
            return;
        for (int i = 0; i < 6; i++)
            hc_claim_value(check, "an empty sum", 0, hc_tensor_get(&call.out[HC_GEMM_OUT], i));
    }
}

/* Sums with a 16-bit accumulator. The order is 0, 1, 2, ..., and every product and partial sum is
   rounded into the accumulator's format, so the result is settled to the bit. The sum is written
   out here from the contract. A product or a sum of two 16-bit numbers is exact in fp64 if they lie
   less than 2^30 apart, as these do, and hc_round is the definition of the formats. */

enum { TERMS = 301, CALLS = 24 };

static double value(const struct hc_check *check, enum hc_format format, uint64_t stream, int i)
{
    return hc_round(format, hc_random_normal(hc_check_seed(check), stream, (uint64_t)i));
}

static void by_definition(struct hc_check *check)
{
    static const enum hc_format formats[] = {HC_FP16, HC_BF16};
    for (uint64_t k = 0; k < CALLS; k++) {
        enum hc_format f = formats[k % 2];
        bool dot = k / 2 % 2 != 0;
        struct hc_call call = {.op = dot ? HC_OP_dot : HC_OP_sum, .params.reduce = {f}};
        int64_t n = k < 4 ? (int64_t)k : TERMS - (int64_t)k;
        double want = 0;
        call.in[HC_REDUCE_X] = hc_check_vector(check, f, n);
        call.in[HC_DOT_Y] = dot ? hc_check_vector(check, f, n) : (struct hc_tensor){.format = f};
        call.out[HC_REDUCE_OUT] = hc_check_vector(check, f, 1);
        for (int i = 0; i < n; i++) {
            double x = value(check, f, 2 * k, i);
            double y = dot ? value(check, f, 2 * k + 1, i) : 1;
            hc_tensor_set(&call.in[HC_REDUCE_X], i, x);
            if (dot)
                hc_tensor_set(&call.in[HC_DOT_Y], i, y);
            want = hc_round(f, want + hc_round(f, x * y));
        }
        if (hc_do(check, &call) != HC_OK)
            return;
        hc_claim_value(check, hc_ops[call.op].name, want,
                       hc_tensor_get(&call.out[HC_REDUCE_OUT], 0));
    }
}

/* Padding is no pixel. Where the filter reaches over the image the definition has no term; a
   backend that multiplies by a zero there makes NaN of an infinite weight or gradient. The
   generated specials stand in all operands at once; here they stand in the second alone, since a
   kernel may choose its way by the first alone. */

enum { IMAGES = 2, SIDE = 4, CHANNELS = 3, FILTERS = 2, FILTER = 3 };

static struct hc_tensor image(struct hc_check *check, enum hc_format f, int64_t channels)
{
    return hc_check_tensor(check, hc_tensor4(f, IMAGES, SIDE, SIDE, channels, NULL));
}

static struct hc_tensor filter(struct hc_check *check, enum hc_format f)
{
    return hc_check_tensor(check, hc_tensor4(f, FILTERS, FILTER, FILTER, CHANNELS, NULL));
}

static void fill(struct hc_check *check, const struct hc_tensor *t, uint64_t stream)
{
    for (int64_t i = 0; i < hc_tensor_count(t); i++)
        hc_tensor_set(t, i, hc_random_normal(hc_check_seed(check), stream, (uint64_t)i));
}

/* Puts an infinity into a corner of the second operand, where the filter reaches over the image. */
static void claim(struct hc_check *check, enum hc_op op, enum hc_format f)
{
    struct hc_call call = {.op = op, .params.conv = {.stride = 1, .pad = 1}};
    bool of_weights = op == HC_OP_conv2d || op == HC_OP_conv2d_bwd_data;
    call.in[HC_CONV_FIRST] = image(check, f, op == HC_OP_conv2d_bwd_data ? FILTERS : CHANNELS);
    call.in[HC_CONV_SECOND] = of_weights ? filter(check, f) : image(check, f, FILTERS);
    call.out[HC_CONV_RESULT] = op == HC_OP_conv2d            ? image(check, f, FILTERS)
                               : op == HC_OP_conv2d_bwd_data ? image(check, f, CHANNELS)
                                                             : filter(check, f);
    fill(check, &call.in[HC_CONV_FIRST], 0);
    fill(check, &call.in[HC_CONV_SECOND], 1);
    hc_tensor_set(&call.in[HC_CONV_SECOND], 0, (double)INFINITY);
    hc_claim_call_met(check, &call);
}

static void padding(struct hc_check *check, const enum hc_format *formats, int count)
{
    static const enum hc_op ops[] = {HC_OP_conv2d, HC_OP_conv2d_bwd_data, HC_OP_conv2d_bwd_filter};
    for (int o = 0; o < 3; o++)
        for (int f = 0; f < count; f++)
            claim(check, ops[o], formats[f]);
}

static void short_formats(struct hc_check *check)
{
    static const enum hc_format formats[] = {HC_FP32, HC_FP16, HC_BF16};
    padding(check, formats, 3);
}

static void fp64(struct hc_check *check)
{
    static const enum hc_format format = HC_FP64;
    padding(check, &format, 1);
}

/* What a matrix product or a convolution may lose before the sum. Inputs are multiples of 2^-12 and
   small integers, so that every sum is an integer below 2^24 times 2^-12: exact in fp32 in any
   order, truncating accumulators included. A single input that is cut to tf32 shows. */

enum { TILE = 48, SIDE_PRECISION = 8, IMAGES_PRECISION = 1, CHANNELS_PRECISION = 16, TAPS = 3 };

/* A number between 1 and 2 with 13 bits, the last of them set; tf32 has 11. */
static double fine(uint64_t seed, int slot, int64_t i)
{
    return 1 + (double)(2 * (hc_random(seed, (uint64_t)slot, (uint64_t)i) % 2048) + 1) * 0x1p-12;
}

static double small(uint64_t seed, int slot, int64_t i)
{
    return (double)(hc_random(seed, (uint64_t)slot, (uint64_t)i) % 7) - 3;
}

/* A call in fp32 whose sums have 48 to 144 terms; `fine_slot` is the input that tf32 would cut. */
static struct hc_call product(struct hc_check *check, enum hc_op op, int fine_slot)
{
    struct hc_tensor matrix = hc_tensor2(HC_FP32, TILE, TILE, NULL);
    struct hc_tensor image = hc_tensor4(HC_FP32, IMAGES_PRECISION, SIDE_PRECISION, SIDE_PRECISION,
                                        CHANNELS_PRECISION, NULL);
    struct hc_tensor filter =
        hc_tensor4(HC_FP32, CHANNELS_PRECISION, TAPS, TAPS, CHANNELS_PRECISION, NULL);
    struct hc_call call = {.op = op};
    if (op == HC_OP_gemm)
        call.params.gemm.alpha = 1;
    else
        call.params.conv = (struct hc_conv){.stride = 1, .pad = 1};
    call.in[HC_FIRST] = hc_check_tensor(check, op == HC_OP_gemm ? matrix : image);
    call.in[HC_FIRST + 1] = hc_check_tensor(check, op == HC_OP_gemm                ? matrix
                                                   : op == HC_OP_conv2d_bwd_filter ? image
                                                                                   : filter);
    call.out[HC_FIRST] = hc_check_tensor(check, op == HC_OP_gemm                ? matrix
                                                : op == HC_OP_conv2d_bwd_filter ? filter
                                                                                : image);
    for (int slot = 0; slot < 2; slot++)
        for (int64_t i = 0; i < hc_tensor_count(&call.in[slot]); i++)
            hc_tensor_set(&call.in[slot], i,
                          (slot == fine_slot ? fine : small)(hc_check_seed(check), slot, i));
    return call;
}

/* How many results are not the sum itself. */
static int64_t inexact(const struct hc_call *call)
{
    int64_t wrong = 0;
    for (int64_t i = 0; i < hc_tensor_count(&call->out[HC_FIRST]); i++) {
        struct hc_exact want = hc_reference_value(call, HC_FIRST, i);
        wrong += hc_tensor_get(&call->out[HC_FIRST], i) != want.hi || want.lo != 0;
    }
    return wrong;
}

static void single_keeps(struct hc_check *check)
{
    enum hc_op op = *(const enum hc_op *)hc_check_case(check)->data;
    for (int slot = 0; slot < 2; slot++) {
        struct hc_call call = product(check, op, slot);
        if (hc_do(check, &call) != HC_OK)
            return;
        int64_t wrong = inexact(&call);
        hc_claim_sweep(check, "elements in fp32", hc_tensor_count(&call.out[HC_FIRST]), wrong,
                       wrong ? "a sum of fp32 numbers that fp32 holds" : NULL);
    }
}

static void tf32_drops(struct hc_check *check)
{
    enum hc_op op = *(const enum hc_op *)hc_check_case(check)->data;
    for (int slot = 0; slot < 2; slot++) {
        struct hc_call call = product(check, op, slot);
        *(op == HC_OP_gemm ? &call.params.gemm.tf32 : &call.params.conv.tf32) = true;
        if (hc_claim_call_met(check, &call) != HC_OK)
            return;
        int64_t lost = inexact(&call);
        hc_say(check, "%lld of %lld results lost something of in%d", (long long)lost,
               (long long)hc_tensor_count(&call.out[HC_FIRST]), slot);
        if (lost == 0 && hc_check_backend(check)->free_order)
            hc_skip(check, "tf32 is allowed, and it did not use it");
        else if (lost == 0)
            hc_mistrust(check, "nothing of in%d was lost: tf32 was allowed and not used", slot);
    }
}

/* 2048 and 511 ones: an odd sum above 2048, which fp16 does not hold. False if the backend lacks
   the product. */
static bool odd_sum(struct hc_check *check, bool half, double *got)
{
    enum { M = 16, N = 8, K = 512 };
    struct hc_call call = {.op = HC_OP_gemm, .params.gemm = {.alpha = 1, .half_accumulator = half}};
    call.in[HC_GEMM_A] = hc_check_tensor(check, hc_tensor2(HC_FP16, M, K, NULL));
    call.in[HC_GEMM_B] = hc_check_tensor(check, hc_tensor2(HC_FP16, K, N, NULL));
    call.out[HC_GEMM_OUT] = hc_check_tensor(check, hc_tensor2(HC_FP32, M, N, NULL));
    for (int64_t i = 0; i < M * K; i++)
        hc_tensor_set(&call.in[HC_GEMM_A], i, i % K == 37 * (i / K) % K ? 2048 : 1);
    for (int64_t i = 0; i < K * N; i++)
        hc_tensor_set(&call.in[HC_GEMM_B], i, 1);
    if (hc_claim_call_met(check, &call) != HC_OK)
        return false;
    *got = hc_tensor_get(&call.out[HC_GEMM_OUT], 0);
    int64_t wrong = inexact(&call);
    if (!half)
        hc_claim_sweep(check, "elements in fp32", (int64_t)M * N, wrong,
                       wrong ? "2048 and 511 ones" : NULL);
    return true;
}

static void sums_are_single(struct hc_check *check)
{
    double got = 0;
    if (!odd_sum(check, false, &got))
        return;
    hc_say(check, "2048 and 511 ones are %g", got);
}

static void sums_in_half(struct hc_check *check)
{
    double got = 0;
    if (!odd_sum(check, true, &got))
        return;
    hc_say(check, "2048 and 511 ones are %g", got);
    hc_note_arithmetic(check, HC_FP16);
    hc_claim_true(check, "the sum is a number of half", got == hc_round(HC_FP16, got));
}

static const enum hc_op ops[] = {HC_OP_gemm, HC_OP_conv2d, HC_OP_conv2d_bwd_data,
                                 HC_OP_conv2d_bwd_filter};

#define TF32_SOURCE                                                                                \
    "NVIDIA A100 architecture whitepaper: TF32 inputs have 10 bits of mantissa; "                  \
    "torch.backends.cuda.matmul.allow_tf32"
#define HALF_SOURCE                                                                                \
    "cuBLAS documentation: CUBLAS_COMPUTE_16F, CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION"

/* Products of fp8 by their codes: all of them, decoded here from the tables of OCP's specification
   (OCP 8-bit floating point, OFP8, revision 1.0, 2023) and of AMD's (CDNA3 ISA, 7.1). */

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
static const struct ends_fp8 {
    const struct fp8 *first, *second;
    int a[2], b[2];
    double want;
} ends_fp8[] = {
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
    for (size_t i = 0; i < sizeof ends_fp8 / sizeof ends_fp8[0]; i++) {
        const struct ends_fp8 *e = &ends_fp8[i];
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
    {"products/ends",
     "sums beyond the largest number are infinite, opposed infinities are NaN, NaN stays",
     "IEEE 754-2019, sections 6.1, 6.2 and 7.4; contracts in src/op/{reduction,gemm,conv}.h",
     .level = HC_QUICK, .run = ends},
    {"products/no-terms", "a matrix product without terms is +0, whatever alpha is",
     "contract in src/op/gemm.h", .level = HC_QUICK, .run = no_terms},
    {"products/sums-in-sixteen-bits",
     "sums in half and bf16 round every product and every partial sum, in order",
     "contract in src/op/reduction.h", .level = HC_QUICK, .run = by_definition},
    {"products/padding-meets-no-infinity",
     "an infinite weight or gradient meets no zero of the padding",
     "src/op/conv.h: terms outside the image do not exist", .level = HC_QUICK,
     .run = short_formats},
    {"products/padding-meets-no-infinity-fp64",
     "an infinite weight or gradient meets no zero of the padding in fp64",
     "src/op/conv.h: terms outside the image do not exist", .level = HC_QUICK, .run = fp64},
    {"products/gemm-in-fp32", "a matrix product in fp32 uses all bits of its inputs", TF32_SOURCE,
     HC_QUICK, .run = single_keeps, .data = &ops[0]},
    {"products/conv2d-in-fp32", "a convolution in fp32 uses all bits of its inputs", TF32_SOURCE,
     HC_QUICK, .run = single_keeps, .data = &ops[1]},
    {"products/conv2d-bwd-data-in-fp32",
     "a convolution's gradient of the input in fp32 uses all bits of its inputs", TF32_SOURCE,
     HC_QUICK, .run = single_keeps, .data = &ops[2]},
    {"products/conv2d-bwd-filter-in-fp32",
     "a convolution's gradient of the filter in fp32 uses all bits of its inputs", TF32_SOURCE,
     HC_QUICK, .run = single_keeps, .data = &ops[3]},
    {"products/gemm-in-tf32", "a matrix product in tf32 loses bits of its inputs, within the bound",
     TF32_SOURCE, HC_QUICK, .run = tf32_drops, .data = &ops[0]},
    {"products/conv2d-in-tf32", "a convolution in tf32 loses bits of its inputs, within the bound",
     TF32_SOURCE, HC_QUICK, .run = tf32_drops, .data = &ops[1]},
    {"products/conv2d-bwd-data-in-tf32",
     "a convolution's gradient of the input in tf32 loses bits of its inputs, within the bound",
     TF32_SOURCE, HC_QUICK, .run = tf32_drops, .data = &ops[2]},
    {"products/conv2d-bwd-filter-in-tf32",
     "a convolution's gradient of the filter in tf32 loses bits of its inputs, within the bound",
     TF32_SOURCE, HC_QUICK, .run = tf32_drops, .data = &ops[3]},
    {"products/half-summed-in-single", "a matrix product of halves is summed in fp32", HALF_SOURCE,
     HC_QUICK, .run = sums_are_single},
    {"products/half-summed-in-half",
     "a matrix product of halves that may be summed in half loses the odd one, within the bound",
     HALF_SOURCE, HC_QUICK, .run = sums_in_half},
    {"products/every-product-of-fp8",
     "each of the 65,536 products of two codes of e4m3 or e5m2, or of their FNUZ formats, is exact",
     SOURCE, .level = HC_QUICK, .run = every_product},
    {"products/fp8-ends",
     "e4m3 has one NaN, no infinity and a largest number of 448; e5m2 is as IEEE's formats; FNUZ's "
     "have one NaN, the code of -0",
     SOURCE, .level = HC_QUICK, .run = claim_ends},
};

HC_CASES(products_sums, cases);
