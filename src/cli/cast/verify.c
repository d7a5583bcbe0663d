/* halfcheck gen cast/FORMAT and verify cast/FORMAT. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cast/judge.h"
#include "cli/cast/plan.h"
#include "cli/subject.h"
#include "op/wrap.h"

int hc_cast_gen(const char *name, const struct hc_gen *gen)
{
    const struct hc_cast_options options = {gen->from, gen->kind, gen->direction, gen->saturate};
    struct hc_cast_plan plan;
    char line[HC_CAST_LINE];
    size_t count = 0;
    int status = hc_cast_plan_for("gen", name + sizeof "cast/" - 1, &options, &plan);
    if (status != HC_AS_CLAIMED)
        return status;
    uint32_t *inputs = hc_cast_inputs(&plan, &count);
    if (!inputs)
        return hc_complain("gen: no memory for the inputs");
    hc_cast_plan_line(&plan, false, line);
    puts(line);
    for (size_t i = 0; i < count; i++)
        printf("%0*" PRIx32 "\n", hc_cast_digits(plan.from), inputs[i]);
    free(inputs);
    return HC_AS_CLAIMED;
}

enum { LINE = 256 };

struct reading {
    const char *name;
    struct hc_cast_options options;
    struct hc_cast_plan plan; /* from the options, or from the first line */
    bool listed;              /* there is a first line, and with it a list of inputs */
    uint32_t *inputs;
    size_t count;
    size_t at; /* inputs of the list that were answered */
    struct hc_cast_judge judge;
    bool open;
    bool failed;
};

static int no_memory(void)
{
    return hc_complain("verify: no memory for the inputs");
}

static int open_judge(struct reading *r)
{
    if (!r->open && !hc_cast_judge_open(&r->judge, &r->plan))
        return no_memory();
    r->open = true;
    return HC_AS_CLAIMED;
}

/* Takes the plan of the first line. Options may say what it says, and nothing else. */
static int take_plan(void *context, const char *line)
{
    struct reading *r = context;
    const struct hc_cast_options *options = &r->options;
    struct hc_cast_plan plan;
    if (hc_cast_plan_read(line, &plan) != HC_AS_CLAIMED)
        return HC_WRONG;
    if (plan.to != r->plan.to)
        return hc_complain("verify: the inputs are of cast/%s, not of %s", hc_formats[plan.to].name,
                           r->name);
    if ((options->from >= 0 && plan.from != r->plan.from) ||
        (options->direction >= 0 && plan.direction != r->plan.direction) ||
        (options->saturate && !plan.saturate))
        return hc_complain("verify: the options are not those of the first line: '%.*s'",
                           (int)strcspn(line, "\r\n"), line);
    r->plan = plan;
    r->listed = true;
    r->inputs = hc_cast_inputs(&plan, &r->count);
    return r->inputs ? HC_AS_CLAIMED : no_memory();
}

static void print_number(enum hc_format format, uint32_t bits)
{
    double x = hc_decode(format, bits);
    printf("%0*" PRIx32 " (", hc_cast_digits(format), bits);
    if (hc_formats[format].bytes == 1 && bits >> hc_formats[format].bits)
        printf("no code)");
    else if (isnan(x))
        printf("nan)");
    else
        printf("%.9g)", x);
}

static void begin_failure(struct reading *r)
{
    printf("FAIL %s: answer %lld", r->name, r->judge.answers + r->judge.unjudged);
    if (r->listed)
        printf(" of %zu", r->count);
    printf(": ");
    r->failed = true;
}

static int judge_answer(struct reading *r, uint32_t input, uint32_t code)
{
    if (r->listed && (r->at == r->count || r->inputs[r->at] != input)) {
        r->judge.answers += !r->failed;
        if (r->failed)
            return HC_AS_CLAIMED;
        begin_failure(r);
        if (r->at == r->count)
            printf("after the last input came %0*" PRIx32 "\n", hc_cast_digits(r->plan.from),
                   input);
        else
            printf("sent %0*" PRIx32 ", got back %0*" PRIx32 "\n", hc_cast_digits(r->plan.from),
                   r->inputs[r->at], hc_cast_digits(r->plan.from), input);
        return HC_CLAIM_FAILED;
    }
    r->at++;
    if (hc_cast_judge_add(&r->judge, input, code) || r->failed)
        return HC_AS_CLAIMED;
    begin_failure(r);
    print_number(r->plan.from, input);
    printf(": want ");
    print_number(r->plan.to, hc_cast_want(&r->plan, input));
    printf(", got ");
    print_number(r->plan.to, code);
    printf("\n");
    return HC_AS_CLAIMED;
}

static int take_answer(void *context, char *line);

static const struct hc_dialogue dialogue = {.room = LINE,
                                            .blanks = " \t\r\n",
                                            .is_first = hc_cast_plan_is,
                                            .take_first = take_plan,
                                            .take_answer = take_answer,
                                            .has_nul = "a line has a NUL byte",
                                            .too_long = "a line is longer than 254 characters",
                                            .answer = "answer"};

static int take_answer(void *context, char *line)
{
    struct reading *r = context;
    uint32_t input;
    uint32_t code;
    const char *wrong = hc_cast_answer_read(&r->plan, line, &input, &code);
    if (wrong)
        return hc_dialogue_refuse(&dialogue, wrong, line);
    int status = open_judge(r);
    return status == HC_AS_CLAIMED ? judge_answer(r, input, code) : status;
}

static int count_bits(uint64_t mask)
{
    int n = 0;
    for (; mask; mask &= mask - 1)
        n++;
    return n;
}

/* Inputs that cannot tell a mistake from the definition have not tested for it. */
static int conclude_casts(const struct reading *r, bool strict)
{
    const struct hc_cast_judge *j = &r->judge;
    uint64_t unseen = j->possible & ~j->shown;
    if (r->failed) {
        if (j->wrong > 0) {
            if (j->answers == 1)
                printf("     wrong: the only answer\n");
            else
                printf("     wrong: %lld of %lld answers\n", j->wrong, j->answers);
            hc_cast_judge_explain(j);
        }
        return HC_CLAIM_FAILED;
    }
    char text[256], answers[64] = "the answer is";
    if (j->answers != 1)
        (void)snprintf(answers, sizeof answers, "all %lld answers are", j->answers);
    (void)snprintf(text, sizeof text,
                   "%s %s: %s right; %d of %d wrong conversions would have shown",
                   unseen ? "MISTRUSTED" : "PASS", r->name, answers,
                   count_bits(j->possible & j->shown), count_bits(j->possible));
    hc_print_wrapped(stdout, 0, 5, text);
    if (j->unjudged)
        printf("     not judged: %lld, because tools do not agree on such inputs\n", j->unjudged);
    for (int m = 0; m < hc_cast_mistake_count; m++)
        if (unseen >> m & 1)
            hc_print_wrapped(stdout, printf("     no input shows whether "), 9,
                             hc_cast_mistakes[m].what);
    return unseen && strict ? HC_CLAIM_FAILED : HC_AS_CLAIMED;
}

int hc_cast_verify(const char *name, const struct hc_verify *verify)
{
    const struct hc_cast_options options = {verify->from, -1, verify->direction, verify->saturate};
    struct reading r = {.name = name, .options = options};
    int status = hc_cast_plan_for("verify", name + sizeof "cast/" - 1, &options, &r.plan);
    if (status != HC_AS_CLAIMED)
        return status;
    status = hc_dialogue_read(&dialogue, &r);
    if (status == HC_AS_CLAIMED && r.listed && r.at < r.count && !r.failed) {
        r.judge.answers++;
        begin_failure(&r);
        printf("no answer came back\n");
    }
    hc_subject_drain();
    if (status != HC_WRONG)
        status = conclude_casts(&r, verify->strict);
    else if (r.failed)
        (void)conclude_casts(&r, verify->strict);
    hc_cast_judge_close(&r.judge);
    free(r.inputs);
    return status;
}
