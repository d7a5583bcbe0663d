#include "cli/scaler_trace.h"

#include <math.h>
#include <string.h>

#include "num/rng.h"

int hc_scaler_choose(const char *command, const char *name, double initial, int interval,
                     struct hc_scaler_choice *choice)
{
    static const char folder[] = "scaler/";
    size_t length = sizeof folder - 1;
    int log2 = 0;
    *choice = (struct hc_scaler_choice){.log2_initial = HC_LOG2_ZERO, .interval = interval};
    if (!name || strncmp(name, folder, length) != 0)
        return hc_complain("%s: scaler/RULE; see: halfcheck list scalers", command);
    choice->rule = hc_scaler_by_name(name + length);
    if (choice->rule == HC_SCALER_COUNT)
        return hc_complain("%s: no rule '%s'; see: halfcheck list scalers", command, name + length);
    if (initial == 0)
        return HC_AS_CLAIMED;
    if (frexp(initial, &log2) != 0.5)
        return hc_complain("%s: --initial %g is no power of two", command, initial);
    choice->log2_initial = log2 - 1;
    if (!hc_promise_allows(choice->rule, hc_promise_held(choice->rule), log2 - 1))
        return hc_complain("%s: %s cannot start at %g", command, name, initial);
    return HC_AS_CLAIMED;
}

struct hc_promise hc_scaler_promise(const struct hc_scaler_choice *choice)
{
    return hc_promise_start(choice->rule, hc_promise_held(choice->rule), choice->log2_initial,
                            choice->interval);
}

/* A trace in the making. */
struct maker {
    struct hc_promise promise;
    int64_t interval;
    uint64_t seed;
    uint64_t drawn;
    unsigned char *found;
    int steps;
    int length;
};

static int64_t draw(struct maker *m, int64_t below)
{
    return (int64_t)(hc_random(m->seed, 0, m->drawn++) % (uint64_t)below);
}

static void add(struct maker *m, int64_t count, bool found)
{
    for (int64_t i = 0; i < count && m->length < m->steps && !m->promise.gave_up; i++) {
        m->found[m->length++] = found;
        (void)hc_promise_step(&m->promise, found);
    }
}

/* Overflows with which the trace ends: they bring torch's scale to 0, and DeepSpeed to give up. */
static int tail(const struct maker *m)
{
    enum { ENOUGH = 200 };
    bool ends = m->promise.rule == HC_SCALER_TORCH || m->promise.rule == HC_SCALER_DEEPSPEED;
    return ends && m->steps > 2 * ENOUGH ? ENOUGH : 0;
}

static bool gives_up(const struct maker *m)
{
    return m->promise.rule == HC_SCALER_DEEPSPEED;
}

/* Overflows that bring the scale to 1 or, where the rule gives up there, to 2. */
static int64_t to_the_floor(const struct maker *m)
{
    int log2 = hc_promise_log2(&m->promise);
    if (gives_up(m))
        return log2 > 1 ? log2 - 1 : 0;
    return log2 > 0 ? log2 + 3 : 0;
}

/* Clean steps up to a cap of 2^24 and on, where there is one. */
static void climb(struct maker *m)
{
    enum { ABOVE = 26 };
    int log2 = hc_promise_log2(&m->promise);
    if (m->promise.interval == 0)
        return;
    add(m, m->interval * (log2 < ABOVE ? ABOVE - log2 : 1) + 1, false);
}

static int64_t burst(struct maker *m, int64_t most)
{
    int64_t count = 1 + draw(m, most);
    int64_t room = to_the_floor(m);
    return gives_up(m) && count > room ? room : count;
}

/* A clean run that ends about a growth step, and an overflow; once the scale is low, nothing else. */
static void around_growth(struct maker *m)
{
    add(m, (1 + draw(m, 2)) * m->interval + draw(m, 3) - 1, false);
    add(m, burst(m, 1), true);
}

static void segment(struct maker *m)
{
    enum { LOW = 2 };
    if (m->promise.interval && hc_promise_log2(&m->promise) <= LOW) {
        around_growth(m);
        return;
    }
    switch (draw(m, 4)) {
    case 0:
        around_growth(m);
        return;
    case 1:
        add(m, draw(m, m->interval), false);
        add(m, burst(m, 3), true);
        return;
    case 2:
        for (int i = 0; i < 4; i++) {
            add(m, 1, false);
            add(m, burst(m, 1), true);
        }
        return;
    default:
        add(m, draw(m, 5), false);
        add(m, burst(m, 20), true);
    }
}

int hc_scaler_trace(const struct hc_scaler_choice *choice, uint64_t seed, unsigned char *found,
                    int steps)
{
    struct maker m = {.promise = hc_scaler_promise(choice), .seed = seed, .steps = steps};
    m.found = found;
    int last = tail(&m);
    m.interval = m.promise.interval ? m.promise.interval : 100;
    m.steps -= last;
    for (int64_t clean = m.interval - 1; clean <= m.interval + 1; clean++) {
        add(&m, clean, false);
        add(&m, 1, true);
    }
    climb(&m);
    add(&m, to_the_floor(&m), true);
    while (m.length < m.steps)
        segment(&m);
    m.steps += last;
    add(&m, last, true);
    return m.length;
}
