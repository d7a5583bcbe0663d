#include "cli/scaler/diagnosis.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include "cli/lines.h"

struct hc_scaler_model hc_scaler_model_of(const struct hc_scaler_plan *plan)
{
    const struct hc_scaler own = {.rule = plan->rule, .interval = plan->interval};
    return (struct hc_scaler_model){.rule = hc_scaler_params(&own),
                                    .initial = plan->initial,
                                    .held = hc_oracle_held(plan->rule),
                                    .seen = {false, true, true, true}};
}

void hc_scaler_model_begin(struct hc_scaler_model *m)
{
    m->scale = m->initial;
    m->clean = 0;
    m->held_back = 0;
    m->raised = false;
}

static double held(const struct hc_scaler_model *m, double x)
{
    return m->held == HC_HELD_SINGLE ? (double)(float)x : x;
}

static double grown(const struct hc_scaler_model *m)
{
    double x = held(m, m->scale * (double)m->rule.growth);
    if (m->rule.cap == HC_CAP_CLAMP && x > (double)m->rule.max_scale)
        return (double)m->rule.max_scale;
    return m->rule.cap == HC_CAP_FINITE && !isfinite(x) ? m->scale : x;
}

static bool due(const struct hc_scaler_model *m)
{
    int64_t n = m->clean - m->rule.delay;
    if (m->rule.interval == 0 ||
        (m->rule.cap == HC_CAP_BELOW && !(m->scale < (double)m->rule.max_scale)))
        return false;
    if (m->rule.when == HC_WHEN_EQUAL)
        return n == m->rule.interval;
    if (m->rule.when == HC_WHEN_REACHED)
        return n >= m->rule.interval;
    return n > 0 && n % m->rule.interval == 0;
}

static void back_off(struct hc_scaler_model *m)
{
    bool divides_by_zero = m->rule.error_at_floor && m->scale == 0;
    m->clean = m->rule.keep_clean ? m->clean : m->restart;
    if (!divides_by_zero && m->held_back + 1 < m->rule.hysteresis) {
        m->held_back++;
        return;
    }
    m->raised = divides_by_zero || (m->rule.error_at_floor && m->scale == (double)m->rule.floor);
    if (!m->raised)
        m->scale = fmax(held(m, m->scale * (double)m->rule.backoff), (double)m->rule.floor);
}

static void count_clean_step(struct hc_scaler_model *m)
{
    m->clean++;
    if (m->rule.refill_hysteresis)
        m->held_back = 0;
    if (!due(m))
        return;
    m->held_back = 0;
    m->clean = m->rule.when == HC_WHEN_MULTIPLE ? m->clean : 0;
    m->scale = grown(m);
}

double hc_scaler_model_step(struct hc_scaler_model *m, enum hc_gradients sent)
{
    double before = m->scale;
    bool found = m->seen[sent] && !(before <= (double)m->rule.min_checked_scale);
    if (found || (m->rule.error_at_floor && before == 0))
        back_off(m);
    else
        count_clean_step(m);
    bool late = m->shows_before || (m->grows_late && m->scale > before);
    return late ? before : m->scale;
}

/* How many of the answers, from the first on, the model gives. */
static int scaler_model_gives(struct hc_scaler_model m, const struct hc_scaler_answers *a)
{
    hc_scaler_model_begin(&m);
    for (int i = 0; i < a->count; i++) {
        double scale = hc_scaler_model_step(&m, (enum hc_gradients)a->sent[i]);
        bool raises = a->raised && i == a->count - 1;
        if (m.raised || raises ? m.raised != raises : scale != a->scale[i])
            return i;
        if (m.raised)
            return i + 1;
    }
    return a->count;
}

struct search {
    const struct hc_scaler_answers *a;
    struct hc_scaler_model right;
    int best;       /* answers that the best change gives */
    const char *as; /* another rule that gives as many, or NULL */
    char what[HC_DIAGNOSIS / 2];
};

__attribute__((format(printf, 3, 4))) static void
try_this(struct search *s, struct hc_scaler_model m, const char *format, ...)
{
    int steps = scaler_model_gives(m, s->a);
    if (steps <= s->a->wrong || steps <= s->best)
        return;
    va_list list;
    s->best = steps;
    va_start(list, format);
    (void)vsnprintf(s->what, sizeof s->what, format, list);
    va_end(list);
}

static void try_interval(struct search *s, int interval)
{
    struct hc_scaler_model m = s->right;
    if (interval <= 0 || interval == m.rule.interval)
        return;
    m.rule.interval = interval;
    try_this(s, m, "the rule with growth interval %d in place of %d", interval,
             s->right.rule.interval);
}

static void try_numbers(struct search *s)
{
    const struct hc_scaler_answers *a = s->a;
    struct hc_scaler_model m = s->right;
    double first = a->scale[0];
    double up = hc_scaler_answers_factor(a, true);
    double down = hc_scaler_answers_factor(a, false);
    int run;
    int all;
    m.initial = first;
    try_this(s, m, "the rule with a first scale of %g in place of %g", first, s->right.initial);
    if (s->right.rule.interval == 0)
        return;
    hc_scaler_answers_to_growth(a, &run, &all);
    try_interval(s, run);
    try_interval(s, run - s->right.rule.delay);
    try_interval(s, all);
    m = s->right;
    m.rule.growth = up > 0 ? (float)up : 2;
    try_this(s, m, "the rule with growth factor %g in place of %g", up,
             (double)s->right.rule.growth);
    m.rule.growth = s->right.rule.growth;
    m.rule.backoff = down > 0 ? (float)down : 0.5F;
    try_this(s, m, "the rule with backoff factor %g in place of %g", down,
             (double)s->right.rule.backoff);
    m.rule.growth = up > 0 ? (float)up : 2;
    try_this(s, m, "the rule with growth factor %g and backoff factor %g in place of %g and %g", up,
             down, (double)s->right.rule.growth, (double)s->right.rule.backoff);
    m = s->right;
    m.rule.backoff = 1;
    try_this(s, m, "the rule without backoff");
    m.rule.keep_clean = true;
    try_this(s, m, "the rule, but ignoring overflows");
    m = s->right;
    m.rule.interval = 0;
    try_this(s, m, "the rule without growth");
    for (int hysteresis = 1; hysteresis <= 3; hysteresis++) {
        m = s->right;
        m.rule.hysteresis = hysteresis;
        try_this(s, m, "the rule with hysteresis %d in place of %d", hysteresis,
                 s->right.rule.hysteresis > 1 ? s->right.rule.hysteresis : 1);
    }
}

static void try_limits(struct search *s)
{
    double wrong = s->a->scale[s->a->wrong];
    struct hc_scaler_model m = s->right;
    m.rule.floor = 0;
    try_this(s, m, "the rule without a floor");
    m.rule.error_at_floor = false;
    try_this(s, m, "the rule without a floor and the error there");
    m.rule.floor = (float)wrong;
    try_this(s, m, "the rule with a floor of %g", wrong);
    m.rule.floor = s->right.rule.floor;
    try_this(s, m, "the rule without its error");
    m.rule.error_at_floor = true;
    try_this(s, m, "the rule with an error at its floor");
    m = s->right;
    m.rule.cap = HC_CAP_NONE;
    try_this(s, m, "the rule without a cap");
    m.rule.cap = HC_CAP_FINITE;
    try_this(s, m, "the rule with growth only to finite scales");
    m.rule.cap = HC_CAP_CLAMP;
    m.rule.max_scale = (float)wrong;
    try_this(s, m, "the rule with a cap of %g", wrong);
    m = s->right;
    m.rule.min_checked_scale = m.rule.min_checked_scale < 0 ? 1 : -1;
    try_this(s, m,
             m.rule.min_checked_scale < 0 ? "the rule, but also detecting overflows at scale 1"
                                          : "the rule, but missing overflows at scale 1 and below");
    m = s->right;
    m.held = m.held == HC_HELD_SINGLE ? HC_HELD_DOUBLE : HC_HELD_SINGLE;
    try_this(s, m, "the rule with its scale held in %s",
             m.held == HC_HELD_SINGLE ? "fp32" : "fp64");
}

static void try_counting(struct search *s)
{
    struct hc_scaler_model m = s->right;
    m.rule.delay++;
    try_this(s, m, "the rule, but growing a clean step late");
    m.rule.delay -= 2;
    try_this(s, m, "the rule, but growing a clean step early");
    m = s->right;
    m.restart = 1;
    try_this(s, m,
             "the rule, but counting an overflow as a clean step, so growth comes a step early");
    m.restart = -1;
    try_this(s, m, "the rule, but growing a step late after an overflow");
    m = s->right;
    m.rule.keep_clean = !m.rule.keep_clean;
    try_this(s, m,
             m.rule.keep_clean ? "the rule, but not restarting its count at an overflow"
                               : "the rule, but restarting its count at an overflow");
    m = s->right;
    m.rule.refill_hysteresis = !m.rule.refill_hysteresis;
    try_this(s, m, "the rule with%s hysteresis that each clean step refills",
             m.rule.refill_hysteresis ? "" : "out");
}

static void try_seeing(struct search *s)
{
    static const struct {
        const char *what;
        bool seen[HC_GRADIENTS_COUNT];
    } detectors[] = {{"nan", {false, true, false, true}},
                     {"-inf", {false, true, true, false}},
                     {"inf", {false, false, true, true}},
                     {"inf and -inf", {false, false, true, false}},
                     {"nan and -inf", {false, true, false, false}},
                     {"any overflow", {false, false, false, false}}};
    struct hc_scaler_model m = s->right;
    for (size_t i = 0; i < sizeof detectors / sizeof detectors[0]; i++) {
        memcpy(m.seen, detectors[i].seen, sizeof m.seen);
        try_this(s, m, "the rule with a detector that does not see %s", detectors[i].what);
    }
    m = s->right;
    m.shows_before = true;
    try_this(s, m, "the rule, but reading each scale before the update of its step");
    m.shows_before = false;
    m.grows_late = true;
    try_this(s, m, "the rule, but growing at the beginning of the next step");
}

static void try_rule(struct search *s, enum hc_scaler_rule rule, bool with_own_numbers)
{
    struct hc_scaler_plan plan = *s->a->plan;
    const char *own = with_own_numbers ? " with its own numbers" : "";
    plan.rule = rule;
    if (with_own_numbers) {
        plan.interval = (int)hc_oracle_interval(rule);
        plan.initial = ldexp(1, hc_oracle_initial(rule));
    }
    if (s->best > 0 && scaler_model_gives(hc_scaler_model_of(&plan), s->a) == s->best && !s->as)
        s->as = hc_scalers[rule].name;
    try_this(s, hc_scaler_model_of(&plan), "the rule scaler/%s%s", hc_scalers[rule].name, own);
}

/* Other systems' rules. One that gives as many answers as the best change is named beside it. */
static void try_rules(struct search *s)
{
    int changed = s->best;
    for (int rule = 0; rule < HC_SCALER_COUNT; rule++)
        for (int own = 0; own < 2 && (enum hc_scaler_rule)rule != s->a->plan->rule; own++)
            try_rule(s, (enum hc_scaler_rule)rule, own != 0);
    if (s->best > changed)
        s->as = NULL;
}

/* Whether the scale never moves although the rule's goes up and down. */
static bool never_moves(const struct hc_scaler_answers *a)
{
    struct hc_scaler_model m = hc_scaler_model_of(a->plan);
    bool up = false;
    bool down = false;
    hc_scaler_model_begin(&m);
    for (int i = 0; i < a->count; i++) {
        double before = m.scale;
        double after = hc_scaler_model_step(&m, (enum hc_gradients)a->sent[i]);
        up = up || after > before;
        down = down || after < before;
        if (a->scale[i] != a->scale[0] || a->raised)
            return false;
    }
    return up && down;
}

void hc_scaler_diagnose(const struct hc_scaler_answers *a, char text[HC_DIAGNOSIS])
{
    struct search s = {.a = a, .right = hc_scaler_model_of(a->plan)};
    text[0] = '\0';
    if (never_moves(a)) {
        (void)snprintf(
            text, HC_DIAGNOSIS,
            "the scale never moves: it is %g at all %d steps read; the scaler is disabled or "
            "never updated%s",
            a->scale[0], a->count,
            a->plan->rule == HC_SCALER_TORCH && a->scale[0] == 1
                ? " (torch.cuda.amp.GradScaler disables itself without a GPU; "
                  "torch.amp.GradScaler(\"cpu\") does not)"
                : "");
        return;
    }
    try_numbers(&s);
    try_limits(&s);
    try_counting(&s);
    try_seeing(&s);
    try_rules(&s);
    /* Little more than the wrong answer itself is no explanation. */
    if (s.best < a->count && s.best <= a->wrong + 2 * a->plan->interval)
        return;
    (void)snprintf(text, HC_DIAGNOSIS, "this is %s%s%s%s, ", s.what, s.as ? ", as scaler/" : "",
                   s.as ? s.as : "", s.as ? " has it" : "");
    if (s.best == a->count)
        hc_append(text, HC_DIAGNOSIS, "which explains all %d steps read", a->count);
    else
        hc_append(text, HC_DIAGNOSIS, "up to step %d; after that something else is wrong, too",
                  s.best);
}
