/* stochastic_cast at a size that models have: it has no generated cases among size/, since each of
   its elements has random bits of its own. A short call is judged element by element. A long one
   repeats it, and must give the same bits in each round and in what is left of the last one. */
#include "case.h"

enum { SHORT = 1021, LONG = (1 << 20) + 1027, BITS = 8 };

static struct hc_call of_length(struct hc_check *check, enum hc_format to, int64_t n)
{
    return (struct hc_call){.op = HC_OP_stochastic_cast,
                            .in = {[HC_STOCHASTIC_X] = hc_check_vector(check, HC_FP32, n),
                                   hc_check_vector(check, HC_I32, n)},
                            .out = {[HC_STOCHASTIC_OUT] = hc_check_vector(check, to, n)},
                            .params.stochastic_cast = {BITS, true}};
}

static void repeated(struct hc_check *check)
{
    struct hc_call few = of_length(check, HC_E4M3, SHORT);
    struct hc_call many = of_length(check, HC_E4M3, LONG);
    struct hc_comparisons all = {.what = "elements of a long vector"};
    const uint32_t *x = few.in[HC_STOCHASTIC_X].data;
    const uint32_t *words = few.in[HC_STOCHASTIC_WORDS].data;
    for (int64_t i = 0; i < SHORT; i++) {
        uint64_t seed = hc_check_seed(check);
        hc_tensor_set(&few.in[HC_STOCHASTIC_X], i, 3 * hc_random_normal(seed, 1, (uint64_t)i));
        hc_tensor_set(&few.in[HC_STOCHASTIC_WORDS], i,
                      (double)(hc_random(seed, 2, (uint64_t)i) >> 40));
    }
    for (int64_t i = 0; i < LONG; i++) {
        ((uint32_t *)many.in[HC_STOCHASTIC_X].data)[i] = x[i % SHORT];
        ((uint32_t *)many.in[HC_STOCHASTIC_WORDS].data)[i] = words[i % SHORT];
    }
    if (hc_claim_call(check, &few) != HC_OK || hc_do(check, &many) != HC_OK)
        return;
    for (int64_t i = 0; i < LONG; i++) {
        uint64_t want = hc_tensor_bits(&few.out[HC_STOCHASTIC_OUT], i % SHORT);
        uint64_t got = hc_tensor_bits(&many.out[HC_STOCHASTIC_OUT], i);
        all.checked++;
        if (want != got)
            hc_comparisons_wrong(&all, "element %lld: want %llx, got %llx", (long long)i,
                                 (unsigned long long)want, (unsigned long long)got);
    }
    hc_claim_comparisons(check, &all);
}

static const struct hc_case cases[] = {
    {.name = "rounding/stochastic-past-2^20",
     .title = "2^20 and 1027 elements are rounded with their random bits as a few are",
     .source = "src/op/quant.h, stochastic_cast",
     .run = repeated},
};

HC_CASES(rounding_long, cases);
