/* A scaler that is saved and restored: what a state dict must hold, and what happens if something
   is missing. */
#include "cases/fixture/replay.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

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
    enum { STEPS = 3000 };
    static const struct {
        enum hc_scaler_rule rule;
        double clean; /* growths in STEPS clean steps */
        double after; /* and with an overflow at the first */
    } arms[] = {
        {HC_SCALER_TORCH, 0, 2}, {HC_SCALER_FASTAI, 3, 2}, {HC_SCALER_APEX_FP16UTILS, 3, 2}};
    unsigned char *found = hc_check_memory(check, STEPS);
    struct hc_scaler_memory *after = hc_check_memory(check, STEPS * sizeof *after);
    for (int arm = 0; arm < 3; arm++)
        for (int overflow = 0; overflow < 2; overflow++) {
            const struct hc_scaler own = {.rule = arms[arm].rule, .interval = 1000};
            struct hc_scaler_update rule = hc_scaler_params(&own);
            struct hc_scaler_memory start = {.scale = 256, .counts[HC_COUNT_CLEAN] = 1500};
            found[0] = (unsigned char)overflow;
            if (hc_replay(check, &rule, &start, found, STEPS, after) != HC_OK)
                return;
            double grown = log2((double)after[STEPS - 1].scale) - 8 + overflow;
            hc_claim_value(check, hc_scalers[arms[arm].rule].name,
                           overflow ? arms[arm].after : arms[arm].clean, grown);
        }
}

/* A scale above the cap, restored or set by hand. The next growth of Apex amp brings it down to the
   cap, fastai leaves it, and torch, which has no cap, doubles it. */
static void above_the_cap(struct hc_check *check)
{
    enum { STEPS = 2000 };
    static const struct {
        enum hc_scaler_rule rule;
        double want;
    } rows[] = {
        {HC_SCALER_APEX_AMP, 0x1p24}, {HC_SCALER_FASTAI, 0x1p26}, {HC_SCALER_TORCH, 0x1p27}};
    unsigned char *found = hc_check_memory(check, STEPS);
    struct hc_scaler_memory *after = hc_check_memory(check, STEPS * sizeof *after);
    const struct hc_scaler_memory start = {.scale = 0x1p26F};
    for (int i = 0; i < 3; i++) {
        const struct hc_scaler own = {.rule = rows[i].rule};
        struct hc_scaler_update rule = hc_scaler_params(&own);
        if (hc_replay(check, &rule, &start, found, STEPS, after) != HC_OK)
            return;
        hc_claim_value(check, hc_scalers[rows[i].rule].name, rows[i].want,
                       (double)after[STEPS - 1].scale);
    }
}

static const struct hc_case cases[] = {
    {.name = "scaler/restored-goes-on",
     .title =
         "a scaler whose scale and counts are restored goes on to the bit, wherever it stopped",
     .source = "contract in src/op/control.h",
     .run = goes_on},
    {.name = "scaler/restored-without-its-count",
     .title =
         "with the scale alone restored, growth comes as many steps late as were counted: half "
         "an interval here; fastai's rules do so at every fit",
     .source =
         "fastai 1.0.61 on_train_begin: self.noskip = 0; fastai 2.0.0 before_fit: self.count = 0",
     .run = scale_alone},
    {.name = "scaler/restored-beyond-its-interval",
     .title = "GradScaler restored with a count beyond a shortened interval never grows until it "
              "overflows; fastai's and Apex's rules do",
     .source =
         "pytorch 2.15.0 aten/src/ATen/native/cuda/AmpKernels.cu: successful == growth_interval",
     .run = beyond_the_interval},
    {.name = "scaler/restored-above-its-cap",
     .title = "a scale above the cap: Apex amp's growth lowers it to 2^24, fastai's never comes, "
              "torch has no cap",
     .source = "NVIDIA/apex @e13873de apex/amp/scaler.py: min(self._max_loss_scale, "
               "self._loss_scale*2.); fastai 1.0.61: and "
               "self.loss_scale < self.max_scale",
     .run = above_the_cap},
};

HC_CASES(scaler_restored, cases);
