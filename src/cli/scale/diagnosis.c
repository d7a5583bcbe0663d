#include "cli/scale/diagnosis.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "cli/scale/rounding.h"
#include "num/bits.h"

/* How a rule's answer is changed before it is compared. */
enum twist { AS_IT_IS, RECIPROCAL, A_STEP_LATE, ROLLS_WHEN_IDLE, TWISTS };

struct guess {
    struct hc_scale_plan plan;
    enum twist twist;
    const struct hc_wrong_rounding *rounding; /* NULL: the right one */
    int right;                                /* how many answers from the first on it gives */
};

static bool is_fp32(const struct hc_scale_plan *plan)
{
    return plan->has_history || hc_scale_format(plan->rule) == HC_FP32;
}

/* An idle step that rolls the history all the same: as one with the smallest amax, which is then
   taken out again. */
static struct hc_scale_answer roll(struct hc_scale_oracle *oracle)
{
    static const uint32_t smallest = 1;
    double before = oracle->scale;
    (void)hc_scale_next(oracle, &smallest);
    double *history = oracle->history[oracle->current];
    int window = oracle->plan.window;
    bool is_empty = true;
    history[window - 1] = 0;
    for (int i = 0; i < window; i++)
        is_empty &= history[i] == 0;
    oracle->scale = is_empty || oracle->plan.delayed.most_recent ? before : oracle->scale;
    return (struct hc_scale_answer){.scale = hc_fp32_bits((float)oracle->scale)};
}

/* Counts the answers that the guess explains. A different answer up to the wrong line ends it;
   behind that line it is only not counted. */
static void try_guess(struct guess *g, const struct hc_scale_plan *asked,
                      const struct hc_scale_trace *trace, const struct hc_scale_answers *a)
{
    static struct hc_scale_oracle oracle;
    uint32_t before = 0x3f800000u; /* the scale at first */
    hc_scale_begin(&oracle, &g->plan);
    oracle.round = g->rounding ? g->rounding->round : NULL;
    g->right = 0;
    for (int i = 0; i < a->count; i++) {
        const uint32_t *words = trace->words + (ptrdiff_t)i * trace->width;
        bool rolls = g->twist == ROLLS_WHEN_IDLE && words[0] == 0;
        struct hc_scale_answer want = rolls ? roll(&oracle) : hc_scale_next(&oracle, words);
        uint32_t scale = want.scale;
        if (g->twist == RECIPROCAL)
            want.scale = hc_fp32_bits(1 / hc_fp32_value(scale));
        else if (g->twist == A_STEP_LATE)
            want.scale = before;
        before = scale;
        bool equal = hc_scale_differs(asked, &want, &a->got[i]) < 0;
        if (!equal && i <= a->wrong) {
            g->right = 0;
            return;
        }
        g->right += equal;
    }
}

/* The best guesses so far, which all explain as many answers. */
struct best {
    struct guess guess[3];
    int count, more;
};

static bool is_same(const struct guess *x, const struct guess *y)
{
    return x->twist == y->twist && x->rounding == y->rounding && x->plan.rule == y->plan.rule &&
           x->plan.codes == y->plan.codes && x->plan.window == y->plan.window &&
           x->plan.delayed.rule == y->plan.delayed.rule &&
           x->plan.delayed.margin == y->plan.delayed.margin &&
           x->plan.delayed.most_recent == y->plan.delayed.most_recent;
}

static void keep(struct best *b, const struct guess *g)
{
    if (g->right == 0 || (b->count && g->right < b->guess[0].right))
        return;
    for (int i = 0; i < b->count; i++)
        if (is_same(&b->guess[i], g))
            return;
    if (b->count && g->right > b->guess[0].right)
        b->count = b->more = 0;
    if (b->count < 3)
        b->guess[b->count++] = *g;
    else
        b->more++;
}

struct search {
    const struct hc_scale_plan *asked;
    const struct hc_scale_trace *trace;
    const struct hc_scale_answers *answers;
    struct best best;
};

static void try_plan(struct search *s, const struct hc_scale_plan *plan)
{
    for (int t = AS_IT_IS; t < TWISTS; t++) {
        struct guess g = {.plan = *plan, .twist = (enum twist)t};
        if ((t == RECIPROCAL && !is_fp32(plan)) || (t == A_STEP_LATE && !plan->has_history) ||
            (t == ROLLS_WHEN_IDLE && (!plan->has_history || plan->delayed.rule != HC_DELAYED_TE)))
            continue;
        try_guess(&g, s->asked, s->trace, s->answers);
        keep(&s->best, &g);
    }
}

/* The same rule with elements rounded wrongly. */
static void try_roundings(struct search *s)
{
    for (int i = 0; hc_wrong_roundings[i].name; i++) {
        struct guess g = {.plan = *s->asked, .rounding = &hc_wrong_roundings[i]};
        if (hc_scale_block(s->asked) > 0) {
            try_guess(&g, s->asked, s->trace, s->answers);
            keep(&s->best, &g);
        }
    }
}

/* The same rule with one other option. */
static void try_options(struct search *s)
{
    static const int windows[] = {1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024};
    struct hc_scale_plan plan = *s->asked;
    for (int c = 0; hc_scale_code_names[c] && hc_scale_block(&plan) == 0; c++) {
        plan.codes = plan.delayed.codes = hc_format_by_name(hc_scale_code_names[c]);
        try_plan(s, &plan);
    }
    plan = *s->asked;
    plan.delayed.most_recent = !plan.delayed.most_recent;
    for (int i = -1; i < 11 && plan.has_history; i++, plan = *s->asked) {
        if (i >= 0)
            plan.window = windows[i];
        try_plan(s, &plan);
    }
    for (int margin = 0; margin < 4 && plan.has_history; margin++) {
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

static int name(const struct guess *g, const struct hc_scale_plan *asked, char *text, size_t room)
{
    static const char *const twists[TWISTS] = {
        [AS_IT_IS] = "",
        [RECIPROCAL] = "the reciprocal of ",
        [A_STEP_LATE] = "the scale before the step of ",
        [ROLLS_WHEN_IDLE] = "a history that rolls on idle steps, too, under ",
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

void hc_scale_diagnose(const struct hc_scale_plan *plan, const struct hc_scale_trace *trace,
                       const struct hc_scale_answers *answers, char text[HC_SCALE_DIAGNOSIS])
{
    struct search s = {plan, trace, answers, {.count = 0}};
    text[0] = '\0';
    try_rules(&s);
    try_options(&s);
    try_roundings(&s);
    const struct best *b = &s.best;
    if (b->count == 0)
        return;
    int at = snprintf(text, HC_SCALE_DIAGNOSIS, "this is ");
    for (int i = 0; i < b->count; i++) {
        at += snprintf(text + at, (size_t)(HC_SCALE_DIAGNOSIS - at), "%s", i ? " or " : "");
        at += name(&b->guess[i], plan, text + at, (size_t)(HC_SCALE_DIAGNOSIS - at));
    }
    (void)snprintf(text + at, (size_t)(HC_SCALE_DIAGNOSIS - at),
                   "%s, which explains %d of the %d answers read", b->more ? " (and others)" : "",
                   b->guess[0].right, answers->count);
}
