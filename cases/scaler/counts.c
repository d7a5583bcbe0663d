/* What a scaler counts: at large counts, and after it was restored. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "case.h"
#include "cases/fixture/replay.h"

/* The ops that count steps, at large counts: the loss scale's rule, the rates of a step, and its
   row in the step log. Counts stay below 2^31; t is one of them, rounded to fp32. */

static const int32_t counts[] = {0,        1,        255,        65535,      65536,     65537,
                                 16777214, 16777215, 16777216,   16777217,   16777218,  33554433,
                                 33554435, 67108869, 0x3fffffff, 0x40000001, 0x7ffffffd};

enum { COUNTS = sizeof counts / sizeof counts[0] };

static struct hc_tensor all_at(struct hc_check *check, int32_t count)
{
    struct hc_tensor t = hc_check_vector(check, HC_I32, HC_COUNTS);
    for (int i = 0; i < HC_COUNTS; i++)
        hc_tensor_set(&t, i, i == HC_COUNT_HELD_BACK || i == HC_COUNT_GAVE_UP ? 0 : count);
    return t;
}

static double count(const struct hc_tensor *t, int i)
{
    return hc_tensor_get(t, i);
}

/* A rule that skips and halves, and doubles after 2,000 clean steps. */
static void rule(struct hc_check *check)
{
    for (int c = 0; c < COUNTS; c++)
        for (int found = 0; found < 2; found++) {
            struct hc_call call = {.op = HC_OP_scaler_update,
                                   .params.scaler = {.growth = 2,
                                                     .backoff = 0.5F,
                                                     .min_checked_scale = -1,
                                                     .when = HC_WHEN_MULTIPLE,
                                                     .interval = 2000,
                                                     .skip_on_overflow = true}};
            call.in[HC_SCALER_SCALE] = hc_check_vector(check, HC_FP32, 1);
            call.in[HC_SCALER_COUNTS] = all_at(check, counts[c]);
            call.in[HC_SCALER_FOUND_INF] = hc_check_vector(check, HC_FP32, 1);
            call.out[HC_SCALER_NEW_SCALE] = hc_check_vector(check, HC_FP32, 1);
            call.out[HC_SCALER_NEW_COUNTS] = hc_check_vector(check, HC_I32, HC_COUNTS);
            hc_tensor_set(&call.in[HC_SCALER_SCALE], 0, 1024);
            hc_tensor_set(&call.in[HC_SCALER_FOUND_INF], 0, found);
            if (hc_do(check, &call) != HC_OK)
                return;
            const struct hc_tensor *got = &call.out[HC_SCALER_NEW_COUNTS];
            double n = counts[c];
            bool due = !found && (counts[c] + 1) % 2000 == 0;
            hc_claim_value(check, "steps", n + 1, count(got, HC_COUNT_STEPS));
            hc_claim_value(check, "found", n + found, count(got, HC_COUNT_FOUND));
            hc_claim_value(check, "skipped", n + found, count(got, HC_COUNT_SKIPPED));
            hc_claim_value(check, "taken", n + !found, count(got, HC_COUNT_TAKEN));
            hc_claim_value(check, "clean", found ? 0 : n + 1, count(got, HC_COUNT_CLEAN));
            hc_claim_value(check, "scale",
                           found ? 512
                           : due ? 2048
                                 : 1024,
                           hc_tensor_get(&call.out[HC_SCALER_NEW_SCALE], 0));
        }
}

/* The scale grows at the interval and not a step before or after it, by each of the three ways to
   count. */
static void growth(struct hc_check *check)
{
    static const int32_t intervals[] = {1, 2, 2000, 65536, 16777217};
    for (int i = 0; i < 5; i++)
        for (int when = 0; when < 3; when++)
            for (int beside = -2; beside <= 1; beside++) {
                int32_t clean = intervals[i] + beside;
                struct hc_call call = {.op = HC_OP_scaler_update,
                                       .params.scaler = {.growth = 2,
                                                         .backoff = 0.5F,
                                                         .min_checked_scale = -1,
                                                         .when = (enum hc_growth_when)when,
                                                         .interval = intervals[i],
                                                         .skip_on_overflow = true}};
                if (clean < 0)
                    continue;
                call.in[HC_SCALER_SCALE] = hc_check_vector(check, HC_FP32, 1);
                call.in[HC_SCALER_COUNTS] = hc_check_vector(check, HC_I32, HC_COUNTS);
                call.out[HC_SCALER_NEW_SCALE] = hc_check_vector(check, HC_FP32, 1);
                call.out[HC_SCALER_NEW_COUNTS] = hc_check_vector(check, HC_I32, HC_COUNTS);
                hc_tensor_set(&call.in[HC_SCALER_SCALE], 0, 8);
                hc_tensor_set(&call.in[HC_SCALER_COUNTS], HC_COUNT_CLEAN, clean);
                if (hc_do(check, &call) != HC_OK)
                    return;
                int32_t n = clean + 1;
                bool due = when == HC_WHEN_EQUAL     ? n == intervals[i]
                           : when == HC_WHEN_REACHED ? n >= intervals[i]
                                                     : n % intervals[i] == 0;
                hc_claim_value(check, "scale beside the interval", due ? 16 : 8,
                               hc_tensor_get(&call.out[HC_SCALER_NEW_SCALE], 0));
            }
}

/* Row r of a table holds r + 1 and (r + 1) / 1024. */
static void rates(struct hc_check *check)
{
    static const int64_t lengths[] = {1, 2, 7, 64};
    for (int l = 0; l < 4; l++)
        for (int c = 0; c < COUNTS + 5; c++) {
            /* The first row, one in the middle, the last, and two beyond it. */
            const int64_t near[] = {0, lengths[l] / 2, lengths[l] - 1, lengths[l], lengths[l] + 1};
            int32_t step = c < COUNTS ? counts[c] : (int32_t)near[c - COUNTS];
            int64_t row = step < lengths[l] ? step : lengths[l] - 1;
            struct hc_call call = {.op = HC_OP_rates};
            call.in[HC_RATES_TABLE] =
                hc_tensor2(HC_FP32, lengths[l], 2, hc_check_memory(check, sizeof(float) * 2 * 64));
            call.in[HC_RATES_COUNTS] = hc_check_vector(check, HC_I32, HC_COUNTS);
            call.out[HC_RATES_HYPER] = hc_check_vector(check, HC_FP32, HC_HYPER_COUNT);
            for (int64_t r = 0; r < lengths[l]; r++) {
                hc_tensor_set(&call.in[HC_RATES_TABLE], 2 * r, (double)r + 1);
                hc_tensor_set(&call.in[HC_RATES_TABLE], 2 * r + 1, ((double)r + 1) / 1024);
            }
            hc_tensor_set(&call.in[HC_RATES_COUNTS], HC_COUNT_STEPS, step);
            hc_tensor_set(&call.in[HC_RATES_COUNTS], HC_COUNT_TAKEN, step);
            if (hc_do(check, &call) != HC_OK)
                return;
            hc_claim_value(check, "rate of a step", (double)(row + 1),
                           hc_tensor_get(&call.out[HC_RATES_HYPER], HC_HYPER_LR));
            hc_claim_value(check, "beta1 of a step", (double)(row + 1) / 1024,
                           hc_tensor_get(&call.out[HC_RATES_HYPER], HC_HYPER_BETA1));
            hc_claim_value(check, "t of a step, rounded once", hc_round(HC_FP32, (double)step + 1),
                           hc_tensor_get(&call.out[HC_RATES_HYPER], HC_HYPER_STEP));
        }
}

static void step_log(struct hc_check *check)
{
    enum { ROWS = 7 };
    for (int c = 0; c < COUNTS; c++) {
        struct hc_call call = {.op = HC_OP_step_log};
        float scalar = 77;
        call.in[HC_STEP_LOG_ROWS] =
            hc_tensor2(HC_FP32, ROWS, 4, hc_check_memory(check, sizeof(float) * 4 * ROWS));
        call.in[HC_STEP_LOG_COUNTS] = hc_check_vector(check, HC_I32, HC_COUNTS);
        call.in[HC_STEP_LOG_SCALARS + 1] = hc_tensor1(HC_FP32, 1, &scalar);
        call.out[HC_STEP_LOG_NEW_ROWS] =
            hc_tensor2(HC_FP32, ROWS, 4, hc_check_memory(check, sizeof(float) * 4 * ROWS));
        for (int64_t i = 0; i < 4 * ROWS; i++)
            hc_tensor_set(&call.in[HC_STEP_LOG_ROWS], i, (double)i + 1);
        hc_tensor_set(&call.in[HC_STEP_LOG_COUNTS], HC_COUNT_STEPS, counts[c]);
        if (hc_do(check, &call) != HC_OK)
            return;
        for (int64_t i = 0; i < 4 * ROWS; i++) {
            bool mine = i / 4 == counts[c] % ROWS;
            hc_claim_value(check, "an entry of the step log",
                           mine ? (i % 4 == 1 ? 77 : 0) : (double)i + 1,
                           hc_tensor_get(&call.out[HC_STEP_LOG_NEW_ROWS], i));
        }
    }
}

static const char contract[] = "contract in src/op/control.h";

/* Counts beyond 2^24, where fp32 does not hold every integer. Adam's t is the count of steps taken
   plus one, rounded once; the counts themselves go on one by one. */

static const int32_t counts_large[] = {0,
                                       65535,
                                       (1 << 24) - 2,
                                       (1 << 24) - 1,
                                       1 << 24,
                                       (1 << 24) + 1,
                                       (1 << 24) + 2,
                                       (1 << 24) + 3,
                                       (1 << 25) + 1,
                                       (1 << 25) + 3,
                                       (1 << 30) + 33,
                                       INT32_MAX - 2};

/* The hyperparameters of a step after that many. */
static bool rates_after(struct hc_check *check, int32_t count)
{
    struct hc_call call = {.op = HC_OP_rates};
    struct hc_tensor table = hc_check_vector(check, HC_FP32, 6);
    for (int i = 0; i < 6; i++)
        hc_tensor_set(&table, i, i + 1);
    call.in[HC_RATES_TABLE] = hc_tensor2(HC_FP32, 3, 2, table.data);
    call.in[HC_RATES_COUNTS] = hc_check_vector(check, HC_I32, HC_COUNTS);
    call.out[HC_RATES_HYPER] = hc_check_vector(check, HC_FP32, HC_HYPER_COUNT);
    hc_tensor_set(&call.in[HC_RATES_COUNTS], HC_COUNT_STEPS, count);
    hc_tensor_set(&call.in[HC_RATES_COUNTS], HC_COUNT_TAKEN, count);
    if (hc_do(check, &call) != HC_OK)
        return false;
    hc_claim_value(check, "rate", count ? 5 : 1,
                   hc_tensor_get(&call.out[HC_RATES_HYPER], HC_HYPER_LR));
    hc_claim_value(check, "momentum", count ? 6 : 2,
                   hc_tensor_get(&call.out[HC_RATES_HYPER], HC_HYPER_BETA1));
    hc_claim_value(check, "t", hc_round(HC_FP32, (double)count + 1),
                   hc_tensor_get(&call.out[HC_RATES_HYPER], HC_HYPER_STEP));
    return true;
}

/* Takes a step after that many. */
static bool update_after(struct hc_check *check, int32_t count)
{
    struct hc_call call = {
        .op = HC_OP_scaler_update,
        .params.scaler = {.growth = 2, .backoff = 0.5F, .min_checked_scale = -1}};
    call.in[HC_SCALER_SCALE] = hc_check_vector(check, HC_FP32, 1);
    call.in[HC_SCALER_COUNTS] = hc_check_vector(check, HC_I32, HC_COUNTS);
    call.out[HC_SCALER_NEW_SCALE] = hc_check_vector(check, HC_FP32, 1);
    call.out[HC_SCALER_NEW_COUNTS] = hc_check_vector(check, HC_I32, HC_COUNTS);
    call.in[HC_SCALER_FOUND_INF] = (struct hc_tensor){.format = HC_FP32};
    hc_tensor_set(&call.in[HC_SCALER_SCALE], 0, 8);
    hc_tensor_set(&call.in[HC_SCALER_COUNTS], HC_COUNT_STEPS, count);
    hc_tensor_set(&call.in[HC_SCALER_COUNTS], HC_COUNT_TAKEN, count);
    hc_tensor_set(&call.in[HC_SCALER_COUNTS], HC_COUNT_CLEAN, count);
    if (hc_do(check, &call) != HC_OK)
        return false;
    hc_claim_value(check, "scale", 8, hc_tensor_get(&call.out[HC_SCALER_NEW_SCALE], 0));
    hc_claim_value(check, "steps", (double)count + 1,
                   hc_tensor_get(&call.out[HC_SCALER_NEW_COUNTS], HC_COUNT_STEPS));
    hc_claim_value(check, "taken", (double)count + 1,
                   hc_tensor_get(&call.out[HC_SCALER_NEW_COUNTS], HC_COUNT_TAKEN));
    hc_claim_value(check, "clean", (double)count + 1,
                   hc_tensor_get(&call.out[HC_SCALER_NEW_COUNTS], HC_COUNT_CLEAN));
    return true;
}

static void large(struct hc_check *check)
{
    for (size_t i = 0; i < sizeof counts_large / sizeof counts_large[0]; i++)
        if (!rates_after(check, counts_large[i]) || !update_after(check, counts_large[i]))
            return;
}

/* A scaler that is saved and restored: what a state dict must hold, and what happens if something
   is missing. */

enum { MAX = 8 * 2000 };

static bool same(const struct hc_scaler_memory *a, const struct hc_scaler_memory *b)
{
    return a->scale == b->scale && memcmp(a->counts, b->counts, sizeof a->counts) == 0;
}

/* An overflow here and there, so that counts of every size are met. */
static void sprinkle(const struct hc_check *check, unsigned char *found, int64_t steps, int64_t n)
{
    for (int64_t i = 0; i < steps; i++)
        found[i] = hc_random(hc_check_seed(check), 53, (uint64_t)i) % (uint64_t)(2 * n) == 0;
}

/* Stopped after half an interval, in the middle of one, and at each growth. With scale and counts
   restored, the rest is the same to the bit. */
static void goes_on(struct hc_check *check)
{
    unsigned char *found = hc_check_memory(check, MAX);
    struct hc_scaler_memory *whole = hc_check_memory(check, MAX * sizeof *whole);
    struct hc_scaler_memory *rest = hc_check_memory(check, MAX * sizeof *rest);
    for (int rule = 0; rule < HC_SCALER_COUNT; rule++) {
        const struct hc_scaler own = {.rule = (enum hc_scaler_rule)rule, .interval = 20};
        struct hc_scaler_update params = hc_scaler_params(&own);
        struct hc_scaler_memory start = hc_scaler_fresh(own.rule);
        const int64_t steps = 400;
        int64_t wrong = 0;
        int64_t checked = 0;
        sprinkle(check, found, steps, 20);
        if (hc_replay(check, &params, &start, found, steps, whole) != HC_OK)
            return;
        hc_claim_value(check, "steps that are counted", (double)steps,
                       (double)whole[steps - 1].counts[HC_COUNT_STEPS]);
        double moved = (double)whole[0].scale / (double)start.scale;
        hc_claim_true(check, "one step moves the scale by a factor of 1/4 to 4",
                      moved >= 0.25 && moved <= 4);
        for (int64_t stop = 1; stop < steps; stop += 19) {
            if (hc_replay(check, &params, &whole[stop - 1], found + stop, steps - stop, rest) !=
                HC_OK)
                return;
            for (int64_t i = stop; i < steps; i++, checked++)
                wrong += !same(&whole[i], &rest[i - stop]);
        }
        hc_claim_sweep(check, "scales after each step", checked, wrong,
                       wrong ? hc_scalers[rule].name : NULL);
    }
}

/* After 1.5 intervals only the scale is restored, and growth comes half an interval late. fastai
   does that at each fit (self.noskip = 0, self.count = 0), and so does whoever saves the scale
   alone. */
static void scale_alone(struct hc_check *check)
{
    unsigned char *found = hc_check_memory(check, MAX);
    struct hc_scaler_memory *whole = hc_check_memory(check, MAX * sizeof *whole);
    struct hc_scaler_memory *rest = hc_check_memory(check, MAX * sizeof *rest);
    hc_say(check, "rule                   its count              steps at another scale");
    for (int rule = 0; rule < HC_SCALER_COUNT; rule++) {
        const struct hc_scaler own = {.rule = (enum hc_scaler_rule)rule};
        struct hc_scaler_update params = hc_scaler_params(&own);
        struct hc_scaler_memory start = hc_scaler_fresh(own.rule);
        int64_t n = hc_oracle_interval(own.rule);
        char what[96];
        int64_t late = 0;
        if (n == 0)
            continue;
        int64_t half = n / 2;
        int64_t stop = n + half;
        int64_t steps = 3 * n - 1;
        if (hc_replay(check, &params, &start, found, steps, whole) != HC_OK)
            return;
        struct hc_scaler_memory scale = {.scale = whole[stop - 1].scale};
        if (hc_replay(check, &params, &scale, found, steps - stop, rest) != HC_OK)
            return;
        for (int64_t i = stop; i < steps; i++)
            late += whole[i].scale != rest[i - stop].scale;
        bool loses = !hc_scalers[rule].saves_clean;
        (void)snprintf(what, sizeof what, "%s, steps", hc_scalers[rule].name);
        hc_say(check, "%-22s %-21s  %4lld of %lld", hc_scalers[rule].name,
               loses ? "is not saved" : "is saved; taken away", (long long)late,
               (long long)(steps - stop));
        hc_claim_value(check, what, (double)half, (double)late);
    }
}

/* GradScaler grows if the count equals the interval. A state dict with a count beyond a shortened
   interval never meets it: nothing grows until an overflow resets the count. Other arms: Apex's
   rule, which tests for a multiple, and fastai's, which tests for at least as many. */
static void beyond_the_interval(struct hc_check *check)
{
    enum { STEPS_RESTORED = 3000 };
    static const struct {
        enum hc_scaler_rule rule;
        double clean; /* growths in STEPS clean steps */
        double after; /* and with an overflow at the first */
    } arms[] = {
        {HC_SCALER_TORCH, 0, 2}, {HC_SCALER_FASTAI, 3, 2}, {HC_SCALER_APEX_FP16UTILS, 3, 2}};
    unsigned char *found = hc_check_memory(check, STEPS_RESTORED);
    struct hc_scaler_memory *after = hc_check_memory(check, STEPS_RESTORED * sizeof *after);
    for (int arm = 0; arm < 3; arm++)
        for (int overflow = 0; overflow < 2; overflow++) {
            const struct hc_scaler own = {.rule = arms[arm].rule, .interval = 1000};
            struct hc_scaler_update rule = hc_scaler_params(&own);
            struct hc_scaler_memory start = {.scale = 256, .counts[HC_COUNT_CLEAN] = 1500};
            found[0] = (unsigned char)overflow;
            if (hc_replay(check, &rule, &start, found, STEPS_RESTORED, after) != HC_OK)
                return;
            double grown = log2((double)after[STEPS_RESTORED - 1].scale) - 8 + overflow;
            hc_claim_value(check, hc_scalers[arms[arm].rule].name,
                           overflow ? arms[arm].after : arms[arm].clean, grown);
        }
}

/* A scale above the cap, restored or set by hand. The next growth of Apex amp brings it down to the
   cap, fastai leaves it, and torch, which has no cap, doubles it. */
static void above_the_cap(struct hc_check *check)
{
    enum { STEPS_RESTORED = 2000 };
    static const struct {
        enum hc_scaler_rule rule;
        double want;
    } rows[] = {
        {HC_SCALER_APEX_AMP, 0x1p24}, {HC_SCALER_FASTAI, 0x1p26}, {HC_SCALER_TORCH, 0x1p27}};
    unsigned char *found = hc_check_memory(check, STEPS_RESTORED);
    struct hc_scaler_memory *after = hc_check_memory(check, STEPS_RESTORED * sizeof *after);
    const struct hc_scaler_memory start = {.scale = 0x1p26F};
    for (int i = 0; i < 3; i++) {
        const struct hc_scaler own = {.rule = rows[i].rule};
        struct hc_scaler_update rule = hc_scaler_params(&own);
        if (hc_replay(check, &rule, &start, found, STEPS_RESTORED, after) != HC_OK)
            return;
        hc_claim_value(check, hc_scalers[rows[i].rule].name, rows[i].want,
                       (double)after[STEPS_RESTORED - 1].scale);
    }
}

static const struct hc_case cases[] = {
    {"scaler/counts-one-by-one", "counts of steps go on one by one, from 0 to the last below 2^31",
     contract, .level = HC_QUICK, .run = rule},
    {"scaler/growth-just-at-the-interval",
     "a scale grows at the step that its rule names, and not one step before or after", contract,
     .level = HC_QUICK, .run = growth},
    {"scaler/rates-of-every-step",
     "a step gets the rates of its row, a step beyond the table those of the last row, and t "
     "rounded once",
     contract, .level = HC_QUICK, .run = rates},
    {"scaler/step-log-of-every-step",
     "a step's scalars go into its row of the step log, and nothing else changes", contract,
     .level = HC_QUICK, .run = step_log},
    {"scaler/large-counts",
     "beyond 2^24 steps Adam's t is the count and one, rounded once, and counts go on",
     "contracts in src/op/control.h", .level = HC_QUICK, .run = large},
    {"scaler/restored-goes-on",
     "a scaler whose scale and counts are restored goes on to the bit, wherever it stopped",
     "contract in src/op/control.h", .run = goes_on},
    {"scaler/restored-without-its-count",
     "with the scale alone restored, growth comes as many steps late as were counted: half an "
     "interval here; fastai's rules do so at every fit",
     "fastai 1.0.61 on_train_begin: self.noskip = 0; fastai 2.0.0 before_fit: self.count = 0",
     .run = scale_alone},
    {"scaler/restored-beyond-its-interval",
     "GradScaler restored with a count beyond a shortened interval never grows until it overflows; "
     "fastai's and Apex's rules do",
     "pytorch 2.15.0 aten/src/ATen/native/cuda/AmpKernels.cu: successful == growth_interval",
     .run = beyond_the_interval},
    {"scaler/restored-above-its-cap",
     "a scale above the cap: Apex amp's growth lowers it to 2^24, fastai's never comes, torch has "
     "no cap",
     "NVIDIA/apex @e13873de apex/amp/scaler.py: min(self._max_loss_scale, self._loss_scale*2.); "
     "fastai 1.0.61: and self.loss_scale < self.max_scale",
     .run = above_the_cap},
};

HC_CASES(scaler_counts, cases);
