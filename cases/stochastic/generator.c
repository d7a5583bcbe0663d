/* The generator of stochastic rounding and crops: its published answers, and each backend's weights
   against the generator of cases/fixture/philox.c, at counters beyond 2^32 too. */
#include <math.h>
#include <stdio.h>

#include "cases/fixture/defined.h"
#include "cases/fixture/philox.h"

static const char kat[] = "Random123's kat_vectors, the rows of philox4x32 with 10 rounds "
                          "(github.com/DEShawResearch/random123, tests/kat_vectors at 9545ff6)";

static const struct {
    uint32_t counter[4];
    uint32_t key[2];
    uint32_t answer[4];
} answers[] = {
    {{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
    {{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
     {0xffffffff, 0xffffffff},
     {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
    {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
     {0xa4093822, 0x299f31d0},
     {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
};

/* Both the generator that the kernels share and the one that the cases compare it with. */
static void published(struct hc_check *check)
{
    for (size_t row = 0; row < sizeof answers / sizeof answers[0]; row++) {
        struct hc_philox shared = hc_philox(answers[row].key, answers[row].counter);
        uint32_t word[4];
        hc_case_philox(answers[row].counter, answers[row].key, word);
        for (int i = 0; i < 4; i++) {
            hc_claim_bits(check, "a word of num/rng.h", HC_FP32, answers[row].answer[i],
                          shared.word[i]);
            hc_claim_bits(check, "a word of cases/fixture/philox.c", HC_FP32,
                          answers[row].answer[i], word[i]);
        }
    }
    uint64_t stream = 0x0370734413198a2e;
    uint64_t bits = hc_random(0x299f31d0a4093822, stream, 0x85a308d3243f6a88);
    hc_claim_bits(check, "64 bits of all words", HC_FP64, 0x94fdccebd16cfe09, bits);
}

/* Seeds, steps and first elements that fill the counter's words in every way. */
static const struct {
    uint64_t seed;
    uint32_t t;
    int64_t first;
} places[] = {
    {1, 1, 0},
    {0xfedcba9876543210, 2, 64},
    {0xffffffff00000000, 65536, 6400},
    {7, 65537, (int64_t)1 << 34},
    {0x100000000, 0x1000000, ((int64_t)1 << 34) - 128},
    {0x8000000000000001, 0xffffff, ((int64_t)1 << 40) + 64},
    {42, 3, ((int64_t)1 << 62)},
};

enum { PLACES = sizeof places / sizeof places[0], N = 256 };

/* With w = 1, a velocity of 0 and a rate of 1 the fp32 weight is 1 + f 2^-23; it goes to 1 + 2^-7
   if f plus the 16 random bits reaches 2^16. f, from 0 to 2^16, is chosen so that it just does or
   just does not: each element reveals all 16 bits. */
static void tight(struct hc_check *check)
{
    for (int p = 0; p < PLACES; p++)
        for (uint32_t does = 0; does < 2; does++) {
            struct hc_call call = {.op = HC_OP_sgd, .params.sgd = {.arithmetic = HC_FP32}};
            call.params.sgd.stochastic =
                (struct hc_stochastic){true, places[p].seed, places[p].first};
            call.in[HC_SGD_W] = hc_check_vector(check, HC_BF16, N);
            call.in[HC_SGD_G] = hc_check_vector(check, HC_FP32, N);
            call.in[HC_SGD_MOMENTUM] = hc_check_vector(check, HC_FP32, N);
            call.in[HC_SGD_HYPER] = hc_hyper_tensor(check, 1, 0, places[p].t);
            call.out[HC_SGD_NEW_W] = hc_check_vector(check, HC_BF16, N);
            call.out[HC_SGD_NEW_MOMENTUM] = call.in[HC_SGD_MOMENTUM];
            for (int64_t i = 0; i < N; i++) {
                uint64_t element = (uint64_t)(places[p].first + i);
                uint32_t bits = hc_case_round_bits(places[p].seed, places[p].t, element);
                hc_tensor_set(&call.in[HC_SGD_W], i, 1);
                hc_tensor_set(&call.in[HC_SGD_G], i, -ldexp(65535 + does - bits, -23));
            }
            if (hc_do(check, &call) != HC_OK)
                return;
            for (int64_t i = 0; i < N; i++) {
                hc_claim_bits(check, does ? "a weight that just goes up" : "that just does not",
                              HC_BF16, does ? 0x3f81 : 0x3f80,
                              hc_tensor_bits(&call.out[HC_SGD_NEW_W], i));
            }
        }
}

static uint64_t rounded(double w, uint32_t bits)
{
    double most = ldexp(1, 128);
    int e;
    if (isnan(w))
        return 0x7fc0;
    (void)frexp(w, &e);
    double step = ldexp(1, (e < -125 ? -125 : e) - 8); /* between neighbours of bf16 */
    double down = floor(fabs(w) / step);
    double up = down + ((fabs(w) / step - down) * 65536 + bits >= 65536);
    return hc_encode(HC_BF16, copysign(up * step >= most ? (double)INFINITY : up * step, w), 0,
                     HC_NEAREST);
}

/* The weight by definition, then up or down as the generator says, for Adam and AdamW in each
   order. */
static void adams(struct hc_check *check)
{
    for (int p = 0; p < PLACES; p++)
        for (int order = 0; order < HC_ORDER_COUNT; order++) {
            struct hc_call call = {
                .op = p % 2 ? HC_OP_adam : HC_OP_adamw,
                .params.adam = {.beta2 = 0.99,
                                .eps = 1e-8,
                                .weight_decay = 1e-2,
                                .order = (enum hc_adam_order)order,
                                .arithmetic = HC_FP32,
                                .stochastic = {true, places[p].seed, places[p].first}}};
            struct hc_defined x[N];
            for (int s = 0; s < 4; s++) {
                call.in[s] = hc_check_vector(check, s == 3 ? HC_FP32 : HC_BF16, N);
                for (int64_t i = 0; i < N; i++)
                    hc_tensor_set(
                        &call.in[s], i,
                        fabs(hc_random_normal(hc_check_seed(check), (uint64_t)s, (uint64_t)i)));
            }
            call.in[HC_ADAM_HYPER] =
                hc_hyper_tensor(check, (double)0.01F, (double)0.9F, places[p].t);
            call.out[HC_ADAM_NEW_W] = hc_check_vector(check, HC_BF16, N);
            call.out[HC_ADAM_NEW_M] = call.in[HC_ADAM_M];
            call.out[HC_ADAM_NEW_V] = call.in[HC_ADAM_V];
            struct hc_defined_step step = hc_defined_step(&call);
            for (int64_t i = 0; i < N; i++) {
                x[i] = (struct hc_defined){hc_tensor_get(&call.in[HC_ADAM_W], i),
                                           hc_tensor_get(&call.in[HC_ADAM_G], i),
                                           hc_tensor_get(&call.in[HC_ADAM_M], i),
                                           hc_tensor_get(&call.in[HC_ADAM_V], i), 0};
                hc_defined_run(&call, &step, &x[i]);
            }
            if (hc_do(check, &call) != HC_OK)
                return;
            for (int64_t i = 0; i < N; i++) {
                uint64_t element = (uint64_t)(places[p].first + i);
                uint32_t bits = hc_case_round_bits(places[p].seed, places[p].t, element);
                hc_claim_bits(check, "w of Adam", HC_BF16, rounded(x[i].w, bits),
                              hc_tensor_bits(&call.out[HC_ADAM_NEW_W], i));
            }
        }
}

/* An fp32 NaN of all ones except its sign becomes -0 if random bits are added to it unchecked. */
static void nans(struct hc_check *check)
{
    static const uint32_t bits[] = {0x7fffffff, 0xffffffff, 0x7fffff01, 0xffffff80, 0x7fc00000};
    struct hc_call call = {.op = HC_OP_sgd, .params.sgd = {.arithmetic = HC_FP32}};
    call.params.sgd.stochastic = (struct hc_stochastic){true, hc_check_seed(check), 0};
    call.in[HC_SGD_W] = hc_check_vector(check, HC_BF16, N);
    call.in[HC_SGD_G] = hc_check_vector(check, HC_FP32, N);
    call.in[HC_SGD_MOMENTUM] = hc_check_vector(check, HC_FP32, N);
    call.in[HC_SGD_HYPER] = hc_hyper_tensor(check, 1, 0, 1);
    call.out[HC_SGD_NEW_W] = hc_check_vector(check, HC_BF16, N);
    call.out[HC_SGD_NEW_MOMENTUM] = call.in[HC_SGD_MOMENTUM];
    for (int64_t i = 0; i < N; i++) {
        hc_tensor_set(&call.in[HC_SGD_W], i, 1);
        hc_tensor_set_bits(&call.in[HC_SGD_G], i, bits[i % 5]);
    }
    if (hc_do(check, &call) != HC_OK)
        return;
    for (int64_t i = 0; i < N; i++)
        hc_claim_true(check, "a NaN stays one", isnan(hc_tensor_get(&call.out[HC_SGD_NEW_W], i)));
}

static const struct hc_case cases[] = {
    {.name = "stochastic/generator-published-answers",
     .title = "Philox4x32-10 gives the published answers, as the kernels have it and as the cases "
              "have it",
     .source = kat,
     .level = HC_QUICK,
     .once = true,
     .run = published},
    {.name = "stochastic/every-bit-at-large-counters",
     .title =
         "a bf16 weight goes up just where its 16 random bits say, for elements, steps and seeds "
         "that fill every word of the counter and the key",
     .source = kat,
     .level = HC_QUICK,
     .run = tight},
    {.name = "stochastic/nan-of-any-payload-stays",
     .title =
         "a weight whose gradient is NaN becomes NaN, whatever the NaN's bits and the random ones",
     .source =
         "pytorch/ao torchao/optim/quant_utils.py, _fp32_to_bf16_sr, whose NaNs can carry into "
         "the sign",
     .level = HC_QUICK,
     .run = nans},
    {.name = "stochastic/adam-at-large-counters",
     .title = "Adam's weights, by definition, are rounded up just where their random bits say, in "
              "every order of roundings",
     .source = kat,
     .run = adams},
};

HC_CASES(stochastic_generator, cases);
