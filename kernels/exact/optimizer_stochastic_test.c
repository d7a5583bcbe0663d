/* AdamW with stochastic rounding of the weights. */
#include <math.h>

#include "kernels/exact/testing.h"
#include "num/stochastic.h"

enum { N = 500 };

/* Numbers from 2^-20 to 2^4, some zero, and of the weights and gradients one infinite. The second
   moments are positive. */
static struct hc_tensor filled(int slot)
{
    struct hc_tensor t = made(hc_tensor1(HC_BF16, N, NULL));
    for (int64_t i = 0; i < N; i++) {
        uint64_t bits = hc_random(17, (uint64_t)slot, (uint64_t)i);
        double size = ldexp(1 + (double)(bits & 255) / 256, (int)(bits >> 8 & 0xff) % 24 - 20);
        if (i % 50 == 7)
            size = 0;
        if (i == 11 && (slot == HC_ADAM_W || slot == HC_ADAM_G))
            size = (double)INFINITY;
        hc_tensor_set(&t, i, slot != HC_ADAM_V && bits >> 63 ? -size : size);
    }
    return t;
}

/* Rounded by the definition of num/stochastic.h, from the fp32 weight that the same step has. */
Test(optimizer, stochastic_weights_are_the_fp32_ones_rounded_and_parts_are_as_the_whole)
{
    static const double hyper[] = {0.1, 0.85, 2};
    struct hc_tensor w = filled(HC_ADAM_W);
    struct hc_tensor single = made(hc_tensor1(HC_FP32, N, NULL));
    for (int64_t i = 0; i < N; i++)
        hc_tensor_set(&single, i, hc_tensor_get(&w, i));
    struct hc_call call = {.op = HC_OP_adamw,
                           .in = {w, filled(HC_ADAM_G), filled(HC_ADAM_M), filled(HC_ADAM_V),
                                  vector_of(HC_FP32, HC_HYPER_COUNT, hyper)},
                           .out = {made(w), made(w), made(w)},
                           .params.adam = {.beta2 = 0.99,
                                           .eps = 1e-4,
                                           .weight_decay = 1e-2,
                                           .arithmetic = HC_FP32,
                                           .stochastic = {true, 99, 1280}}};
    call_exact(&call);
    struct hc_call wide = call;
    wide.in[HC_ADAM_W] = single;
    wide.out[HC_ADAM_NEW_W] = made(single);
    for (int s = HC_ADAM_M; s <= HC_ADAM_V; s++) { /* the contract wants the state in w's format */
        wide.in[s] = made(single);
        wide.out[HC_ADAM_NEW_M + s - HC_ADAM_M] = made(single);
        for (int64_t i = 0; i < N; i++)
            hc_tensor_set(&wide.in[s], i, hc_tensor_get(&call.in[s], i));
    }
    wide.params.adam.stochastic.on = false;
    call_exact(&wide);
    struct hc_call part = call;
    for (int s = HC_ADAM_W; s <= HC_ADAM_V; s++) {
        part.in[s].shape[0] = N - 128;
        part.in[s].data = (uint16_t *)part.in[s].data + 128;
    }
    for (int o = HC_ADAM_NEW_W; o <= HC_ADAM_NEW_V; o++)
        part.out[o] = made(part.in[HC_ADAM_W]);
    part.params.adam.stochastic.first += 128;
    call_exact(&part);
    for (int64_t i = 0; i < N; i++) {
        uint32_t random = hc_round_random(99, 2, (uint64_t)(1280 + i));
        uint64_t want =
            hc_bf16_stochastic((float)hc_tensor_get(&wide.out[HC_ADAM_NEW_W], i), random);
        cr_assert(same(HC_BF16, want, hc_tensor_bits(&call.out[HC_ADAM_NEW_W], i)), "[%ld]",
                  (long)i);
        if (i >= 128)
            cr_assert(same(HC_BF16, want, hc_tensor_bits(&part.out[HC_ADAM_NEW_W], i - 128)),
                      "[%ld]", (long)i);
    }
}
