/* Each rule on traces of overflows, against the scaler oracle. */
#include "cases/fixture/replay.h"

#include <math.h>
#include <string.h>

/* A trace: its length, and whether step s (from 1) overflows. n is the rule's interval. */
struct trace {
    const char *name;
    int64_t (*length)(int64_t n);
    bool (*found)(int64_t s, int64_t n);
};

static int64_t three(int64_t n)
{
    return 3 * n + 3;
}

static int64_t four_hundred(int64_t n)
{
    (void)n;
    return 400;
}

static bool never(int64_t s, int64_t n)
{
    (void)s;
    (void)n;
    return false;
}

static bool once(int64_t s, int64_t n)
{
    return s == n / 2;
}

static bool always(int64_t s, int64_t n)
{
    (void)s;
    (void)n;
    return true;
}

static bool every_other(int64_t s, int64_t n)
{
    (void)n;
    return s % 2 == 0;
}

static bool before(int64_t s, int64_t n)
{
    return s == n - 1;
}

static bool at(int64_t s, int64_t n)
{
    return s == n;
}

static bool behind(int64_t s, int64_t n)
{
    return s == n + 1;
}

/* n clean steps, an overflow, n + 1 clean steps, two overflows: each rule's second growth. */
static bool twice(int64_t s, int64_t n)
{
    return s == n + 1 || s == 2 * n + 3 || s == 2 * n + 4;
}

static const struct trace traces[] = {
    {"clean", three, never},
    {"one overflow", three, once},
    {"an overflow at each step", four_hundred, always},
    {"every other step", three, every_other},
    {"one before growth", three, before},
    {"at the growth step", three, at},
    {"one after growth", three, behind},
    {"around two growths", three, twice},
};

enum { TRACES = sizeof traces / sizeof traces[0] };

/* Steps overflow at a rate that changes with every interval, from one in two to none. */
static bool by_chance(const struct hc_check *check, int64_t s, int64_t n)
{
    static const int64_t rates[] = {0, 2, 50, 0, 7, 0};
    int64_t rate = rates[(s / (n + 3)) % 6];
    return rate && hc_random(hc_check_seed(check), 31, (uint64_t)s) % (uint64_t)rate == 0;
}

static void replay(struct hc_check *check)
{
    enum hc_scaler_rule rule = hc_scaler_by_name(strchr(hc_check_case(check)->name, '/') + 1);
    int64_t interval = hc_oracle_interval(rule);
    int64_t n = interval ? interval : 1000;
    int64_t most = 12 * n;
    unsigned char *found = hc_check_memory(check, (size_t)most);
    for (int t = 0; t < TRACES; t++) {
        int64_t steps = traces[t].length(n);
        for (int64_t s = 1; s <= steps; s++)
            found[s - 1] = traces[t].found(s, n);
        hc_replay_claim(check, traces[t].name, rule, interval, found, steps);
    }
    for (int64_t s = 1; s <= most; s++)
        found[s - 1] = by_chance(check, s, n);
    hc_replay_claim(check, "by chance", rule, interval, found, most);
}

/* log2 of the scale after 40,000 clean steps. From specs and sources: nb_004b's 512; fastai's and
   Apex amp's cap; 20 growths of torch's 2000; 40 of 1000 from 2^32 in Apex's old one and from 2^16
   in DeepSpeed's up to 0.17.0; 39 in the rules whose first growth needs 1001 steps. */
static const struct {
    enum hc_scaler_rule rule;
    int log2;
} grown[] = {
    {HC_SCALER_NONE, 0},
    {HC_SCALER_STATIC, 9},
    {HC_SCALER_FASTAI, 24},
    {HC_SCALER_FASTAI2, 104},
    {HC_SCALER_APEX_FP16UTILS, 72},
    {HC_SCALER_APEX_AMP, 24},
    {HC_SCALER_TORCH, 36},
    {HC_SCALER_DEEPSPEED_0170, 56},
    {HC_SCALER_DEEPSPEED_0171, 55},
    {HC_SCALER_DEEPSPEED_CONSECUTIVE, 55},
    {HC_SCALER_DEEPSPEED_FUSED, 55},
    {HC_SCALER_DEEPSPEED_UNFUSED, 55},
};

static void clean_for_long(struct hc_check *check)
{
    enum { STEPS = 40000 };
    unsigned char *found = hc_check_memory(check, STEPS);
    struct hc_scaler_memory *after = hc_check_memory(check, STEPS * sizeof *after);
    for (size_t i = 0; i < sizeof grown / sizeof grown[0]; i++) {
        const struct hc_scaler own = {.rule = grown[i].rule};
        struct hc_scaler_update params = hc_scaler_params(&own);
        struct hc_scaler_memory start = hc_scaler_fresh(grown[i].rule);
        if (hc_replay(check, &params, &start, found, STEPS, after) != HC_OK)
            return;
        double scale = (double)after[STEPS - 1].scale;
        hc_say(check, "%-16s 2^%g", hc_scalers[grown[i].rule].name, log2(scale));
        hc_claim_value(check, hc_scalers[grown[i].rule].name, ldexp(1, grown[i].log2), scale);
    }
}

/* The claim of every row. */
#define TITLE                                                                                      \
    "the scale follows the rule's text after each step of every trace: clean, one overflow, all "  \
    "overflows, alternating, around growth, by chance"

static const struct hc_case cases[] = {
    {.name = "scaler/none",
     .title = TITLE,
     .source = "fp32 training; pytorch 2.15.0 torch/nn/modules/module.py, Module.half",
     .run = replay},
    {.name = "scaler/static",
     .title = TITLE,
     .source = "fastai/fastai_old @c8285fbc dev_nb/004b_mixed_precision.ipynb",
     .run = replay},
    {.name = "scaler/fastai",
     .title = TITLE,
     .source = "fastai 1.0.61 fastai/callbacks/fp16.py",
     .run = replay},
    {.name = "scaler/fastai2",
     .title = TITLE,
     .source = "fastai 2.0.0 and 2.8.12 fastai/callback/fp16.py",
     .run = replay},
    {.name = "scaler/apex-fp16utils",
     .title = TITLE,
     .source = "NVIDIA/apex @48343d94 apex/fp16_utils/loss_scaler.py",
     .run = replay},
    {.name = "scaler/apex-amp",
     .title = TITLE,
     .source = "NVIDIA/apex @e13873de apex/amp/scaler.py",
     .run = replay},
    {.name = "scaler/torch",
     .title = TITLE,
     .source = "pytorch 2.15.0 torch/amp/grad_scaler.py, _amp_update_scale_",
     .run = replay},
    {.name = "scaler/deepspeed-0.17.0",
     .title = TITLE,
     .source = "deepspeed 0.17.0 deepspeed/runtime/fp16/loss_scaler.py",
     .run = replay},
    {.name = "scaler/deepspeed-0.17.1",
     .title = TITLE,
     .source = "deepspeed 0.17.1 and 0.19.8 deepspeed/runtime/fp16/loss_scaler.py",
     .run = replay},
    {.name = "scaler/deepspeed-consecutive",
     .title = TITLE,
     .source = "deepspeed 0.19.8 deepspeed/runtime/fp16/loss_scaler.py, consecutive_hysteresis",
     .run = replay},
    {.name = "scaler/deepspeed-fused",
     .title = TITLE,
     .source = "deepspeed 0.17.0 and 0.19.8 deepspeed/runtime/fp16/fused_optimizer.py",
     .run = replay},
    {.name = "scaler/deepspeed-unfused",
     .title = TITLE,
     .source = "deepspeed 0.17.0 deepspeed/runtime/fp16/unfused_optimizer.py",
     .run = replay},
    {.name = "scaler/40000-clean-steps",
     .title = "log2 of the scale after 40,000 clean steps, rule by rule",
     .source = "the rules' sources, as in src/train/update/scaler.c",
     .run = clean_for_long},
};

HC_CASES(scaler_traces, cases);
