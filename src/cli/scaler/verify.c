#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/scaler/diagnosis.h"
#include "cli/subject.h"
#include "op/memory_stream.h"

enum { LINE = 256 };

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

static void print_scale(const char *what, double scale, bool raises)
{
    if (raises)
        printf("%s raises", what);
    else
        printf("%s %.17g (%a)", what, scale, scale);
}

static bool fail(const struct reading *r, int step)
{
    printf("FAIL %s: step %d of %d:", r->name, step, r->coverage.length);
    return false;
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
        printf("     %s\n", text);
    hc_scaler_answers_close(&r->answers);
}

/* Compares an answer with what was sent and with the rule; prints the difference. */
static bool is_right(struct reading *r, const struct hc_scaler_answer *a)
{
    char sent[HC_STEP_LINE];
    if (r->step == r->coverage.length) {
        (void)fail(r, r->step);
        printf(" after this last step came '%s'\n", a->echo);
        return false;
    }
    enum hc_gradients what = (enum hc_gradients)r->sent[r->step++];
    hc_scaler_step_line(sent, r->step, r->coverage.length, what);
    if (strcmp(a->echo, sent) != 0) {
        (void)fail(r, r->step);
        printf(" sent '%s', got back '%s'\n", sent, a->echo);
        return false;
    }
    int before = hc_oracle_log2(&r->oracle);
    int64_t clean = r->oracle.run;
    (void)hc_oracle_step(&r->oracle, what != HC_GRADIENTS_FINITE);
    double want = hc_oracle_scale(&r->oracle);
    if (a->raises == r->oracle.gave_up && (a->raises || a->scale == want))
        return true;
    (void)fail(r, r->step);
    print_scale(" want", want, r->oracle.gave_up);
    print_scale(", got", a->scale, a->raises);
    printf("\n     %s after %lld clean step%s",
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
        *right = fail(r, r->step + 1);
        printf(" no answer came back\n");
    }
    return HC_AS_CLAIMED;
}

static void print_log2(int log2)
{
    if (log2 == HC_LOG2_ZERO || log2 == HC_LOG2_INFINITE)
        printf("%s", log2 == HC_LOG2_ZERO ? "0" : "infinity");
    else
        printf("2^%d", log2);
}

/* A trace that does not reach all limits of the rule has not tested the rule. */
static int conclude(const struct reading *r, bool strict)
{
    const struct hc_trace_coverage *t = &r->coverage;
    printf("%s %s: all %d steps follow the rule; %d overflows, %d growths, scale ",
           t->missing ? "MISTRUSTED" : "PASS", r->name, t->length, t->overflows, t->growths);
    print_log2(t->lowest);
    if (t->lowest != t->highest) {
        printf(" to ");
        print_log2(t->highest);
    }
    printf("%s\n", r->oracle.gave_up ? ", ended in the error" : "");
    if (t->missing)
        printf("     %s: use more steps, or another first scale\n", t->missing);
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
