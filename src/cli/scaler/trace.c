#include "cli/scaler/trace.h"

#include <limits.h>
#include <stdio.h>

#include "num/rng.h"

/* The state that a rule ends in. falls: endless overflows bring it to 0 or to an error. rises:
   endless clean steps bring it to infinity. The others end at a floor or a cap, or do not move. */
static const struct {
    bool falls;
    bool rises;
} ends[HC_SCALER_COUNT] = {
    [HC_SCALER_FASTAI2] = {true, true},
    [HC_SCALER_APEX_FP16UTILS] = {false, true},
    [HC_SCALER_APEX_AMP] = {true, false},
    [HC_SCALER_TORCH] = {true, false},
    [HC_SCALER_DEEPSPEED_0170] = {true, true},
    [HC_SCALER_DEEPSPEED_0171] = {true, true},
    [HC_SCALER_DEEPSPEED_CONSECUTIVE] = {true, true},
    [HC_SCALER_DEEPSPEED_FUSED] = {false, true},
    [HC_SCALER_DEEPSPEED_UNFUSED] = {false, true},
};

/* A trace that is being made. */
struct maker {
    struct hc_oracle oracle;
    int64_t interval;
    uint64_t seed;
    uint64_t drawn;
    unsigned char *sent;
    int steps;
    int top;    /* log2 of the largest finite scale */
    int bottom; /* and of the smallest that is not 0 */
    struct hc_trace_coverage coverage;
    int64_t at_top;       /* clean steps in a row at the top */
    bool kept_at_top;     /* as many as make another scale grow */
    bool stayed_at_floor; /* at an overflow */
};

static int64_t draw(struct maker *m, int64_t below)
{
    return (int64_t)(hc_random(m->seed, 0, m->drawn++) % (uint64_t)below);
}

/* log2 of the floor. 0 if there is none: at scale 1 fastai stops detecting overflows. */
static int floor_of(const struct maker *m)
{
    int log2 = hc_oracle_floor(m->oracle.rule);
    return log2 == HC_LOG2_ZERO ? 0 : log2;
}

static bool over(const struct maker *m)
{
    return m->oracle.gave_up || m->coverage.length == m->steps;
}

/* The infinities and NaNs take turns. */
static void step(struct maker *m, bool found)
{
    struct hc_trace_coverage *t = &m->coverage;
    int before = hc_oracle_log2(&m->oracle);
    int after = hc_oracle_step(&m->oracle, found);
    if (m->sent)
        m->sent[t->length] =
            (unsigned char)(found ? 1 + t->overflows % (HC_GRADIENTS_COUNT - 1) : 0);
    t->length++;
    t->overflows += found;
    t->growths += after > before;
    t->lowest = after < t->lowest ? after : t->lowest;
    t->highest = after > t->highest ? after : t->highest;
    m->at_top = !found && before == m->top ? m->at_top + 1 : 0;
    m->kept_at_top = m->kept_at_top || (after == m->top && m->at_top >= m->interval);
    m->stayed_at_floor = m->stayed_at_floor || (found && before == floor_of(m) && after >= before);
}

static void add_steps(struct maker *m, int64_t count, bool found)
{
    for (int64_t i = 0; i < count && !over(m); i++)
        step(m, found);
}

/* A rule with two ends goes to one of them: with an odd seed it rises. */
static bool rises(const struct maker *m)
{
    bool both = ends[m->oracle.rule].falls && ends[m->oracle.rule].rises;
    return both ? m->seed % 2 == 1 : ends[m->oracle.rule].rises;
}

/* At a floor, or at 0. */
static bool gives_up(const struct maker *m)
{
    return hc_oracle_raises(m->oracle.rule);
}

/* How many overflows bring the scale to its floor (1 if it has none) and below; or to twice the
   floor, if the rule raises an error there. */
static int64_t to_the_floor(const struct maker *m)
{
    int above = hc_oracle_log2(&m->oracle) - floor_of(m);
    if (gives_up(m) && hc_oracle_floor(m->oracle.rule) != HC_LOG2_ZERO)
        return above > 1 ? above - 1 : 0;
    return above > 0 ? above + 3 : 0;
}

/* Clean steps up to 2^26, beyond a cap of 2^24. */
static void climb(struct maker *m)
{
    enum { ABOVE = 26 };
    int log2 = hc_oracle_log2(&m->oracle);
    if (m->oracle.interval == 0)
        return;
    add_steps(m, m->interval * (log2 < ABOVE ? ABOVE - log2 : 1) + 1, false);
}

/* A random number of overflows, but not so many that the rule cannot come back. */
static int64_t burst(struct maker *m, int64_t most)
{
    int64_t count = 1 + draw(m, most);
    int64_t room = hc_oracle_log2(&m->oracle) - m->bottom - gives_up(m);
    if (!ends[m->oracle.rule].falls || count <= room)
        return count;
    return room > 0 ? room : 0;
}

/* Clean steps that end near a growth, and an overflow. */
static void around_growth(struct maker *m)
{
    add_steps(m, (1 + draw(m, 2)) * m->interval + draw(m, 3) - 1, false);
    add_steps(m, burst(m, 1), true);
}

static void segment(struct maker *m)
{
    enum { LOW = 2 };
    if (m->oracle.interval && hc_oracle_log2(&m->oracle) <= LOW) {
        around_growth(m);
        return;
    }
    switch (draw(m, 4)) {
    case 0:
        around_growth(m);
        return;
    case 1:
        add_steps(m, draw(m, m->interval), false);
        add_steps(m, burst(m, 3), true);
        return;
    case 2:
        for (int i = 0; i < 4; i++) {
            add_steps(m, 1, false);
            add_steps(m, burst(m, 1), true);
        }
        return;
    default:
        add_steps(m, draw(m, 5), false);
        add_steps(m, burst(m, 20), true);
    }
}

/* Clean steps up to the last finite scale. Unless the trace is to fall, they go on for one
   growth more, which a cap refuses. */
static void climb_to_the_top(struct maker *m)
{
    int log2 = hc_oracle_log2(&m->oracle);
    if (m->oracle.interval == 0 || log2 == HC_LOG2_ZERO)
        return;
    while (hc_oracle_log2(&m->oracle) < m->top && !over(m))
        step(m, false);
    if (rises(m) || !ends[m->oracle.rule].rises)
        add_steps(m, m->interval + 1, false);
}

/* Overflows down to 0 or to the error, if the rule falls; then a few steps that cannot move the
   scale: overflows, or a clean step if 0 itself is an error. */
static void end(struct maker *m)
{
    enum { AGAIN = 4 };
    bool falls = ends[m->oracle.rule].falls && !rises(m);
    int log2 = hc_oracle_log2(&m->oracle);
    while (falls && log2 != HC_LOG2_ZERO && log2 != HC_LOG2_INFINITE && !over(m)) {
        step(m, true);
        log2 = hc_oracle_log2(&m->oracle);
    }
    add_steps(m, AGAIN, !(log2 == HC_LOG2_ZERO && gives_up(m)));
}

static const char *missing(const struct maker *m)
{
    const struct hc_trace_coverage *t = &m->coverage;
    bool capped = !ends[m->oracle.rule].rises;
    if (t->overflows < HC_GRADIENTS_COUNT - 1)
        return "the trace does not have all of inf, nan and -inf";
    if (m->oracle.interval == 0)
        return NULL;
    if (t->growths == 0)
        return "the scale never grew";
    if (capped ? !m->kept_at_top : t->highest < m->top)
        return "the scale never reached and kept its cap or last finite power of two";
    if (rises(m))
        return t->highest < HC_LOG2_INFINITE ? "the scale never reached infinity"
               : ends[m->oracle.rule].falls || m->stayed_at_floor
                   ? NULL
                   : "the scale never reached its floor";
    if (gives_up(m))
        return m->oracle.gave_up ? NULL : "the rule never reached its error";
    if (ends[m->oracle.rule].falls)
        return t->lowest == HC_LOG2_ZERO ? NULL : "the scale never reached 0";
    return m->stayed_at_floor ? NULL : "the scale never reached its floor";
}

static struct maker begin(const struct hc_scaler_plan *plan)
{
    enum { LOG2_LEAST = -1074, LOG2_MOST = 1023 };
    struct maker m = {.oracle = hc_scaler_oracle(plan),
                      .interval = plan->interval ? plan->interval : 100,
                      .seed = plan->seed,
                      .steps = plan->steps ? plan->steps : INT_MAX,
                      .top = LOG2_MOST,
                      .bottom = LOG2_LEAST};
    enum hc_held held = m.oracle.held;
    while (!hc_oracle_allows(plan->rule, held, m.top))
        m.top--;
    while (!hc_oracle_allows(plan->rule, held, m.bottom))
        m.bottom++;
    m.coverage.lowest = m.coverage.highest = hc_oracle_log2(&m.oracle);
    return m;
}

struct hc_trace_coverage hc_scaler_trace(const struct hc_scaler_plan *plan, unsigned char *sent)
{
    enum { INTERVALS = 25, MORE = 500 };
    struct maker m = begin(plan);
    m.sent = sent;
    for (int64_t clean = m.interval - 1; clean <= m.interval + 1; clean++) {
        add_steps(&m, clean, false);
        add_steps(&m, 1, true);
    }
    climb(&m);
    add_steps(&m, to_the_floor(&m), true);
    while (m.coverage.length < INTERVALS * m.interval + MORE && !over(&m))
        segment(&m);
    climb_to_the_top(&m);
    end(&m);
    while (m.steps < INT_MAX && !over(&m))
        segment(&m);
    m.coverage.missing = missing(&m);
    return m.coverage;
}
