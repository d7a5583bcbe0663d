#include "cli/scale/diagnosis.h"

#include <stddef.h>
#include <stdio.h>

#include "cli/scale/guess.h"

/* The best guesses so far, which all explain as many answers. */
struct best {
    struct hc_scale_guess guess[3];
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
static bool is_simpler(const struct hc_scale_plan *asked, const struct hc_scale_guess *x,
                       const struct hc_scale_guess *g)
{
    struct hc_scale_guess plain = {.plan = *asked, .twist = g->twist};
    plain.plan.rule = g->plan.rule;
    plain.plan.delayed.rule = g->plan.delayed.rule;
    return g->twist != HC_SCALE_AS_IT_IS && hc_scale_guess_is_same(x, &plain);
}

static void keep(struct best *b, const struct hc_scale_plan *asked, const struct hc_scale_guess *g)
{
    if (b->count && g->explained < b->guess[0].explained)
        return;
    bool is_more = b->count && g->explained > b->guess[0].explained;
    for (int i = 0; i < b->count && !is_more; i++)
        if (hc_scale_guess_is_same(&b->guess[i], g) || is_simpler(asked, &b->guess[i], g))
            return;
    if (is_more)
        b->count = b->more = 0;
    if (b->count < 3)
        b->guess[b->count++] = *g;
    else
        b->more++;
}

static void try_guess(struct search *s, struct hc_scale_guess *g)
{
    hc_scale_guess_try(g, s->asked, s->trace, s->answers);
    if (g->explained > s->right)
        keep(&s->best, s->asked, g);
}

static void try_plan(struct search *s, const struct hc_scale_plan *plan)
{
    for (int t = HC_SCALE_AS_IT_IS; t < HC_SCALE_TWISTS; t++) {
        struct hc_scale_guess g = {.plan = *plan, .twist = (enum hc_scale_twist)t};
        if (hc_scale_twist_is_for(plan, g.twist))
            try_guess(s, &g);
    }
}

/* The same rule with elements rounded wrongly. */
static void try_roundings(struct search *s)
{
    for (int i = 0; hc_wrong_roundings[i].name && hc_scale_block(s->asked) > 0; i++) {
        struct hc_scale_guess g = {.plan = *s->asked, .rounding = &hc_wrong_roundings[i]};
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

static int name(const struct hc_scale_guess *g, const struct hc_scale_plan *asked, char *text,
                size_t room)
{
    static const char *const twists[HC_SCALE_TWISTS] = {
        [HC_SCALE_AS_IT_IS] = "",
        [HC_SCALE_RECIPROCAL] = "the reciprocal of ",
        [HC_SCALE_A_STEP_LATE] = "the scale before the step of ",
        [HC_SCALE_ROLLS_WHEN_IDLE] = "a history that rolls on idle steps, too, under ",
        [HC_SCALE_MARGIN_OF_QUOTIENT] = "a margin that is multiplied into the quotient under ",
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
static void say(const struct search *s, char text[HC_SCALE_DIAGNOSIS])
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
        say(&s, text);
}
