/* Stochastic rounding and its random numbers. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cases/fixture/defined.h"
#include "cases/fixture/philox.h"
#include "num/stochastic.h"

/* Stochastic rounding of bf16 weights. The weights move by SGD without momentum at a rate of 1, so
   that the fp32 weight is w - g: with w = 1 and g = -f 2^-23 it lies f 65536ths of the way from 1
   to the next bf16 number. */

enum { N = 65536, DOWN = 0x3f80, UP = 0x3f81 };

static const char ours[] = "src/num/stochastic.h; Salmon, Moraes, Dror, Shaw, 'Parallel random "
                           "numbers: as easy as 1, 2, 3', SC 2011";
static const char torchao[] = "pytorch/ao torchao/optim/quant_utils.py, _fp32_to_bf16_sr; arXiv "
                              "2010.06192, 'Revisiting BFloat16 Training'";

/* The random number of element n at step t, from the words of the counter (block and lane, t,
   "ROUN"). */
static uint32_t random_of(uint64_t seed, uint32_t t, uint64_t n)
{
    uint64_t word_index = n / 64 * 16 + n % 16;
    const uint32_t key[2] = {(uint32_t)seed, (uint32_t)(seed >> 32)};
    const uint32_t counter[4] = {(uint32_t)word_index, (uint32_t)(word_index >> 32), t, 0x524f554e};
    return hc_philox(key, counter).word[n / 16 % 4] >> 16;
}

/* N weights: the bits that they become. */
struct weights {
    struct hc_check *check;
    uint16_t *w;
    float *g;
    float *v;
    uint16_t *out;
};

static struct weights weights_new(struct hc_check *check)
{
    struct weights s = {check, hc_check_memory(check, N * sizeof(uint16_t)),
                        hc_check_memory(check, N * sizeof(float)),
                        hc_check_memory(check, N * sizeof(float)),
                        hc_check_memory(check, N * sizeof(uint16_t))};
    return s;
}

/* The weights from `from` on. */
static bool step(const struct weights *s, uint64_t seed, float t, int64_t from, int64_t n)
{
    struct hc_call call = {
        .op = HC_OP_sgd,
        .params.sgd = {.arithmetic = HC_FP32,
                       .stochastic = {.on = true, .seed = seed, .first = from}},
    };
    memset(s->v, 0, N * sizeof *s->v);
    call.in[HC_SGD_W] = hc_tensor1(HC_BF16, n, s->w + from);
    call.in[HC_SGD_G] = hc_tensor1(HC_FP32, n, s->g + from);
    call.in[HC_SGD_MOMENTUM] = call.out[HC_SGD_NEW_MOMENTUM] = hc_tensor1(HC_FP32, n, s->v);
    call.in[HC_SGD_HYPER] = hc_hyper_tensor(s->check, 1, 0, t);
    call.out[HC_SGD_NEW_W] = hc_tensor1(HC_BF16, n, s->out + from);
    return hc_do(s->check, &call) == HC_OK;
}

/* All weights 1 or -1, f 65536ths from there away from zero. */
static void all_at(const struct weights *s, uint32_t f, bool negative)
{
    for (int i = 0; i < N; i++) {
        s->w[i] = (uint16_t)(negative ? DOWN | 0x8000 : DOWN);
        s->g[i] = (negative ? 1.0F : -1.0F) * (float)f * 0x1p-23F;
    }
}

/* By 2 exp(-2 s^2 / n) <= 1e-9 (Hoeffding): how far the number of successes among n may be from its
   mean except for one seed in 1e9. */
static double spread(double n)
{
    return sqrt(n * log(2e9) / 2);
}

/* Every one of the 65536 distances occurs once. */
static void carries(struct hc_check *check)
{
    uint64_t seed = hc_check_seed(check);
    struct weights s = weights_new(check);
    struct hc_comparisons c = {.what = "weights", .checked = INT64_C(4) * N};
    for (uint32_t t = 1; t <= 4; t++) {
        for (uint32_t i = 0; i < N; i++) {
            s.w[i] = (uint16_t)(t % 2 ? DOWN : DOWN | 0x8000);
            s.g[i] = (t % 2 ? -1.0F : 1.0F) * (float)(i * 40503 % N) * 0x1p-23F;
        }
        if (!step(&s, seed, (float)t, 0, N))
            return;
        for (uint32_t i = 0; i < N; i++) {
            bool up = i * 40503 % N + random_of(seed, t, i) >= 65536;
            uint32_t want = s.w[i] + (uint32_t)up;
            if (s.out[i] != want)
                hc_comparisons_wrong(&c, "step %u, element %u: want 0x%04x, got 0x%04x",
                                     (unsigned)t, (unsigned)i, (unsigned)want, s.out[i]);
        }
    }
    hc_claim_comparisons(check, &c);
}

/* Claims about the function of the random number itself, which no op exposes. */
static void unbiased(struct hc_check *check)
{
    static const uint32_t highs[] = {0, 1, 0x007f, 0x3f80, 0x4123, 0x7f7f, 0x8000, 0xbf80, 0xff7f};
    struct hc_comparisons c = {.what = "weights"};
    for (size_t h = 0; h < sizeof highs / sizeof highs[0]; h++)
        for (uint32_t f = 0; f < 65536; f += f < 3 || f > 65530 ? 1 : 2731) {
            float x = hc_fp32_value(highs[h] << 16 | f);
            uint32_t away = 0;
            uint32_t other = 0;
            for (uint32_t random = 0; random < 65536; random++) {
                uint32_t got = hc_bf16_stochastic(x, random);
                away += got == highs[h] + 1;
                other += got != highs[h] && got != highs[h] + 1;
            }
            c.checked++;
            if (away != f || other > 0)
                hc_comparisons_wrong(&c,
                                     "%a: %u of 65536 go away from zero, want %u; %u go elsewhere",
                                     (double)x, (unsigned)away, (unsigned)f, (unsigned)other);
        }
    hc_claim_comparisons(check, &c);
}

static void as_often(struct hc_check *check)
{
    static const uint32_t distances[] = {0x10, 0x5555, 0x8000, 0xfff0};
    enum { STEPS = 2 };
    struct weights s = weights_new(check);
    for (size_t d = 0; d < sizeof distances / sizeof distances[0]; d++) {
        double want = (double)distances[d] * STEPS * N / 65536;
        int64_t up = 0;
        int64_t other = 0;
        all_at(&s, distances[d], d % 2);
        for (int t = 1; t <= STEPS; t++) {
            if (!step(&s, hc_check_seed(check), (float)t, 0, N))
                return;
            for (int i = 0; i < N; i++) {
                up += s.out[i] == s.w[i] + 1;
                other += s.out[i] != s.w[i] && s.out[i] != s.w[i] + 1;
            }
        }
        hc_say(check, "%5u / 65536 of the way: %lld of %d go there, %.0f expected",
               (unsigned)distances[d], (long long)up, STEPS * N, want);
        hc_claim_within(check, "how many go away from zero", want, (double)up,
                        spread((double)STEPS * N));
        hc_claim_value(check, "how many go elsewhere", 0, (double)other);
    }
}

static int64_t equal(const uint16_t *x, const uint16_t *y, int64_t n)
{
    int64_t count = 0;
    for (int64_t i = 0; i < n; i++)
        count += x[i] == y[i];
    return count;
}

/* At half of the way two independent decisions agree half of the time, and the pairs are
   independent. */
static void repeatable(struct hc_check *check)
{
    static const int apart[] = {1, 2, 16, 48, 64, 4096};
    uint64_t seed = hc_check_seed(check);
    struct weights s = weights_new(check);
    uint16_t *once = hc_check_memory(check, N * sizeof *once);
    all_at(&s, 0x8000, false);
    if (!step(&s, seed, 1, 0, N))
        return;
    memcpy(once, s.out, N * sizeof *once);
    for (size_t k = 0; k < sizeof apart / sizeof apart[0]; k++) {
        int64_t pairs = N - apart[k];
        hc_claim_within(check, "elements that decide as another", (double)pairs / 2,
                        (double)equal(once, once + apart[k], pairs), spread((double)pairs));
    }
    memset(s.out, 0, N * sizeof *s.out);
    if (!step(&s, seed, 1, 0, 640) || !step(&s, seed, 1, 640, N - 640))
        return;
    hc_claim_value(check, "the same again, in two calls", N, (double)equal(once, s.out, N));
    if (!step(&s, seed, 2, 0, N))
        return;
    hc_claim_within(check, "elements that decide as at the step before", N / 2.0,
                    (double)equal(once, s.out, N), spread(N));
    if (!step(&s, seed + 1, 1, 0, N))
        return;
    hc_claim_within(check, "elements that decide as under another seed", N / 2.0,
                    (double)equal(once, s.out, N), spread(N));
}

/* From the largest bf16 number halfway to 2^128, where fp32 still has numbers. */
static void ends(struct hc_check *check)
{
    struct weights s = weights_new(check);
    int64_t infinite = 0;
    int64_t wrong = 0;
    for (int i = 0; i < N; i++) {
        static const uint16_t w[4] = {0x7f7f, 0x7f80, 0xff80, 0x7fff};
        s.w[i] = w[i / 16 % 4];
        s.g[i] = w[i / 16 % 4] == 0x7f7f ? -0x1p119F : 0;
    }
    if (!step(&s, hc_check_seed(check), 1, 0, N))
        return;
    for (int i = 0; i < N; i++) {
        bool largest = s.w[i] == 0x7f7f;
        bool nan = s.w[i] == 0x7fff;
        infinite += largest && s.out[i] == 0x7f80;
        wrong += largest ? s.out[i] != 0x7f7f && s.out[i] != 0x7f80
                 : nan   ? (s.out[i] & 0x7fff) <= 0x7f80
                         : s.out[i] != s.w[i];
    }
    hc_claim_value(check, "infinities and NaNs that do not stay", 0, (double)wrong);
    hc_claim_within(check, "beyond the largest number: how many become infinite", N / 8.0,
                    (double)infinite, spread(N / 4.0));
}

/* The generator of stochastic rounding and crops: its published answers, and each backend's weights
   against the generator of cases/fixture/philox.c, at counters beyond 2^32 too. */

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

enum { PLACES = sizeof places / sizeof places[0], N_GENERATOR = 256 };

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
            call.in[HC_SGD_W] = hc_check_vector(check, HC_BF16, N_GENERATOR);
            call.in[HC_SGD_G] = hc_check_vector(check, HC_FP32, N_GENERATOR);
            call.in[HC_SGD_MOMENTUM] = hc_check_vector(check, HC_FP32, N_GENERATOR);
            call.in[HC_SGD_HYPER] = hc_hyper_tensor(check, 1, 0, places[p].t);
            call.out[HC_SGD_NEW_W] = hc_check_vector(check, HC_BF16, N_GENERATOR);
            call.out[HC_SGD_NEW_MOMENTUM] = call.in[HC_SGD_MOMENTUM];
            for (int64_t i = 0; i < N_GENERATOR; i++) {
                uint64_t element = (uint64_t)(places[p].first + i);
                uint32_t bits = hc_case_round_bits(places[p].seed, places[p].t, element);
                hc_tensor_set(&call.in[HC_SGD_W], i, 1);
                hc_tensor_set(&call.in[HC_SGD_G], i, -ldexp(65535 + does - bits, -23));
            }
            if (hc_do(check, &call) != HC_OK)
                return;
            for (int64_t i = 0; i < N_GENERATOR; i++) {
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
            struct hc_defined x[N_GENERATOR];
            for (int s = 0; s < 4; s++) {
                call.in[s] = hc_check_vector(check, s == 3 ? HC_FP32 : HC_BF16, N_GENERATOR);
                for (int64_t i = 0; i < N_GENERATOR; i++)
                    hc_tensor_set(
                        &call.in[s], i,
                        fabs(hc_random_normal(hc_check_seed(check), (uint64_t)s, (uint64_t)i)));
            }
            call.in[HC_ADAM_HYPER] =
                hc_hyper_tensor(check, (double)0.01F, (double)0.9F, places[p].t);
            call.out[HC_ADAM_NEW_W] = hc_check_vector(check, HC_BF16, N_GENERATOR);
            call.out[HC_ADAM_NEW_M] = call.in[HC_ADAM_M];
            call.out[HC_ADAM_NEW_V] = call.in[HC_ADAM_V];
            struct hc_defined_step step = hc_defined_step(&call);
            for (int64_t i = 0; i < N_GENERATOR; i++) {
                x[i] = (struct hc_defined){hc_tensor_get(&call.in[HC_ADAM_W], i),
                                           hc_tensor_get(&call.in[HC_ADAM_G], i),
                                           hc_tensor_get(&call.in[HC_ADAM_M], i),
                                           hc_tensor_get(&call.in[HC_ADAM_V], i), 0};
                hc_defined_run(&call, &step, &x[i]);
            }
            if (hc_do(check, &call) != HC_OK)
                return;
            for (int64_t i = 0; i < N_GENERATOR; i++) {
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
    call.in[HC_SGD_W] = hc_check_vector(check, HC_BF16, N_GENERATOR);
    call.in[HC_SGD_G] = hc_check_vector(check, HC_FP32, N_GENERATOR);
    call.in[HC_SGD_MOMENTUM] = hc_check_vector(check, HC_FP32, N_GENERATOR);
    call.in[HC_SGD_HYPER] = hc_hyper_tensor(check, 1, 0, 1);
    call.out[HC_SGD_NEW_W] = hc_check_vector(check, HC_BF16, N_GENERATOR);
    call.out[HC_SGD_NEW_MOMENTUM] = call.in[HC_SGD_MOMENTUM];
    for (int64_t i = 0; i < N_GENERATOR; i++) {
        hc_tensor_set(&call.in[HC_SGD_W], i, 1);
        hc_tensor_set_bits(&call.in[HC_SGD_G], i, bits[i % 5]);
    }
    if (hc_do(check, &call) != HC_OK)
        return;
    for (int64_t i = 0; i < N_GENERATOR; i++)
        hc_claim_true(check, "a NaN stays one", isnan(hc_tensor_get(&call.out[HC_SGD_NEW_W], i)));
}

static const struct hc_case cases[] = {
    {"stochastic/goes-where-its-random-number-says",
     "a weight f / 65536 of the way to its neighbour goes there where f + the element's random "
     "number of that step is 65536 or more, for every f",
     ours, .run = carries},
    {"stochastic/unbiased",
     "of the 65536 random numbers as many take a weight away from zero as the distance says: the "
     "mean is the fp32 weight",
     torchao, .once = true, .run = unbiased},
    {"stochastic/as-often-as-the-distance-says",
     "how many of 131072 weights go to the farther neighbour is a binomial number (false alarm: "
     "one seed in 1e9)",
     torchao, .run = as_often},
    {"stochastic/repeatable",
     "the same bits again for a seed, also in two calls; elements, steps and seeds decide "
     "independently (false alarm of each: one seed in 1e9)",
     ours, .run = repeatable},
    {"stochastic/infinities-and-nans-stay",
     "infinities and NaNs stay; beyond the largest number the neighbour is the infinity", torchao,
     .run = ends},
    {"stochastic/generator-published-answers",
     "Philox4x32-10 gives the published answers, as the kernels have it and as the cases have it",
     kat, .level = HC_QUICK, .once = true, .run = published},
    {"stochastic/every-bit-at-large-counters",
     "a bf16 weight goes up just where its 16 random bits say, for elements, steps and seeds that "
     "fill every word of the counter and the key",
     kat, .level = HC_QUICK, .run = tight},
    {"stochastic/nan-of-any-payload-stays",
     "a weight whose gradient is NaN becomes NaN, whatever the NaN's bits and the random ones",
     "pytorch/ao torchao/optim/quant_utils.py, _fp32_to_bf16_sr, whose NaNs can carry into the "
     "sign",
     .level = HC_QUICK, .run = nans},
    {"stochastic/adam-at-large-counters",
     "Adam's weights, by definition, are rounded up just where their random bits say, in every "
     "order of roundings",
     kat, .run = adams},
};

HC_CASES(stochastic_rounding, cases);
