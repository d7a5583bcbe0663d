/* halfcheck gen scaler/RULE and verify scaler/RULE. */
#include <errno.h>
#include <math.h>
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

static int print(struct hc_scaler_plan plan)
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
    return status == HC_AS_CLAIMED ? print(plan) : status;
}

enum { LINE = 256, INDENT = 5, SCALE = 64 };

/* The trace, and the answers that have been read. */
struct reading {
    const char *name;
    struct hc_scaler_plan plan;
    struct hc_trace_coverage coverage;
    unsigned char *sent; /* the trace; NULL before the first line */
    struct hc_oracle oracle;
    long long line;
    int step;                         /* answered so far */
    struct hc_scaler_answers answers; /* when one is wrong */
};

static int bad_line(const struct reading *r, const char *what, const char *line)
{
    return hc_complain("verify: standard input:%lld: %s: '%.*s'", r->line, what,
                       (int)strcspn(line, "\n"), line);
}

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
static int prepare(struct reading *r, const char *line)
{
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

/* Reads one line, which is short enough. */
static int read_line(struct reading *r, const char *line, bool *right)
{
    struct hc_scaler_answer a;
    if (!r->sent && hc_scaler_plan_is(line))
        return prepare(r, line);
    if (line[strspn(line, " \t\r\n")] == '\0' || line[0] == '#')
        return HC_AS_CLAIMED;
    if (!r->sent)
        return bad_line(r, "a step comes before the first line of gen, which begins with #", line);
    const char *wrong = hc_scaler_answer_read(line, &a);
    if (wrong)
        return bad_line(r, wrong, line);
    *right = is_right(r, &a);
    return HC_AS_CLAIMED;
}

/* Reads to the end, or to the first wrong step. */
static int read_all(struct reading *r, bool *right)
{
    char line[LINE];
    bool has_nul;
    int status = HC_AS_CLAIMED;
    *right = true;
    while (status == HC_AS_CLAIMED && *right && hc_subject_line(line, sizeof line, &has_nul)) {
        r->line++;
        status = has_nul ? bad_line(r, "a line has a NUL byte", line)
                 : strlen(line) == LINE - 1
                     ? bad_line(r, "a line is longer than 254 characters", line)
                     : read_line(r, line, right);
    }
    if (status != HC_AS_CLAIMED || !*right)
        return status;
    if (ferror(stdin))
        return hc_complain("verify: standard input: %s", strerror(errno));
    if (r->step == 0)
        return hc_complain("verify: standard input has no step");
    if (r->step < r->coverage.length) {
        *right = false;
        fail(r, r->step + 1, "no answer came back");
    }
    return HC_AS_CLAIMED;
}

static const char *log2_text(char text[SCALE], int log2)
{
    if (log2 == HC_LOG2_ZERO || log2 == HC_LOG2_INFINITE)
        return log2 == HC_LOG2_ZERO ? "0" : "infinity";
    (void)snprintf(text, SCALE, "2^%d", log2);
    return text;
}

/* A trace that does not reach all limits of the rule has not tested the rule. */
static int conclude(const struct reading *r, bool strict)
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
    bool right;
    int status = hc_scaler_plan_for("verify", name, &none);
    if (status != HC_AS_CLAIMED)
        return status;
    struct reading r = {.name = name};
    status = read_all(&r, &right);
    diagnose(&r);
    hc_subject_drain();
    free(r.sent);
    if (status != HC_AS_CLAIMED)
        return status;
    return right ? conclude(&r, verify->strict) : HC_CLAIM_FAILED;
}
