#include "check/promise.h"

#include <assert.h>
#include <math.h>

/* What wins back DeepSpeed's patience with one overflow. */
enum patience { NONE, BY_GROWTH, BY_A_CLEAN_STEP };

/* The numbers of the rules' texts, once more and on purpose. */
static const struct {
    int initial;      /* log2 of the first scale */
    int64_t interval; /* clean steps before growth */
    int floor;        /* log2 */
    int cap;
    bool late; /* a run's first clean step does not count */
    enum patience patience;
    bool raises;
} text[HC_SCALER_COUNT] = {
    [HC_SCALER_NONE] = {0, 0, HC_LOG2_ZERO, HC_LOG2_INFINITE, false, NONE, false},
    [HC_SCALER_STATIC] = {9, 0, HC_LOG2_ZERO, HC_LOG2_INFINITE, false, NONE, false},
    [HC_SCALER_FASTAI] = {16, 1000, HC_LOG2_ZERO, 24, false, NONE, false},
    [HC_SCALER_FASTAI2] = {24, 500, HC_LOG2_ZERO, HC_LOG2_INFINITE, false, NONE, false},
    [HC_SCALER_APEX_FP16UTILS] = {32, 1000, 0, HC_LOG2_INFINITE, false, NONE, false},
    [HC_SCALER_APEX_AMP] = {16, 2000, HC_LOG2_ZERO, 24, false, NONE, true},
    /* 2^127 is fp32's last power of two. */
    [HC_SCALER_TORCH] = {16, 2000, HC_LOG2_ZERO, 127, false, NONE, false},
    [HC_SCALER_DEEPSPEED_0170] = {16, 1000, 0, HC_LOG2_INFINITE, false, BY_GROWTH, true},
    [HC_SCALER_DEEPSPEED_0171] = {16, 1000, 0, HC_LOG2_INFINITE, true, BY_GROWTH, true},
    [HC_SCALER_DEEPSPEED_CONSECUTIVE] = {16, 1000, 0, HC_LOG2_INFINITE, true, BY_A_CLEAN_STEP,
                                         true},
    [HC_SCALER_DEEPSPEED_FUSED] = {16, 1000, 0, HC_LOG2_INFINITE, true, NONE, false},
    [HC_SCALER_DEEPSPEED_UNFUSED] = {16, 1000, -2, HC_LOG2_INFINITE, true, NONE, false},
};

int64_t hc_oracle_interval(enum hc_scaler_rule rule)
{
    return text[rule].interval;
}

int hc_oracle_initial(enum hc_scaler_rule rule)
{
    return text[rule].initial;
}

int hc_oracle_floor(enum hc_scaler_rule rule)
{
    return text[rule].floor;
}

bool hc_oracle_raises(enum hc_scaler_rule rule)
{
    return text[rule].raises;
}

/* Growths in the present run. A whole interval of clean steps makes one; fastai2 counts clean steps
   from the beginning of the training, most of DeepSpeed's rules leave out a run's first. */
static int64_t growths(const struct hc_oracle *p)
{
    if (p->interval == 0)
        return 0;
    if (p->rule == HC_SCALER_FASTAI2)
        return (p->good + p->run) / p->interval - p->good / p->interval;
    if (text[p->rule].late)
        return p->run > 0 ? (p->run - 1) / p->interval : 0;
    return p->run / p->interval;
}

/* The half of fp32's smallest number, 2^-149, is a tie and goes to 0; fp64's smallest is 2^-1074. */
static int held(const struct hc_oracle *p, int64_t log2)
{
    bool single = p->held == HC_HELD_SINGLE;
    if (log2 > (single ? 127 : 1023))
        return HC_LOG2_INFINITE;
    return log2 < (single ? -149 : -1074) ? HC_LOG2_ZERO : (int)log2;
}

int hc_oracle_log2(const struct hc_oracle *p)
{
    if (p->start == HC_LOG2_ZERO || p->start == HC_LOG2_INFINITE)
        return p->start;
    int64_t grown = p->start + growths(p);
    int cap = text[p->rule].cap;
    return held(p, grown > cap ? cap : grown);
}

double hc_oracle_scale(const struct hc_oracle *p)
{
    int log2 = hc_oracle_log2(p);
    if (log2 == HC_LOG2_INFINITE)
        return (double)INFINITY;
    return log2 == HC_LOG2_ZERO ? 0 : ldexp(1, log2);
}

enum hc_held hc_oracle_held(enum hc_scaler_rule rule)
{
    return rule == HC_SCALER_TORCH ? HC_HELD_SINGLE : HC_HELD_DOUBLE;
}

bool hc_oracle_allows(enum hc_scaler_rule rule, enum hc_held how, int log2)
{
    struct hc_oracle p = {.held = how};
    return held(&p, log2) == log2 && log2 >= text[rule].floor && log2 <= text[rule].cap;
}

struct hc_oracle hc_oracle_start(enum hc_scaler_rule rule, enum hc_held how, int log2_initial,
                                   int64_t interval)
{
    assert((unsigned)rule < HC_SCALER_COUNT);
    bool moves = text[rule].interval > 0;
    return (struct hc_oracle){.rule = rule,
                               .held = how,
                               .interval = moves && interval > 0 ? interval : text[rule].interval,
                               .start = log2_initial == HC_LOG2_ZERO ? text[rule].initial
                                                                     : log2_initial};
}

/* log2 of the scale after an overflow at scale 2^log2. */
static int halved(struct hc_oracle *p, int log2)
{
    if (log2 == HC_LOG2_ZERO || log2 == HC_LOG2_INFINITE)
        return log2;
    enum patience patience = text[p->rule].patience;
    if (patience == BY_A_CLEAN_STEP ? p->run > 0 : growths(p) > 0)
        p->forgiven = false;
    if (patience != NONE && !p->forgiven) {
        p->forgiven = true;
        return log2;
    }
    p->gave_up = text[p->rule].raises && log2 == text[p->rule].floor;
    return log2 > text[p->rule].floor ? held(p, log2 - 1) : log2;
}

int hc_oracle_step(struct hc_oracle *p, bool found)
{
    int log2 = hc_oracle_log2(p);
    bool never = text[p->rule].interval == 0;
    bool overlooked = p->rule == HC_SCALER_FASTAI && log2 <= 0;
    p->steps++;
    p->gave_up = p->gave_up || (text[p->rule].raises && log2 == HC_LOG2_ZERO);
    if (never || p->gave_up)
        return log2;
    if (!found || overlooked) {
        p->run++;
        return hc_oracle_log2(p);
    }
    p->start = halved(p, log2);
    p->good += p->run;
    p->run = 0;
    return p->start;
}
