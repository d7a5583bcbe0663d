/* Sums with a 16-bit accumulator. The order is 0, 1, 2, ..., and every product and partial sum is
   rounded into the accumulator's format, so the result is settled to the bit. The sum is written
   out here from the contract. A product or a sum of two 16-bit numbers is exact in fp64 if they lie
   less than 2^30 apart, as these do, and hc_round is the definition of the formats. */
#include "case.h"

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

static const struct hc_case cases[] = {
    {.name = "products/sums-in-sixteen-bits",
     .title = "sums in half and bf16 round every product and every partial sum, in order",
     .source = "contract in src/op/reduction.h",
     .level = HC_QUICK,
     .run = by_definition},
};

HC_CASES(products_narrow, cases);
