/* halfcheck gen scale/RULE and verify scale/RULE. */
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/lines.h"
#include "cli/scale/diagnosis.h"
#include "cli/scale/trace.h"
#include "num/bits.h"
#include "op/wrap.h"

/* halfcheck gen scale/RULE. */

int hc_scale_gen(const char *name, const struct hc_gen *options)
{
    struct hc_scale_plan plan;
    struct hc_scale_trace trace;
    char line[HC_SCALE_LINE];
    char text[HC_SCALE_TEXT];
    int status = hc_scale_plan_for("gen", name, options, &plan);
    if (status != HC_AS_CLAIMED)
        return status;
    if (!hc_scale_trace_make(&plan, &trace))
        return hc_complain("gen: no memory for the trace");
    hc_scale_plan_line(&plan, line);
    puts(line);
    for (int i = 0; i < trace.lines; i++) {
        hc_scale_trace_text(&trace, i, text);
        puts(text);
    }
    free(trace.words);
    return HC_AS_CLAIMED;
}

/* halfcheck verify scale/RULE. */

enum { LINE = HC_SCALE_TEXT + HC_SCALE_ANSWER + 8, INDENT = 5 };

/* The trace, and the answers that have been read. */
struct reading {
    const char *name;
    struct hc_scale_plan plan;
    struct hc_scale_trace trace; /* no words before the first line */
    struct hc_scale_oracle oracle;
    struct hc_scale_answers answers;
    struct hc_scale_answer want; /* to the wrong answer */
    double scale_before;
    char after[HC_SCALE_ECHO]; /* the line that comes after the last one of the trace, or "" */
};

/* Reads the first line of gen, and makes the trace again. */
static int prepare(void *context, const char *line)
{
    struct reading *r = context;
    if (hc_scale_plan_read(line, &r->plan) != HC_AS_CLAIMED)
        return HC_WRONG;
    const char *rule = hc_scale_plan_rule(&r->plan);
    if (strcmp(r->name + strlen("scale/"), rule) != 0)
        return hc_complain("verify: the trace is of scale/%s, not of %s", rule, r->name);
    bool has_trace = hc_scale_trace_make(&r->plan, &r->trace);
    if (has_trace)
        r->answers.got = malloc((size_t)r->trace.lines * sizeof *r->answers.got);
    if (!r->answers.got)
        return hc_complain("verify: no memory for the trace");
    hc_scale_begin(&r->oracle, &r->plan);
    return HC_AS_CLAIMED;
}

/* What comes behind the echo of the next line, or NULL if the line is no echo of it. */
static char *behind_echo(const struct reading *r, char *line)
{
    char sent[HC_SCALE_TEXT];
    hc_scale_trace_text(&r->trace, r->answers.count, sent);
    size_t length = strlen(sent);
    return strncmp(line, sent, length) == 0 && line[length] == ' ' ? line + length + 1 : NULL;
}

static int take_answer(void *context, char *line);

static const struct hc_dialogue dialogue = {
    .room = LINE,
    .blanks = "\r\n",
    .is_first = hc_scale_plan_is,
    .take_first = prepare,
    .take_answer = take_answer,
    .quote = hc_scale_echo,
    .has_nul = "this line has a NUL byte",
    .too_long = "this line is too long",
    .too_early = "a line comes before the first line of gen, which begins with #",
    .answer = "answer"};

/* Reads to the end, to a line that cannot be read, or to one after the last of the trace. */
static int take_answer(void *context, char *line)
{
    struct reading *r = context;
    struct hc_scale_answers *a = &r->answers;
    line[strcspn(line, "\r\n")] = '\0';
    if (a->count == r->trace.lines) {
        hc_scale_echo(line, r->after);
        return HC_CLAIM_FAILED;
    }
    char *answer = behind_echo(r, line);
    if (!answer)
        return hc_dialogue_refuse(&dialogue, "this is not gen's line with an answer behind it",
                                  line);
    const char *what = hc_scale_answer_read(&r->plan, answer, &a->got[a->count]);
    if (what)
        return hc_dialogue_refuse(&dialogue, what, line);
    a->count++;
    if (a->wrong >= 0)
        return HC_AS_CLAIMED;
    double before = r->oracle.scale;
    struct hc_scale_answer want =
        hc_scale_next(&r->oracle, r->trace.words + (ptrdiff_t)(a->count - 1) * r->trace.width);
    if (hc_scale_differs(&r->plan, &want, &a->got[a->count - 1]) >= 0) {
        a->wrong = a->count - 1;
        r->want = want;
        r->scale_before = before;
    }
    return HC_AS_CLAIMED;
}

static void print_below(const char *text)
{
    hc_print_wrapped(stdout, printf("%*s", INDENT, ""), INDENT, text);
}

/* What the state was: the scale and the history before the wrong step. */
static void print_state(const struct reading *r)
{
    enum { SHOWN = 16, ROOM = 32 * (SHOWN + 2) };
    const double *history = r->oracle.history[!r->oracle.current];
    char text[ROOM];
    (void)snprintf(text, ROOM, "before it: scale %a, history", r->scale_before);
    for (int i = 0; i < r->plan.window && i < SHOWN; i++)
        hc_append(text, ROOM, " %a", history[i]);
    hc_append(text, ROOM, "%s", r->plan.window > SHOWN ? " ..." : "");
    print_below(text);
}

/* The wrong answer to an amax. */
static void print_scale(const struct reading *r, uint32_t amax, const struct hc_scale_answer *got)
{
    printf("want %08x, got %08x\n", (unsigned)r->want.scale, (unsigned)got->scale);
    if (r->plan.has_history)
        print_state(r);
    printf("     amax %08x (%a)\n", (unsigned)amax, (double)hc_fp32_value(amax));
}

/* The wrong answer to a block: its scale, or the first wrong code with those around it. */
static void print_block(const struct reading *r, const uint32_t *elements,
                        const struct hc_scale_answer *got)
{
    int place = hc_scale_differs(&r->plan, &r->want, got);
    int digits = hc_scale_code_digits(&r->plan);
    unsigned scale = (unsigned)r->want.scale;
    char want[HC_SCALE_EXCERPT];
    char is[HC_SCALE_EXCERPT];
    if (place == 0) {
        printf("want the scale %02x, got %02x\n", scale, (unsigned)got->scale);
    } else {
        uint32_t element = elements[place - 1];
        printf("want %0*x for element %d, got %0*x\n", digits, r->want.code[place - 1], place,
               digits, got->code[place - 1]);
        printf("     element %d, %08x (%a), under the scale %02x\n", place, (unsigned)element,
               (double)hc_fp32_value(element), scale);
    }
    hc_scale_answer_excerpt(&r->plan, &r->want, place, want);
    hc_scale_answer_excerpt(&r->plan, got, place, is);
    printf("     want %s\n     got  %s\n", want, is);
}

static int fail(const struct reading *r)
{
    int wrong = r->answers.wrong;
    int block = hc_scale_block(&r->plan);
    const struct hc_scale_answer *got = &r->answers.got[wrong];
    const uint32_t *words = r->trace.words + (ptrdiff_t)wrong * r->trace.width;
    char text[HC_SCALE_DIAGNOSIS];
    printf("FAIL %s: line %d of %d: ", r->name, wrong + 1, r->trace.lines);
    if (block == 0)
        print_scale(r, words[0], got);
    else
        print_block(r, words + r->trace.width - block, got);
    hc_scale_diagnose(&r->plan, &r->trace, &r->answers, text);
    if (text[0])
        print_below(text);
    return HC_CLAIM_FAILED;
}

static int conclude_scales(const struct reading *r)
{
    const struct hc_scale_answers *a = &r->answers;
    if (a->wrong >= 0)
        return fail(r);
    if (a->count < r->trace.lines) {
        printf("FAIL %s: line %d of %d: no answer came back\n", r->name, a->count + 1,
               r->trace.lines);
        return HC_CLAIM_FAILED;
    }
    if (r->after[0]) {
        char text[LINE];
        (void)snprintf(text, sizeof text, "FAIL %s: line %d of %d: after this last line came '%s'",
                       r->name, r->trace.lines, r->trace.lines, r->after);
        hc_print_wrapped(stdout, 0, INDENT, text);
        return HC_CLAIM_FAILED;
    }
    printf("PASS %s: all %d %s follow the rule\n", r->name, a->count,
           r->plan.has_history        ? "steps"
           : hc_scale_block(&r->plan) ? "blocks, scales and codes,"
                                      : "scales");
    return HC_AS_CLAIMED;
}

int hc_scale_verify(const char *name, const struct hc_verify *options)
{
    (void)options;
    static struct reading r;
    struct hc_scale_plan plan;
    struct hc_gen none = {.codes = -1, .from = -1};
    memset(&r, 0, sizeof r);
    r.name = name;
    r.answers.wrong = -1;
    if (hc_scale_plan_for("verify", name, &none, &plan) != HC_AS_CLAIMED)
        return HC_WRONG;
    int status = hc_dialogue_read(&dialogue, &r);
    if (status != HC_WRONG)
        status = conclude_scales(&r);
    else if (r.answers.wrong >= 0)
        (void)fail(&r);
    hc_subject_drain();
    free(r.trace.words);
    free(r.answers.got);
    return status;
}
