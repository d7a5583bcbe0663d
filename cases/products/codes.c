/* Products of quantised matrices: every product of two codes, what a scale of 0, NaN or infinity
   makes of a piece, and what an accumulator of few bits loses of positive terms. */
#include <math.h>
#include <stdio.h>

#include "cases/fixture/quantised.h"
#include "check/bound/bound.h"

enum { CODES = 256 };

/* A code is a sign, an exponent field and a fraction field, in the low bits of a byte. */
struct layout {
    enum hc_format format;
    int exponent, fraction, bias;
    enum { IEEE, ONE_NAN, FNUZ, NUMBERS } specials;
};

static const struct layout layouts[] = {
    {HC_E4M3, 4, 3, 7, ONE_NAN},   {HC_E5M2, 5, 2, 15, IEEE},   {HC_E4M3FNUZ, 4, 3, 8, FNUZ},
    {HC_E5M2FNUZ, 5, 2, 16, FNUZ}, {HC_E2M3, 2, 3, 1, NUMBERS}, {HC_E3M2, 3, 2, 3, NUMBERS},
    {HC_E2M1, 2, 1, 1, NUMBERS},
};

/* From the tables of the specifications, and not by hc_decode. */
static double decoded(const struct layout *l, int byte)
{
    int bits = l->exponent + l->fraction;
    int ones = (1 << l->fraction) - 1;
    int top = (1 << l->exponent) - 1;
    int fraction = byte & ones;
    int field = byte >> l->fraction & top;
    bool negative = byte >> bits & 1;
    double value =
        ldexp(field ? ones + 1 + fraction : fraction, (field ? field : 1) - l->bias - l->fraction);
    if (l->specials == IEEE && field == top)
        value = fraction ? (double)NAN : (double)INFINITY;
    if (l->specials == ONE_NAN && field == top && fraction == ones)
        value = (double)NAN;
    if (l->specials == FNUZ && negative && field == 0 && fraction == 0)
        value = (double)NAN;
    return negative ? -value : value;
}

/* Like a, or the other one of the same kind of 8 bits. */
static bool goes_with(const struct layout *a, const struct layout *b)
{
    bool fp8 = hc_is_fp8(a->format) && hc_is_fp8(b->format);
    return a == b || (fp8 && (a->specials == FNUZ) == (b->specials == FNUZ));
}

/* Factors of all bytes, of which only the low bits count. */
static bool compare_all(struct hc_check *check, const struct layout *first,
                        const struct layout *second, struct hc_comparisons *all)
{
    struct hc_call call =
        hc_quantised_product(check, (enum hc_format[]){first->format, second->format}, HC_FP32,
                             (int64_t[]){CODES, CODES, 1}, &(struct hc_gemm_q){0});
    uint8_t *a = call.in[HC_GEMM_Q_A].data;
    uint8_t *b = call.in[HC_GEMM_Q_B].data;
    for (int i = 0; i < CODES; i++)
        a[i] = b[i] = (uint8_t)i;
    if (hc_do(check, &call) != HC_OK)
        return false;
    for (int i = 0; i < CODES * CODES; i++) {
        double want = decoded(first, i / CODES) * decoded(second, i % CODES);
        double got = hc_tensor_get(&call.out[HC_GEMM_Q_OUT], i);
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
    enum { LAYOUTS = sizeof layouts / sizeof layouts[0] };
    struct hc_comparisons all = {.what = "products of two codes"};
    for (int i = 0; i < LAYOUTS * LAYOUTS; i++) {
        const struct layout *a = &layouts[i / LAYOUTS];
        const struct layout *b = &layouts[i % LAYOUTS];
        if (goes_with(a, b) && !compare_all(check, a, b, &all))
            return;
    }
    hc_claim_comparisons(check, &all);
}

/* Two pieces of 16 terms, of which the first has these scales and products that sum to 16, or to
   0, and the second 16. */
static const struct scaled_codes {
    enum hc_format codes, scales;
    double a, b; /* of the first piece */
    bool cancels;
    double want;
} scaled_codes[] = {
    {HC_E4M3, HC_FP32, 0, 1, false, 16},
    {HC_E2M1, HC_UE4M3, 3, 0, false, 16},
    {HC_E4M3, HC_FP32, -2, 1, false, -16},
    {HC_E4M3, HC_FP32, (double)NAN, 1, false, (double)NAN},
    {HC_E4M3, HC_FP32, (double)NAN, 0, true, (double)NAN},
    {HC_E5M2, HC_E8M0, (double)NAN, 1, false, (double)NAN},
    {HC_E2M1, HC_UE4M3, 1, (double)NAN, true, (double)NAN},
    {HC_E4M3, HC_FP32, (double)INFINITY, 1, false, (double)INFINITY},
    {HC_E4M3, HC_FP32, -(double)INFINITY, 1, false, -(double)INFINITY},
    {HC_E4M3, HC_FP32, (double)INFINITY, 1, true, (double)NAN},
    {HC_E4M3, HC_FP32, (double)INFINITY, 0, false, (double)NAN},
    {HC_E5M2, HC_E8M0, 0x1p-127, 0x1p127, false, 32}, /* codes 00 and fe */
    {HC_E4M3, HC_FP32, 0x1p-149, 0x1p127, false, 16 + 0x1p-18},
    {HC_E4M3, HC_FP32, 0x1p125, 0x1p-120, false, (double)INFINITY}, /* 16 times 2^125 overflows */
};

static void scales_as_they_are(struct hc_check *check)
{
    enum { PIECE_CODES = 16 };
    for (size_t i = 0; i < sizeof scaled_codes / sizeof scaled_codes[0]; i++) {
        const struct scaled_codes *s = &scaled_codes[i];
        struct hc_call call =
            hc_quantised_product(check, (enum hc_format[]){s->codes, s->codes}, s->scales,
                                 (int64_t[]){1, 1, 2 * PIECE_CODES},
                                 &(struct hc_gemm_q){1, PIECE_CODES, 1, PIECE_CODES, 0});
        for (int k = 0; k < 2 * PIECE_CODES; k++) {
            hc_tensor_set(&call.in[HC_GEMM_Q_A], k, 1);
            hc_tensor_set(&call.in[HC_GEMM_Q_B], k,
                          s->cancels && k < PIECE_CODES && k % 2 == 1 ? -1 : 1);
        }
        hc_tensor_set(&call.in[HC_GEMM_Q_A_SCALES], 0, s->a);
        hc_tensor_set(&call.in[HC_GEMM_Q_B_SCALES], 0, s->b);
        if (hc_do(check, &call) != HC_OK)
            return;
        char what[64];
        (void)snprintf(what, sizeof what, "%s scales %g and %g", hc_formats[s->scales].name, s->a,
                       s->b);
        hc_claim_value(check, what, hc_round(HC_FP32, s->want),
                       hc_tensor_get(&call.out[HC_GEMM_Q_OUT], 0));
    }
}

/* The number of a code of e4m3: 2^-9 is the smallest, and a fraction has three bits. */
static double of_magnitude(int m)
{
    if (m == 0x7f)
        return (double)NAN;
    return m < 8 ? ldexp(m, -9) : ldexp(8 + m % 8, m / 8 - 10);
}

/* ue4m3 is a byte of e4m3 whose sign nobody looks at. Row c is 1, with the byte c as its scale. */
static void any_byte_as_a_scale(struct hc_check *check)
{
    enum { BYTES = 256, PIECE_CODES = 16 };
    struct hc_comparisons all = {.what = "scales by their bytes"};
    struct hc_call call = hc_quantised_product(
        check, (enum hc_format[]){HC_E2M1, HC_E2M1}, HC_UE4M3, (int64_t[]){BYTES, 1, PIECE_CODES},
        &(struct hc_gemm_q){1, PIECE_CODES, 1, PIECE_CODES, 0});
    unsigned char *scales = call.in[HC_GEMM_Q_A_SCALES].data;
    for (int c = 0; c < BYTES; c++) {
        hc_tensor_set(&call.in[HC_GEMM_Q_A], (int64_t)c * PIECE_CODES, 1);
        scales[c] = (unsigned char)c;
    }
    hc_tensor_set(&call.in[HC_GEMM_Q_B], 0, 1);
    if (hc_do(check, &call) != HC_OK)
        return;
    for (int c = 0; c < BYTES; c++) {
        double want = of_magnitude(c & 0x7f);
        double got = hc_tensor_get(&call.out[HC_GEMM_Q_OUT], c);
        all.checked++;
        if (isnan(want) ? !isnan(got) : want != got)
            hc_comparisons_wrong(&all, "scale %02x: want %.9g, got %.9g", (unsigned)c, want, got);
    }
    hc_claim_comparisons(check, &all);
}

/* C alone, whatever the factors are: there are no terms. */
static void no_terms(struct hc_check *check)
{
    float factor = INFINITY;
    struct hc_call call = hc_quantised_product(check, (enum hc_format[]){HC_E4M3, HC_E5M2}, HC_FP32,
                                               (int64_t[]){2, 3, 0}, &(struct hc_gemm_q){0});
    call.in[HC_GEMM_Q_C] = hc_check_tensor(check, hc_tensor2(HC_FP32, 2, 3, NULL));
    call.in[HC_GEMM_Q_A_TENSOR] = hc_tensor1(HC_FP32, 1, &factor);
    for (int i = 0; i < 6; i++)
        hc_tensor_set(&call.in[HC_GEMM_Q_C], i, i - 2);
    if (hc_do(check, &call) != HC_OK)
        return;
    for (int i = 0; i < 6; i++)
        hc_claim_value(check, "C without a product", i - 2,
                       hc_tensor_get(&call.out[HC_GEMM_Q_OUT], i));
}

/* The mean of (got - want) / want over all elements, each of which is within its bound; NaN if the
   call could not be run. `vacuous`: the bound is above the sums themselves, and nobody asks. */
static double mean_error(struct hc_check *check, const struct hc_call *call, bool vacuous)
{
    enum hc_status status =
        vacuous ? hc_do(check, call) : hc_claim_call_on(check, call, HC_INPUTS_RANDOM);
    if (status != HC_OK)
        return (double)NAN;
    int64_t n = hc_tensor_count(&call->out[HC_GEMM_Q_OUT]);
    double sum = 0;
    for (int64_t i = 0; i < n; i++) {
        double want = hc_reference_value(call, HC_GEMM_Q_OUT, i).hi;
        sum += (hc_tensor_get(&call->out[HC_GEMM_Q_OUT], i) - want) / want;
    }
    return sum / (double)n;
}

/* Numbers have several exponents, so that sums have more bits than fp32. */
static double positive(struct hc_check *check, int slot, int64_t i)
{
    uint64_t seed = hc_check_seed(check);
    double u = hc_random_uniform(seed, (uint64_t)slot, (uint64_t)i);
    double v = hc_random_uniform(seed, (uint64_t)slot + 16, (uint64_t)i);
    return ldexp(1 + u, -(int)(6 * v));
}

/* K positive terms, in one accumulator or promoted. */
static struct hc_call positive_call(struct hc_check *check, int64_t k, int64_t promote)
{
    enum { ROWS = 8, COLUMNS = 8 };
    struct hc_call call = hc_quantised_product(check, (enum hc_format[]){HC_E4M3, HC_E4M3}, HC_FP32,
                                               (int64_t[]){ROWS, COLUMNS, k},
                                               &(struct hc_gemm_q){.promote = promote});
    for (int slot = HC_GEMM_Q_A; slot <= HC_GEMM_Q_B; slot++)
        for (int64_t i = 0; i < hc_tensor_count(&call.in[slot]); i++)
            hc_tensor_set(&call.in[slot], i, positive(check, slot, i));
    return call;
}

/* Each sum keeps its bound; that of a long sum in few bits is above the sum itself. So the mean
   errors are compared, too: a unit that cuts loses of each step, in one
   direction, and in one accumulator the more the longer the sum is. At the last length it has lost
   more than the sums of 128 terms may, and so more than promoted sums of any length. Signed terms
   would hide it. */
static void positive_terms(struct hc_check *check)
{
    enum { PROMOTED = 128 };
    static const int64_t lengths[] = {1024, 4096, 16384};
    double in_one = 0;
    double promoted = 0;
    double most = 0;
    for (int l = 0; l < 3; l++) {
        struct hc_call whole = positive_call(check, lengths[l], 0);
        struct hc_call parts = positive_call(check, lengths[l], PROMOTED);
        struct hc_accumulator sums = hc_backend_accumulator(hc_check_backend(check), &whole);
        most = sums.truncates && sums.precision < 24 ? hc_bound_growth(&sums, PROMOTED) : 0;
        in_one = mean_error(check, &whole, most > 0);
        promoted = mean_error(check, &parts, false);
        if (isnan(in_one) || isnan(promoted))
            return;
        hc_say(check, "%5d terms: mean relative error %.2e; promoted every %d: %.2e",
               (int)lengths[l], in_one, PROMOTED, promoted);
        if (most > 0)
            hc_claim_true(check, "promotion keeps most of what one accumulator loses",
                          in_one < 0 && fabs(promoted) < fabs(in_one) / 4);
    }
    if (most > 0)
        hc_claim_true(check, "one accumulator loses more than promoted sums may", in_one < -most);
}

#define SPECIFICATIONS                                                                             \
    "OCP OFP8 1.0 and Microscaling Formats (MX) 1.0, AMD's FNUZ formats (CDNA3 ISA, 7.1); "        \
    "src/op/quant.h"

/* Products of codes whose roundings are as bad as they can be. The order of what stands around the
   sums is stated (src/op/quant.h), so each rounding can be led to nearly half an ulp, and all to
   one side: the error comes near its bound. A bound that is much too wide, or infinite where fp32
   is not left, fails here, as a result beyond it does. */

enum { PIECES = 65 };

/* One sum of products, each of them a piece. Where a number is 0 there is no such operand. */
struct row {
    const char *what;
    int terms;
    float first[2]; /* scales of the first product, of a and of b */
    float later[2]; /* of the others */
    double code[2]; /* of a in the first term, and in the others; b is 1 */
    float tensor[2];
    float c;
    double floor; /* the least error/bound */
};

/* Just below half an ulp of 1. */
#define LOST 0x1.f4p-25F

static const struct row rows[] = {
    {"pieces that are lost beside the first", PIECES, {1, 1}, {LOST, 1}, {1, 1}, {0}, 0, 0.9},
    {"the same, by the scale of b", PIECES, {1, 1}, {1, LOST}, {1, 1}, {0}, 0, 0.9},
    {"the same above 2^101",
     PIECES,
     {0x1p51F, 0x1p51F},
     {LOST * 0x1p51F, 0x1p51F},
     {1, 1},
     {0},
     0,
     0.9},
    {"the same at the end of fp32",
     PIECES,
     {0x1p120F, 0x1p7F},
     {LOST * 0x1p120F, 0x1p7F},
     {1, 1},
     {0},
     0,
     0.9},
    {"the same, with a scale of a at the end of fp32",
     PIECES,
     {0x1p127F, 0x1p-60F},
     {LOST * 0x1p127F, 0x1p-60F},
     {1, 1},
     {0},
     0,
     0.9},
    {"the same, with a factor of a tensor to the end of fp32",
     PIECES,
     {1, 1},
     {LOST, 1},
     {1, 1},
     {0x1p64F, 0x1p63F},
     0,
     0.85},
    {"a product with a scale that is lost at the bottom",
     1,
     {0x1p-149F, 0x1p20F},
     {0},
     {0.4375, 0},
     {0},
     0,
     0.85},
    {"pieces that are lost at the bottom",
     PIECES,
     {0x1p-100F, 0x1p-100F},
     {0x1p-100F, 0x1p-50F},
     {1, 0.9375},
     {0},
     0,
     0.85},
    {"a factor of a tensor at the bottom",
     1,
     {1, 0x1p-100F},
     {0},
     {1.75, 0},
     {0x1p-51F, 0},
     0,
     0.85},
    {"C beside a sum that is lost", 1, {LOST, 1}, {0}, {1, 0}, {0}, 1, 0.9},
    {"C at the end of fp32", 1, {LOST * 0x1p100F, 0x1p27F}, {0}, {1, 0}, {0}, 0x1p127F, 0.9},
};

static struct hc_call call_of(struct hc_check *check, const struct row *r)
{
    struct hc_call call =
        hc_quantised_product(check, (enum hc_format[]){HC_E4M3, HC_E4M3}, HC_FP32,
                             (int64_t[]){1, 1, r->terms}, &(struct hc_gemm_q){1, 1, 1, 1, 0});
    for (int k = 0; k < r->terms; k++) {
        const float *scale = k == 0 ? r->first : r->later;
        hc_tensor_set(&call.in[HC_GEMM_Q_A], k, r->code[k > 0]);
        hc_tensor_set(&call.in[HC_GEMM_Q_B], k, 1);
        hc_tensor_set(&call.in[HC_GEMM_Q_A_SCALES], k, (double)scale[0]);
        hc_tensor_set(&call.in[HC_GEMM_Q_B_SCALES], k, (double)scale[1]);
    }
    for (int i = 0; i < 2; i++)
        if (r->tensor[i] != 0) {
            int slot = i == 0 ? HC_GEMM_Q_A_TENSOR : HC_GEMM_Q_B_TENSOR;
            call.in[slot] = hc_check_vector(check, HC_FP32, 1);
            hc_tensor_set(&call.in[slot], 0, (double)r->tensor[i]);
        }
    if (r->c != 0) {
        call.in[HC_GEMM_Q_C] = hc_check_tensor(check, hc_tensor2(HC_FP32, 1, 1, NULL));
        hc_tensor_set(&call.in[HC_GEMM_Q_C], 0, (double)r->c);
    }
    return call;
}

static void claim_near(struct hc_check *check, const char *what, const struct hc_call *call,
                       double floor)
{
    const struct hc_backend *backend = hc_check_backend(check);
    struct hc_accumulator sums = hc_backend_accumulator(backend, call);
    struct hc_element e = {call, HC_GEMM_Q_OUT, 0};
    struct hc_exact want = hc_reference_value(call, HC_GEMM_Q_OUT, 0);
    double bound =
        backend->free_order ? hc_bound_any_order(&e, &sums, &want) : hc_bound(&e, &sums, &want);
    double got = hc_tensor_get(&call->out[HC_GEMM_Q_OUT], 0);
    hc_claim_within(check, what, want.hi, got, bound);
    if (!backend->free_order)
        hc_claim_true(check, "the error is near its bound", fabs(got - want.hi) >= floor * bound);
}

static void lost(struct hc_check *check)
{
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct hc_call call = call_of(check, &rows[i]);
        if (hc_do(check, &call) != HC_OK)
            return;
        claim_near(check, rows[i].what, &call, rows[i].floor);
    }
}

/* A factor near 1 whose product with x is rounded up by as much as any of so many. */
static float worst_factor(const struct hc_check *check, float x, uint64_t stream)
{
    enum { DRAWS = 4096 };
    float worst = 1;
    double most = 0;
    for (uint64_t i = 0; i < DRAWS; i++) {
        float y = (float)(1 + hc_random_uniform(hc_check_seed(check), stream, i) / 64);
        double product = (double)x * (double)y;
        double up = (double)(x * y) / product - 1;
        if (up > most) {
            most = up;
            worst = y;
        }
    }
    return worst;
}

/* Each scale and factor of the one product is the worst for what is there before it. */
static void up(struct hc_check *check)
{
    struct row r = {.terms = 1, .code = {1.125, 0}, .tensor = {1, 1}};
    r.first[0] = worst_factor(check, 1.125F, 0);
    float product = 1.125F * r.first[0];
    r.first[1] = worst_factor(check, product, 1);
    product *= r.first[1];
    r.tensor[0] = worst_factor(check, product, 2);
    struct hc_call call = call_of(check, &r);
    if (hc_do(check, &call) == HC_OK)
        claim_near(check, "roundings up, one after the other", &call, 0.6);
}

/* fl(P dA) overflows before dB makes it small: the contract says infinity, and no bound says
   less. */
static void beyond(struct hc_check *check)
{
    const struct row r = {.terms = 1, .first = {0x1p127F, 0x1p-100F}, .code = {2, 0}};
    struct hc_call call = call_of(check, &r);
    if (hc_do(check, &call) != HC_OK)
        return;
    struct hc_accumulator sums = hc_backend_accumulator(hc_check_backend(check), &call);
    struct hc_element e = {&call, HC_GEMM_Q_OUT, 0};
    struct hc_exact want = hc_reference_value(&call, HC_GEMM_Q_OUT, 0);
    if (hc_check_backend(check)->free_order)
        return;
    hc_claim_value(check, "a product with a scale beyond fp32", (double)INFINITY,
                   hc_tensor_get(&call.out[HC_GEMM_Q_OUT], 0));
    hc_claim_true(check, "it has no bound", isinf(hc_bound(&e, &sums, &want)));
}

static void near_their_bound(struct hc_check *check)
{
    lost(check);
    up(check);
    beyond(check);
}

static const struct hc_case cases[] = {
    {"products/codes-scale-without-a-sign",
     "each of the 256 bytes of a scale in ue4m3 is the number of its lower seven bits",
     "src/op/quant.h; src/num/format.c", .level = HC_QUICK, .run = any_byte_as_a_scale},
    {"products/every-product-of-codes",
     "each product of two codes is exact, in every pair of formats that go together",
     SPECIFICATIONS, .level = HC_QUICK, .run = every_product},
    {"products/scales-as-they-are",
     "a scale of 0 takes its piece away, one that is NaN or infinite decides the sum",
     "src/op/quant.h", .level = HC_QUICK, .run = scales_as_they_are},
    {"products/codes-without-terms",
     "a product of quantised matrices without terms is C, whatever the factors are",
     "src/op/quant.h", .level = HC_QUICK, .run = no_terms},
    {"products/fp8-accumulator-13-bits",
     "sums of positive products of fp8 keep their size where they are promoted every 128",
     "deepseek-ai/DeepGEMM issue 37, 'only uses the highest 14 bits', "
     "https://github.com/deepseek-ai/DeepGEMM/issues/37; deepseek-ai/DeepSeek-V3 issue 197; "
     "src/op/quant.h",
     .level = HC_STANDARD, .run = positive_terms},
    {"products/codes-near-their-bound",
     "scales, pieces, factors and C can be so bad that the error of gemm_q is near its bound, from "
     "the smallest numbers of fp32 to the largest",
     "src/op/quant.h; the proof in src/check/bound/gemm.c", .level = HC_QUICK,
     .run = near_their_bound},
};

HC_CASES(products_codes, cases);
