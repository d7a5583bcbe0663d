#include "kernels/host/testing.h"

static const enum hc_format h[] = {HC_FP32, HC_BF16, HC_FP16};
static const int64_t lengths[] = {0, 1, 15, 16, 17, 65, 130, 2049, 20011};

/* Random bits; a second moment gets no sign. */
static struct hc_tensor state(enum hc_format format, int64_t n, uint64_t stream, bool positive)
{
    struct hc_tensor t = random_bits(hc_tensor1(format, n, NULL), stream);
    uint64_t sign = format == HC_FP32 ? 0x80000000u : 0x8000u;
    for (int64_t i = 0; positive && i < n; i++)
        hc_tensor_set_bits(&t, i, hc_tensor_bits(&t, i) & ~sign);
    return t;
}

static struct hc_tensor hyper(void)
{
    double values[] = {3e-3, 0.9, 7};
    return vector_of(HC_FP32, 3, values);
}

static struct hc_call sgd(int64_t n, enum hc_format w, enum hc_format g, int variant)
{
    struct hc_call call = {
        .op = HC_OP_sgd,
        .in = {state(w, n, 1, false), state(g, n, 2, false), state(w, n, 3, false), hyper()},
        .out = {made(hc_tensor1(w, n, NULL)), made(hc_tensor1(w, n, NULL))},
        .params.sgd = {.weight_decay = variant & 1 ? 0.01 : 0,
                       .decoupled = variant & 2,
                       .nesterov = variant & 4,
                       .rate_inside = variant & 8}};
    return call;
}

static struct hc_call adam(enum hc_op op, int64_t n, enum hc_format w, enum hc_format g,
                           int variant)
{
    struct hc_call call = {.op = op,
                           .in = {state(w, n, 1, false), state(g, n, 2, false),
                                  state(w, n, 3, false), state(w, n, 4, true), hyper()},
                           .out = {made(hc_tensor1(w, n, NULL)), made(hc_tensor1(w, n, NULL)),
                                   made(hc_tensor1(w, n, NULL))},
                           .params.adam = {.beta2 = 0.99,
                                           .eps = 1e-4,
                                           .weight_decay = variant & 1 ? 0.01 : 0,
                                           .eps_inside = variant & 2}};
    return call;
}

Test(optimizer, sgd_has_the_bits_of_exact)
{
    for (int f = 0; f < 27; f++)
        for (size_t l = 0; l < sizeof lengths / sizeof lengths[0]; l++) {
            struct hc_call call = sgd(lengths[l], h[f / 9], h[f / 3 % 3], (f + (int)l) % 16);
            call.params.sgd.arithmetic = h[f % 3];
            assert_exact_bits(&call);
        }
}

Test(optimizer, adam_and_adamw_have_the_bits_of_exact)
{
    for (int f = 0; f < 27; f++)
        for (size_t l = 0; l < sizeof lengths / sizeof lengths[0]; l++) {
            enum hc_op op = (f + (int)l) % 2 ? HC_OP_adam : HC_OP_adamw;
            struct hc_call call =
                adam(op, lengths[l], h[f / 9], h[f / 3 % 3], (f + (int)l / 2) % 4);
            call.params.adam.arithmetic = h[f % 3];
            assert_exact_bits(&call);
        }
}

/* 16-bit arithmetic has the weights' format. */
Test(optimizer, compensated_updates_have_the_bits_of_exact)
{
    for (int f = 0; f < 8; f++)
        for (size_t l = 0; l < sizeof lengths / sizeof lengths[0]; l++) {
            enum hc_format w = h[1 + f % 2];
            enum hc_format arithmetic = f / 2 % 2 ? w : HC_FP32;
            int64_t n = lengths[l];
            struct hc_call adamw =
                adam(f & 4 ? HC_OP_adam : HC_OP_adamw, n, w, h[(size_t)f % 3], (int)l % 4);
            adamw.params.adam.arithmetic = arithmetic;
            adamw.in[HC_ADAM_COMPENSATION] = state(w, n, 5, false);
            adamw.out[HC_ADAM_NEW_COMPENSATION] = made(hc_tensor1(w, n, NULL));
            assert_exact_bits(&adamw);
            struct hc_call momentum = sgd(n, w, h[(size_t)f % 3], (f + (int)l) % 16);
            momentum.params.sgd.arithmetic = arithmetic;
            momentum.in[HC_SGD_COMPENSATION] = state(w, n, 5, false);
            momentum.out[HC_SGD_NEW_COMPENSATION] = made(hc_tensor1(w, n, NULL));
            assert_exact_bits(&momentum);
        }
}

Test(optimizer, stochastic_weights_have_the_bits_of_exact)
{
    for (size_t l = 0; l < sizeof lengths / sizeof lengths[0]; l++)
        for (int k = 0; k < 2; k++) {
            struct hc_stochastic s = {true, 0x123456789abcdef0u, k ? 0 : 0x7fffffc0};
            struct hc_call adamw = adam(HC_OP_adamw, lengths[l], HC_BF16, h[l % 3], 1);
            adamw.params.adam.stochastic = s;
            adamw.params.adam.arithmetic = HC_FP32;
            assert_exact_bits(&adamw);
            struct hc_call momentum = sgd(lengths[l], HC_BF16, h[l % 3], 3);
            momentum.params.sgd.stochastic = s;
            momentum.params.sgd.arithmetic = HC_FP32;
            assert_exact_bits(&momentum);
        }
}

Test(optimizer, state_may_be_updated_in_place)
{
    for (int f = 0; f < 3; f++) {
        struct hc_call call = adam(HC_OP_adamw, 20011, h[f], HC_FP16, 1);
        struct hc_tensor want[HC_MAX_OUT];
        struct hc_queue *queue = queue_of(2, "portable");
        queue->loops = hc_host_loops_best();
        call.params.adam.arithmetic = HC_FP32;
        want_exact(&call, want);
        call.out[HC_ADAM_NEW_W] = call.in[HC_ADAM_W];
        call.out[HC_ADAM_NEW_M] = call.in[HC_ADAM_M];
        call.out[HC_ADAM_NEW_V] = call.in[HC_ADAM_V];
        call_host(queue, &call);
        assert_same(&call, want, "in place");
        hc_backend_by_name("host")->close(queue);
    }
}

Test(optimizer, a_step_with_something_found_copies_the_state)
{
    double found = 1;
    struct hc_call call = adam(HC_OP_adam, 3000, HC_FP16, HC_FP16, 0);
    call.in[HC_ADAM_FOUND_INF] = vector_of(HC_FP32, 1, &found);
    call.params.adam.arithmetic = HC_FP16;
    assert_exact_bits(&call);
}
