#include "cli/scale/diagnosis.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>

#include "cli/scale/answer.h"
#include "num/bits.h"

/* How a rule's answer is changed before it is compared. */
enum scale_twist {
    SCALE_AS_IT_IS,
    SCALE_RECIPROCAL,
    SCALE_A_STEP_LATE,
    SCALE_ROLLS_WHEN_IDLE,
    SCALE_MARGIN_OF_QUOTIENT,
    SCALE_TWISTS
};

struct scale_guess {
    struct hc_scale_plan plan;
    enum scale_twist twist;
    const struct hc_wrong_rounding *rounding; /* NULL: the right one */
    int explained;                            /* 0 if not all up to the first wrong answer are */
    int denied;                               /* answers that are right, and other than guessed */
};

static uint32_t ties_away(enum hc_format codes, float x)
{
    uint32_t below = (uint32_t)hc_encode_saturated(codes, (double)x, 0, HC_TOWARD_ZERO);
    double low = fabs(hc_decode(codes, below));
    double high = fabs(hc_decode(codes, below + 1)); /* NaN or -0 beyond the largest */
    double size = fabs((double)x);
    return below + (low < high && size - low >= high - size);
}

static uint32_t truncated(enum hc_format codes, float x)
{
    return (uint32_t)hc_encode_saturated(codes, (double)x, 0, HC_TOWARD_ZERO);
}

static uint32_t by_way_of_bf16(enum hc_format codes, float x)
{
    return (uint32_t)hc_encode_saturated(codes, hc_round(HC_BF16, (double)x), 0, HC_NEAREST);
}

static uint32_t by_way_of_fp16(enum hc_format codes, float x)
{
    return (uint32_t)hc_encode_saturated(codes, hc_round(HC_FP16, (double)x), 0, HC_NEAREST);
}

static uint32_t not_saturated(enum hc_format codes, float x)
{
    return (uint32_t)hc_encode(codes, (double)x, 0, HC_NEAREST);
}

static uint32_t flushed(enum hc_format codes, float x)
{
    double least = ldexp(1, hc_formats[codes].emin);
    double size = fabs((double)x);
    return (uint32_t)hc_encode_saturated(codes, size < least ? copysign(0, (double)x) : (double)x,
                                         0, HC_NEAREST);
}

const struct hc_wrong_rounding hc_wrong_roundings[] = {
    {"ties away from zero", ties_away},
    {"truncation", truncated},
    {"rounding by way of bf16", by_way_of_bf16},
    {"rounding by way of fp16", by_way_of_fp16},
    {"no saturation", not_saturated},
    {"subnormal codes flushed to zero", flushed},
    {0},
};

/* A guess of what made wrong answers: a rule, or a twist of one, and how many answers it explains.
 */

/* Whether the twist is one of the plan's rule. */
static bool scale_twist_is_for(const struct hc_scale_plan *plan, enum scale_twist twist)
{
    switch (twist) {
    case SCALE_RECIPROCAL:
        return plan->has_history || hc_scale_format(plan->rule) == HC_FP32;
    case SCALE_A_STEP_LATE:
        return plan->has_history;
    case SCALE_ROLLS_WHEN_IDLE:
        return plan->has_history && plan->delayed.rule == HC_DELAYED_TE;
    case SCALE_MARGIN_OF_QUOTIENT:
        return plan->has_history && plan->delayed.rule == HC_DELAYED_TE && plan->delayed.margin > 0;
    default:
        return true;
    }
}

/* An idle step that rolls the history all the same: as one with the smallest amax, which is then
   taken out again. Without a larger one in the history the scale stays. */
static struct hc_scale_answer roll(struct hc_scale_oracle *oracle)
{
    static const uint32_t smallest = 1;
    double before = oracle->scale;
    const double *old = oracle->history[oracle->current];
    int window = oracle->plan.window;
    bool is_empty = true;
    for (int i = 1; i < window; i++)
        is_empty &= !(old[i] > 0); /* a NaN is no amax, either */
    (void)hc_scale_next(oracle, &smallest);
    oracle->history[oracle->current][window - 1] = 0;
    oracle->scale = is_empty || oracle->plan.delayed.most_recent ? before : oracle->scale;
    return (struct hc_scale_answer){.scale = hc_fp32_bits((float)oracle->scale)};
}

/* The margin multiplied into M / a, and only then the limit. The rule without a margin gives M / a,
   or FM where that is infinite, and infinite it stays. The first amax of a trace moves the scale:
   no answer is the 1 that it begins with. */
static struct hc_scale_answer margin_of_quotient(struct hc_scale_oracle *oracle, int margin,
                                                 const uint32_t *words)
{
    static const uint32_t limit = 0x7f7fffff;
    oracle->plan.delayed.margin = 0;
    uint32_t scale = hc_scale_next(oracle, words).scale;
    float quotient = hc_fp32_value(scale);
    if (scale != limit)
        scale = hc_fp32_bits(ldexpf(quotient, -margin));
    return (struct hc_scale_answer){.scale = scale};
}

/* The step of the guess's state. */
static struct hc_scale_answer step(const struct scale_guess *g, struct hc_scale_oracle *oracle,
                                   const uint32_t *words)
{
    if (g->twist == SCALE_ROLLS_WHEN_IDLE && words[0] == 0)
        return roll(oracle);
    if (g->twist == SCALE_MARGIN_OF_QUOTIENT)
        return margin_of_quotient(oracle, g->plan.delayed.margin, words);
    return hc_scale_next(oracle, words);
}

/* The guess's answer to the next line. `before` is the scale before the step, and then after it. */
static struct hc_scale_answer next(const struct scale_guess *g, struct hc_scale_oracle *oracle,
                                   const uint32_t *words, uint32_t *before)
{
    struct hc_scale_answer answer = step(g, oracle, words);
    uint32_t scale = answer.scale;
    if (g->twist == SCALE_RECIPROCAL)
        answer.scale = hc_fp32_bits(1 / hc_fp32_value(scale));
    else if (g->twist == SCALE_A_STEP_LATE)
        answer.scale = *before;
    *before = scale;
    return answer;
}

/* Counts the answers that the guess explains, and those that it denies.

   A different answer up to the wrong line ends it; behind that line it is only not counted. */
static void scale_guess_try(struct scale_guess *g, const struct hc_scale_plan *asked,
                            const struct hc_scale_trace *trace, const struct hc_scale_answers *a)
{
    static struct hc_scale_oracle guessed, right;
    uint32_t before = 0x3f800000u; /* the scale at first */
    hc_scale_begin(&guessed, &g->plan);
    hc_scale_begin(&right, asked);
    guessed.round = g->rounding ? g->rounding->round : NULL;
    g->explained = g->denied = 0;
    for (int i = 0; i < a->count; i++) {
        const uint32_t *words = trace->words + (ptrdiff_t)i * trace->width;
        struct hc_scale_answer guess = next(g, &guessed, words, &before);
        struct hc_scale_answer want = hc_scale_next(&right, words);
        bool is_explained = hc_scale_differs(asked, &guess, &a->got[i]) < 0;
        if (!is_explained && i <= a->wrong) {
            g->explained = 0;
            return;
        }
        g->explained += is_explained;
        g->denied += !is_explained && hc_scale_differs(asked, &want, &a->got[i]) < 0;
    }
}

/* Whether both guess the same, whatever they explain. */
static bool scale_guess_is_same(const struct scale_guess *x, const struct scale_guess *y)
{
    return x->twist == y->twist && x->rounding == y->rounding && x->plan.rule == y->plan.rule &&
           x->plan.codes == y->plan.codes && x->plan.window == y->plan.window &&
           x->plan.delayed.rule == y->plan.delayed.rule &&
           x->plan.delayed.margin == y->plan.delayed.margin &&
           x->plan.delayed.most_recent == y->plan.delayed.most_recent;
}

/* The best guesses so far, which all explain as many answers. */
struct best {
    struct scale_guess guess[3];
    int count, more;
};

struct search {
    const struct hc_scale_plan *asked;
    const struct hc_scale_trace *trace;
    const struct hc_scale_answers *answers;
    int right; /* answers that the asked rule gives; what explains no more is no explanation */
    struct best best;
};

/* Whether x is a twist of a rule with the options that were asked for, and g the same twist of that
   rule with another. */
static bool is_simpler(const struct hc_scale_plan *asked, const struct scale_guess *x,
                       const struct scale_guess *g)
{
    struct scale_guess plain = {.plan = *asked, .twist = g->twist};
    plain.plan.rule = g->plan.rule;
    plain.plan.delayed.rule = g->plan.delayed.rule;
    return g->twist != SCALE_AS_IT_IS && scale_guess_is_same(x, &plain);
}

static void keep(struct best *b, const struct hc_scale_plan *asked, const struct scale_guess *g)
{
    if (b->count && g->explained < b->guess[0].explained)
        return;
    bool is_more = b->count && g->explained > b->guess[0].explained;
    for (int i = 0; i < b->count && !is_more; i++)
        if (scale_guess_is_same(&b->guess[i], g) || is_simpler(asked, &b->guess[i], g))
            return;
    if (is_more)
        b->count = b->more = 0;
    if (b->count < 3)
        b->guess[b->count++] = *g;
    else
        b->more++;
}

static void try_guess(struct search *s, struct scale_guess *g)
{
    scale_guess_try(g, s->asked, s->trace, s->answers);
    if (g->explained > s->right)
        keep(&s->best, s->asked, g);
}

static void try_plan(struct search *s, const struct hc_scale_plan *plan)
{
    for (int t = SCALE_AS_IT_IS; t < SCALE_TWISTS; t++) {
        struct scale_guess g = {.plan = *plan, .twist = (enum scale_twist)t};
        if (scale_twist_is_for(plan, g.twist))
            try_guess(s, &g);
    }
}

/* The same rule with elements rounded wrongly. */
static void try_roundings(struct search *s)
{
    for (int i = 0; hc_wrong_roundings[i].name && hc_scale_block(s->asked) > 0; i++) {
        struct scale_guess g = {.plan = *s->asked, .rounding = &hc_wrong_roundings[i]};
        try_guess(s, &g);
    }
}

/* Histories of other lengths: those of a power of two, and one less and one more than asked. */
static void try_windows(struct search *s)
{
    struct hc_scale_plan plan = *s->asked;
    for (int more = -1; more <= 1; more += 2) {
        plan.window = s->asked->window + more;
        if (plan.window >= 1 && plan.window <= HC_SCALE_WINDOW)
            try_plan(s, &plan);
    }
    for (plan.window = 1; plan.window <= HC_SCALE_WINDOW; plan.window *= 2)
        try_plan(s, &plan);
}

/* The same rule with one other option. */
static void try_options(struct search *s)
{
    struct hc_scale_plan plan = *s->asked;
    for (int c = 0; hc_scale_code_names[c] && hc_scale_block(&plan) == 0; c++) {
        plan.codes = plan.delayed.codes = hc_format_by_name(hc_scale_code_names[c]);
        try_plan(s, &plan);
    }
    if (!s->asked->has_history)
        return;
    plan = *s->asked;
    plan.delayed.most_recent = !plan.delayed.most_recent;
    try_plan(s, &plan);
    try_windows(s);
    plan = *s->asked;
    for (int margin = 0; margin < 4; margin++) {
        plan.delayed.margin = margin;
        try_plan(s, &plan);
    }
}

/* The other rules of its kind. */
static void try_rules(struct search *s)
{
    struct hc_scale_plan plan = *s->asked;
    for (int r = 0; r < HC_DELAYED_RULE_COUNT && plan.has_history; r++) {
        plan.delayed.rule = (enum hc_delayed_rule)r;
        try_plan(s, &plan);
    }
    for (int r = HC_SCALE_GIVEN + 1; r < HC_SCALE_RULE_COUNT && !plan.has_history; r++) {
        plan.rule = (enum hc_scale_rule)r;
        if (hc_scale_rules[r].kind == hc_scale_rules[s->asked->rule].kind)
            try_plan(s, &plan);
    }
}

static int name(const struct scale_guess *g, const struct hc_scale_plan *asked, char *text,
                size_t room)
{
    static const char *const twists[SCALE_TWISTS] = {
        [SCALE_AS_IT_IS] = "",
        [SCALE_RECIPROCAL] = "the reciprocal of ",
        [SCALE_A_STEP_LATE] = "the scale before the step of ",
        [SCALE_ROLLS_WHEN_IDLE] = "a history that rolls on idle steps, too, under ",
        [SCALE_MARGIN_OF_QUOTIENT] = "a margin that is multiplied into the quotient under ",
    };
    int at = snprintf(text, room, "%sscale/%s", twists[g->twist], hc_scale_plan_rule(&g->plan));
    const struct hc_scale_plan *p = &g->plan;
    char option[64] = "";
    if (p->codes != asked->codes)
        (void)snprintf(option, sizeof option, " with --codes %s", hc_formats[p->codes].name);
    else if (p->window != asked->window)
        (void)snprintf(option, sizeof option, " with --window %d", p->window);
    else if (p->delayed.margin != asked->delayed.margin)
        (void)snprintf(option, sizeof option, " with --margin %d", p->delayed.margin);
    else if (p->delayed.most_recent != asked->delayed.most_recent)
        (void)snprintf(option, sizeof option, " %s --most-recent",
                       p->delayed.most_recent ? "with" : "without");
    if (g->rounding)
        (void)snprintf(option, sizeof option, " with %s", g->rounding->name);
    return at + snprintf(text + at, room - (size_t)at, "%s", option);
}

static int count_right(const struct search *s)
{
    static struct hc_scale_oracle oracle;
    int right = 0;
    hc_scale_begin(&oracle, s->asked);
    for (int i = 0; i < s->answers->count; i++) {
        const uint32_t *words = s->trace->words + (ptrdiff_t)i * s->trace->width;
        struct hc_scale_answer want = hc_scale_next(&oracle, words);
        right += hc_scale_differs(s->asked, &want, &s->answers->got[i]) < 0;
    }
    return right;
}

/* Only what explains everything is said to be so. */
static void say_explanation(const struct search *s, char text[HC_SCALE_DIAGNOSIS])
{
    const struct best *b = &s->best;
    int answers = s->answers->count;
    bool is_all = b->guess[0].explained == answers;
    bool is_denied = true;
    int at = snprintf(text, HC_SCALE_DIAGNOSIS, "this %s ", is_all ? "is" : "may be");
    for (int i = 0; i < b->count; i++) {
        at += snprintf(text + at, (size_t)(HC_SCALE_DIAGNOSIS - at), "%s", i ? " or " : "");
        at += name(&b->guess[i], s->asked, text + at, (size_t)(HC_SCALE_DIAGNOSIS - at));
        is_denied &= b->guess[i].denied > 0;
    }
    at += snprintf(text + at, (size_t)(HC_SCALE_DIAGNOSIS - at), "%s, which explains ",
                   b->more ? " (and others)" : "");
    if (is_all)
        (void)snprintf(text + at, (size_t)(HC_SCALE_DIAGNOSIS - at), "all %d answers read",
                       answers);
    else
        (void)snprintf(text + at, (size_t)(HC_SCALE_DIAGNOSIS - at), "%d of the %d answers read%s",
                       b->guess[0].explained, answers,
                       is_denied ? "; but other answers are right and speak against it" : "");
}

void hc_scale_diagnose(const struct hc_scale_plan *plan, const struct hc_scale_trace *trace,
                       const struct hc_scale_answers *answers, char text[HC_SCALE_DIAGNOSIS])
{
    struct search s = {.asked = plan, .trace = trace, .answers = answers};
    text[0] = '\0';
    s.right = count_right(&s);
    try_rules(&s);
    try_options(&s);
    try_roundings(&s);
    if (s.best.count > 0)
        say_explanation(&s, text);
}
