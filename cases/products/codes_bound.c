/* Products of codes whose roundings are as bad as they can be. The order of what stands around the
   sums is stated (src/op/quant.h), so each rounding can be led to nearly half an ulp, and all to
   one side: the error comes near its bound. A bound that is much too wide, or infinite where fp32
   is not left, fails here, as a result beyond it does. */
#include <math.h>

#include "cases/fixture/quantised.h"
#include "check/bound/bound.h"

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
    {.name = "products/codes-near-their-bound",
     .title = "scales, pieces, factors and C can be so bad that the error of gemm_q is near its "
              "bound, from the smallest numbers of fp32 to the largest",
     .source = "src/op/quant.h; the proof in src/check/bound/quant_gemm.c",
     .level = HC_QUICK,
     .run = near_their_bound},
};

HC_CASES(products_codes_bound, cases);
