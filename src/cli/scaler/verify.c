/* halfcheck gen scaler/RULE and verify scaler/RULE. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/scaler/diagnosis.h"
#include "cli/scaler/trace.h"
#include "cli/subject.h"
#include "op/memory_stream.h"
#include "op/text.h"
#include "op/wrap.h"

static int print_trace(struct hc_scaler_plan plan)
{
    char line[HC_PLAN_LINE];
    char sent_line[HC_STEP_LINE];
    if (plan.steps == 0)
        plan.steps = hc_scaler_trace(&plan, NULL).length;
    unsigned char *sent = malloc((size_t)plan.steps);
    if (!sent)
        return hc_complain("gen: no memory for %d steps", plan.steps);
    int length = hc_scaler_trace(&plan, sent).length;
    hc_scaler_plan_line(&plan, line);
    puts(line);
    for (int i = 0; i < length; i++) {
        hc_scaler_step_line(sent_line, i + 1, length, (enum hc_gradients)sent[i]);
        puts(sent_line);
    }
    free(sent);
    return HC_AS_CLAIMED;
}

int hc_scaler_gen(const char *name, const struct hc_gen *gen)
{
    struct hc_scaler_plan plan = {
        .seed = gen->seed, .steps = gen->steps, .interval = gen->interval, .initial = gen->initial};
    int status = hc_scaler_plan_for("gen", name, &plan);
    return status == HC_AS_CLAIMED ? print_trace(plan) : status;
}

enum { LINE = 256, INDENT = 5, SCALE = 64 };

/* The trace, and the answers that have been read. */
struct reading {
    const char *name;
    struct hc_scaler_plan plan;
    struct hc_trace_coverage coverage;
    unsigned char *sent; /* the trace; NULL before the first line */
    struct hc_oracle oracle;
    int step;                         /* answered so far */
    struct hc_scaler_answers answers; /* when one is wrong */
};

static const char *scale_text(char text[SCALE], double scale, bool raises)
{
    (void)snprintf(text, SCALE, raises ? "raises" : "%.17g (%a)", scale, scale);
    return text;
}

__attribute__((format(printf, 3, 4))) static void fail(const struct reading *r, int step,
                                                       const char *format, ...)
{
    char text[2 * LINE], plain[2 * LINE];
    va_list list;
    va_start(list, format);
    int at = snprintf(text, LINE, "FAIL %s: step %d of %d: ", r->name, step, r->coverage.length);
    (void)vsnprintf(text + at, sizeof text - (size_t)at, format, list);
    va_end(list);
    hc_text_plain(plain, sizeof plain, text);
    hc_print_wrapped(stdout, 0, INDENT, plain);
}

static void print_below(const char *text)
{
    hc_print_wrapped(stdout, printf("%*s", INDENT, ""), INDENT, text);
}

/* Prints what explains the wrong answer, with the help of the answers after it. */
static void diagnose(struct reading *r)
{
    char line[LINE];
    char text[HC_DIAGNOSIS];
    bool has_nul;
    if (!r->answers.scale)
        return;
    while (hc_subject_line(line, sizeof line, &has_nul) && !has_nul && strlen(line) < LINE - 1 &&
           hc_scaler_answers_add(&r->answers, line)) {
    }
    hc_scaler_diagnose(&r->answers, text);
    if (text[0])
        print_below(text);
    hc_scaler_answers_close(&r->answers);
}

/* Compares an answer with what was sent and with the rule; prints the difference. */
static bool is_right(struct reading *r, const struct hc_scaler_answer *a)
{
    char sent[HC_STEP_LINE];
    if (r->step == r->coverage.length) {
        fail(r, r->step, "after this last step came '%s'", a->echo);
        return false;
    }
    enum hc_gradients what = (enum hc_gradients)r->sent[r->step++];
    hc_scaler_step_line(sent, r->step, r->coverage.length, what);
    if (strcmp(a->echo, sent) != 0) {
        fail(r, r->step, "sent '%s', got back '%s'", sent, a->echo);
        return false;
    }
    int before = hc_oracle_log2(&r->oracle);
    int64_t clean = r->oracle.run;
    (void)hc_oracle_step(&r->oracle, what != HC_GRADIENTS_FINITE);
    double want = hc_oracle_scale(&r->oracle);
    if (a->raises == r->oracle.gave_up && (a->raises || a->scale == want))
        return true;
    char texts[2][SCALE];
    fail(r, r->step, "want %s, got %s", scale_text(texts[0], want, r->oracle.gave_up),
         scale_text(texts[1], a->scale, a->raises));
    printf("     %s after %lld clean step%s",
           what == HC_GRADIENTS_FINITE ? "one more clean step" : hc_gradients_words[what],
           (long long)clean, clean == 1 ? "" : "s");
    if (before == HC_LOG2_ZERO || before == HC_LOG2_INFINITE)
        printf(", at scale %s\n", before == HC_LOG2_ZERO ? "0" : "infinity");
    else
        printf(", at scale 2^%d\n", before);
    hc_scaler_answers_open(&r->answers, &r->plan, r->sent, r->coverage.length, r->step - 1, a);
    if (!r->answers.scale)
        hc_memory_lost_one();
    return false;
}

/* Reads the first line of gen, and makes the trace again. */
static int prepare(void *context, const char *line)
{
    struct reading *r = context;
    if (hc_scaler_plan_read(line, &r->plan) != HC_AS_CLAIMED)
        return HC_WRONG;
    const char *rule = hc_scalers[r->plan.rule].name;
    if (strcmp(r->name + strlen("scaler/"), rule) != 0)
        return hc_complain("verify: the trace is of scaler/%s, not of %s", rule, r->name);
    r->sent = malloc((size_t)r->plan.steps);
    if (!r->sent)
        return hc_complain("verify: no memory for %d steps", r->plan.steps);
    r->coverage = hc_scaler_trace(&r->plan, r->sent);
    r->oracle = hc_scaler_oracle(&r->plan);
    return HC_AS_CLAIMED;
}

static int take_answer(void *context, char *line);

static const struct hc_dialogue dialogue = {
    .room = LINE,
    .blanks = " \t\r\n",
    .is_first = hc_scaler_plan_is,
    .take_first = prepare,
    .take_answer = take_answer,
    .has_nul = "a line has a NUL byte",
    .too_long = "a line is longer than 254 characters",
    .too_early = "a step comes before the first line of gen, which begins with #",
    .answer = "step"};

/* The first wrong step ends the reading. */
static int take_answer(void *context, char *line)
{
    struct hc_scaler_answer a;
    const char *wrong = hc_scaler_answer_read(line, &a);
    if (wrong)
        return hc_dialogue_refuse(&dialogue, wrong, line);
    return is_right(context, &a) ? HC_AS_CLAIMED : HC_CLAIM_FAILED;
}

static const char *log2_text(char text[SCALE], int log2)
{
    if (log2 == HC_LOG2_ZERO || log2 == HC_LOG2_INFINITE)
        return log2 == HC_LOG2_ZERO ? "0" : "infinity";
    (void)snprintf(text, SCALE, "2^%d", log2);
    return text;
}

/* A trace that does not reach all limits of the rule has not tested the rule. */
static int conclude_steps(const struct reading *r, bool strict)
{
    const struct hc_trace_coverage *t = &r->coverage;
    char text[2 * LINE], low[SCALE], high[SCALE];
    bool moves = t->lowest != t->highest;
    (void)snprintf(text, sizeof text,
                   "%s %s: all %d steps follow the rule; %d overflows, %d growths, scale %s%s%s%s",
                   t->missing ? "MISTRUSTED" : "PASS", r->name, t->length, t->overflows, t->growths,
                   log2_text(low, t->lowest), moves ? " to " : "",
                   moves ? log2_text(high, t->highest) : "",
                   r->oracle.gave_up ? ", ended in the error" : "");
    hc_print_wrapped(stdout, 0, INDENT, text);
    if (t->missing) {
        (void)snprintf(text, sizeof text, "%s: use more steps, or another first scale", t->missing);
        print_below(text);
    }
    return t->missing && strict ? HC_CLAIM_FAILED : HC_AS_CLAIMED;
}

int hc_scaler_verify(const char *name, const struct hc_verify *verify)
{
    struct hc_scaler_plan none = {0};
    int status = hc_scaler_plan_for("verify", name, &none);
    if (status != HC_AS_CLAIMED)
        return status;
    struct reading r = {.name = name};
    status = hc_dialogue_read(&dialogue, &r);
    if (status == HC_AS_CLAIMED && r.step < r.coverage.length) {
        fail(&r, r.step + 1, "no answer came back");
        status = HC_CLAIM_FAILED;
    }
    diagnose(&r);
    hc_subject_drain();
    free(r.sent);
    return status == HC_AS_CLAIMED ? conclude_steps(&r, verify->strict) : status;
}
