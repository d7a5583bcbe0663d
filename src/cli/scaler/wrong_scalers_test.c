/* Loss scalers that are subtly wrong: halfcheck verify must name the first step at which each
   differs from a right one. The right ones are written here, from the sources of the systems. */
#include <math.h>
#include <stdio.h>

#include "cli/scaler/trace.h"
#include "cli/testing.h"

/* No line is longer than a terminal's. */
static void expect_narrow(const char *text)
{
    for (const char *end; (end = strchr(text, '\n')); text = end + 1)
        cr_expect(end - text <= 80, "%d columns: %.*s", (int)(end - text), (int)(end - text), text);
}

/* The text with its lines joined. */
static const char *unwrapped(const char *text)
{
    static char joined[4096];
    size_t n = 0;
    while (*text && n + 1 < sizeof joined) {
        bool breaks = strncmp(text, "\n     ", 6) == 0;
        joined[n++] = breaks ? ' ' : *text;
        text += breaks ? 6 : 1;
    }
    joined[n] = '\0';
    return joined;
}

enum { INTERVAL = 5 };

enum fault {
    RIGHT,
    LONG,      /* an interval that is one too long */
    LATE,      /* growth shows a step late */
    FLOOR,     /* no floor, or one of 2^-9 where there is none */
    CAP,       /* no cap, or a last finite power where there is none */
    NAN_CLEAN, /* a detector that asks for an infinity */
    POSITIVE,  /* and one that asks x == inf, or x != x */
    DEAF,      /* every third overflow missed, and printed as 0 */
    DULL,      /* every third overflow missed */
    COUNT,     /* an overflow does not restart the count, or does where it should not */
    EARLY,     /* stops at half the trace */
    SHORT,     /* announces half of it and stops there */
    FAULTS
};

/* What verify says of it. fastai's floor is a scale at which it overlooks; where there is no cap
   the fault is one. */
static const char *diagnosis(enum hc_scaler_rule rule, enum fault fault)
{
    bool capped = hc_scalers[rule].rule.cap != HC_CAP_NONE;
    bool fastai = rule == HC_SCALER_FASTAI;
    const char *const said[FAULTS] = {
        [LONG] = "the rule with growth interval 6 in place of 5, ",
        [LATE] = "the rule, but growing at the beginning of the next step, ",
        [FLOOR] =
            fastai
                ? "the rule, but also detecting overflows at scale 1, as scaler/apex-amp has it, "
                : " a floor",
        [CAP] =
            capped ? "the rule without a cap, " : "the rule with growth only to finite scales, ",
        [NAN_CLEAN] = "the rule with a detector that does not see nan, ",
        [POSITIVE] = "the rule with a detector that does not see -inf, ",
        [DULL] = "the rule with a detector that does not see -inf, ",
        [COUNT] = "restarting its count at an overflow"};
    return said[fault];
}

struct subject {
    enum hc_scaler_rule rule;
    enum fault fault;
    double scale;
    int interval;
    int count; /* clean steps as the rule counts them */
    int left;  /* DeepSpeed's hysteresis */
    int run;   /* clean steps since the last overflow */
    int found; /* overflows so far */
    bool raised;
};

static void grow(struct subject *s)
{
    bool wrong = s->fault == CAP;
    double grown = 2 * s->scale;
    switch (s->rule) {
    case HC_SCALER_FASTAI:
    case HC_SCALER_APEX_AMP:
        s->scale = wrong || grown <= 0x1p24 ? grown : s->scale;
        return;
    case HC_SCALER_TORCH:
        grown = (double)(float)grown;
        s->scale = wrong || isfinite(grown) ? grown : s->scale;
        return;
    default:
        s->scale = wrong && isinf(grown) ? s->scale : grown;
    }
}

static void halve(struct subject *s)
{
    bool wrong = s->fault == FLOOR;
    double half = s->scale / 2;
    switch (s->rule) {
    case HC_SCALER_APEX_FP16UTILS:
    case HC_SCALER_DEEPSPEED_FUSED:
        s->scale = wrong || half >= 1 ? half : 1;
        return;
    case HC_SCALER_DEEPSPEED_UNFUSED:
        s->scale = wrong || half >= 0.25 ? half : 0.25;
        return;
    case HC_SCALER_DEEPSPEED_CONSECUTIVE:
        s->left = s->run > 0 ? 2 : s->left;
        /* fall through */
    case HC_SCALER_DEEPSPEED_0170:
    case HC_SCALER_DEEPSPEED_0171:
        if (s->left > 1) {
            s->left--;
            return;
        }
        s->raised = s->scale == 1 && !wrong;
        s->scale = wrong || half >= 1 ? half : 1;
        return;
    case HC_SCALER_FASTAI:
        s->scale = half;
        return;
    default:
        half = s->rule == HC_SCALER_TORCH ? (double)(float)half : half;
        s->scale = wrong && half < 0x1p-9 ? 0x1p-9 : half;
    }
}

static void update(struct subject *s, bool found)
{
    bool keeps = (s->rule == HC_SCALER_FASTAI2) != (s->fault == COUNT);
    bool overlooks = s->rule == HC_SCALER_FASTAI && s->scale <= 1 && s->fault != FLOOR;
    bool late = s->rule >= HC_SCALER_DEEPSPEED_0171;
    if (s->rule == HC_SCALER_APEX_AMP && s->scale == 0) {
        s->raised = true;
        return;
    }
    if (found && !overlooks) {
        halve(s);
        s->count = keeps ? s->count : 0;
        s->run = 0;
        return;
    }
    s->count++;
    s->run++;
    if (s->count < s->interval + late)
        return;
    s->left = 2;
    grow(s);
    /* fastai counts on where its cap refuses, with the same effect. */
    s->count = late;
}

/* What the detector makes of it. */
static bool looks(struct subject *s, enum hc_gradients sent)
{
    s->found += sent != HC_GRADIENTS_FINITE;
    if (s->fault == NAN_CLEAN)
        return sent == HC_GRADIENTS_INF || sent == HC_GRADIENTS_MINUS_INF;
    if (s->fault == POSITIVE)
        return sent == HC_GRADIENTS_INF || sent == HC_GRADIENTS_NAN;
    if ((s->fault == DEAF || s->fault == DULL) && s->found % 3 == 0)
        return false;
    return sent != HC_GRADIENTS_FINITE;
}

/* One line of answer without its newline. */
static void answer(struct subject *s, int step, int steps, enum hc_gradients sent, char line[128])
{
    char echo[HC_STEP_LINE];
    double before = s->scale;
    bool found = looks(s, sent);
    update(s, found);
    double shown = s->fault == LATE && s->scale > before ? before : s->scale;
    bool deaf = s->fault == DEAF && !found;
    hc_scaler_step_line(echo, step, s->fault == SHORT ? steps / 2 : steps,
                        deaf ? HC_GRADIENTS_FINITE : sent);
    if (s->raised)
        (void)snprintf(line, 128, "%s raises", echo);
    else
        (void)snprintf(line, 128, "%s %a", echo, shown);
}

static struct subject fresh(const struct hc_scaler_plan *plan, enum fault fault)
{
    return (struct subject){.rule = plan->rule,
                            .fault = fault,
                            .scale = plan->initial,
                            .interval = plan->interval + (fault == LONG),
                            .left = 2};
}

/* Writes the answers of the wrong scaler into the file "answers". Returns the first step that
   the right one answers differently, or 0. */
static int write_answers(const struct hc_scaler_plan *plan, const unsigned char *sent,
                         enum fault fault)
{
    char line[HC_PLAN_LINE];
    char want[128];
    char got[128];
    struct subject right = fresh(plan, RIGHT);
    struct subject wrong = fresh(plan, fault);
    int first = 0;
    bool half = fault == EARLY || fault == SHORT;
    int steps = hc_scaler_trace(plan, NULL).length;
    FILE *file = fopen("answers", "w");
    cr_assert_not_null(file);
    hc_scaler_plan_line(plan, line);
    (void)fprintf(file, "%s\n", line);
    for (int i = 0; i < (half ? steps / 2 : steps); i++) {
        answer(&right, i + 1, steps, (enum hc_gradients)sent[i], want);
        answer(&wrong, i + 1, steps, (enum hc_gradients)sent[i], got);
        (void)fprintf(file, "%s\n", got);
        if (!first && strcmp(want, got) != 0)
            first = i + 1;
    }
    cr_assert_eq(fclose(file), 0);
    return fault == EARLY ? steps / 2 + 1 : first;
}

static void expect_verdict(enum hc_scaler_rule rule, uint64_t seed, enum fault fault)
{
    const char *name = hc_scalers[rule].name;
    struct hc_scaler_plan plan = {.seed = seed, .interval = INTERVAL};
    char line[128];
    char verdict[128];
    (void)snprintf(line, sizeof line, "scaler/%s", name);
    cr_assert_eq(hc_scaler_plan_for("test", line, &plan), HC_AS_CLAIMED);
    plan.steps = hc_scaler_trace(&plan, NULL).length;
    unsigned char *sent = malloc((size_t)plan.steps);
    cr_assert_not_null(sent);
    (void)hc_scaler_trace(&plan, sent);
    int first = write_answers(&plan, sent, fault);
    free(sent);
    cr_expect((fault == RIGHT) == (first == 0), "%s: fault %d shows nowhere", name, (int)fault);
    if (fault == RIGHT)
        (void)snprintf(verdict, sizeof verdict, "PASS scaler/%s: ", name);
    else
        (void)snprintf(verdict, sizeof verdict, "FAIL scaler/%s: step %d of ", name, first);
    (void)snprintf(line, sizeof line, "$hc verify scaler/%s --strict < answers", name);
    const struct ran *ran = run_shell(line);
    cr_expect_eq(ran->status, fault == RIGHT ? 0 : 1, "%s, fault %d: %s%s", name, (int)fault,
                 ran->out, ran->err);
    cr_expect_eq(strncmp(ran->out, verdict, strlen(verdict)), 0, "%s, fault %d: '%s', not %s", name,
                 (int)fault, verdict, ran->out);
    const char *said = diagnosis(rule, fault);
    const char *joined = unwrapped(ran->out);
    cr_expect(said ? strstr(joined, said) != NULL : strstr(joined, "this is") == NULL,
              "%s, fault %d: no '%s' in %s", name, (int)fault, said ? said : "", ran->out);
    expect_narrow(ran->out);
}

/* With both seeds, where the trace ends in two ways: each fault with the one that can show it. */
Test(wrong_scalers, each_fault_of_each_rule_is_named_at_its_first_step, .init = enter_folder)
{
    for (int r = 0; r < HC_SCALER_COUNT; r++) {
        enum hc_scaler_rule rule = (enum hc_scaler_rule)r;
        if (hc_scalers[rule].rule.interval == 0)
            continue;
        bool both = rule == HC_SCALER_FASTAI2 || rule == HC_SCALER_DEEPSPEED_0170 ||
                    rule == HC_SCALER_DEEPSPEED_0171 || rule == HC_SCALER_DEEPSPEED_CONSECUTIVE;
        expect_verdict(rule, 1, RIGHT);
        for (int fault = RIGHT; fault < FAULTS; fault++)
            expect_verdict(rule, both && fault == CAP, (enum fault)fault);
    }
}
