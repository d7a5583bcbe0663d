#include "cli/judge_step/passes.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "check/record/json.h"
#include "cli/colour.h"
#include "cli/command.h"
#include "cli/report/template.h"
#include "op/text.h"
#include "op/wrap.h"

static const char *const words[] = {
    [HC_STEP_RIGHT] = "right", [HC_STEP_WRONG] = "WRONG", [HC_STEP_NOT_JUDGED] = "not judged"};

static bool progress_shown;

void hc_step_show_progress(const struct hc_step_verdict *now)
{
    char line[256];
    (void)snprintf(line, sizeof line, "judging %s, %s: %s", now->stage, now->where, now->what);
    hc_terminal_redraw(stderr, line);
    progress_shown = true;
}

void hc_step_end_progress(void)
{
    if (progress_shown)
        hc_terminal_clear(stderr);
    progress_shown = false;
}

/* The layer that a verdict belongs to: its path without the last part of a parameter's name. */
static bool same_line(const struct hc_step_verdict *a, const struct hc_step_verdict *b)
{
    if (strcmp(a->stage, b->stage) != 0)
        return false;
    if (strcmp(a->stage, "update") == 0)
        return strcmp(a->what, b->what) == 0;
    if (strcmp(a->stage, "before") == 0)
        return true;
    return strcmp(a->where, b->where) == 0;
}

/* A line with several verdicts shows wrong ones before right ones, then larger error / bound. */
static bool outranks(const struct hc_step_verdict *a, const struct hc_step_verdict *b)
{
    if (a->judgement != b->judgement)
        return a->judgement == HC_STEP_WRONG || b->judgement == HC_STEP_NOT_JUDGED;
    return a->ratio > b->ratio;
}

enum { WHERE = 20 }; /* columns for a name, of which the end is printed if it is longer */

static void print_line(const struct hc_step_verdict *v, const struct hc_step_verdict *sum)
{
    char ratio[16] = "";
    if (v->judgement != HC_STEP_NOT_JUDGED)
        (void)snprintf(ratio, sizeof ratio, "%.2g", v->ratio);
    const char *where = sum->where;
    size_t length = strlen(where);
    bool cut = length > WHERE;
    where += cut ? length - (WHERE - 3) : 0;
    hc_print(stdout, "%-8s %s%-*s %-23.23s %-9s %-6.6s %8s\n", v->stage, cut ? "..." : "",
             cut ? WHERE - 3 : WHERE, where, v->what, v->format,
             v->judgement == HC_STEP_NOT_JUDGED ? "-" : words[v->judgement], ratio);
}

static void print_table(const struct hc_step_session *session, bool all)
{
    bool done[4096] = {false};
    printf("%-8s %-20s %-23s %-9s %-6s %8s\n", "stage", "module", "what (the worst of it)",
           "format", "", "of bound");
    for (int i = 0; i < session->count; i++) {
        struct hc_step_verdict sum = session->verdicts[i];
        const struct hc_step_verdict *worst = &session->verdicts[i];
        int members = 0;
        if (i < 4096 && done[i])
            continue;
        for (int k = i; k < session->count; k++)
            if (k == i || (!all && same_line(&session->verdicts[i], &session->verdicts[k]))) {
                members++;
                if (k < 4096)
                    done[k] = true;
                if (outranks(&session->verdicts[k], worst))
                    worst = &session->verdicts[k];
            }
        if (worst->judgement == HC_STEP_WRONG || members == 1)
            (void)snprintf(sum.where, sizeof sum.where, "%s", worst->where);
        else if (strcmp(sum.stage, "update") == 0 || strcmp(sum.stage, "before") == 0)
            (void)snprintf(sum.where, sizeof sum.where, "all %d", members);
        print_line(worst, &sum);
    }
}

static const struct hc_step_verdict *first_wrong(const struct hc_step_session *session)
{
    for (int i = 0; i < session->count; i++)
        if (session->verdicts[i].judgement == HC_STEP_WRONG)
            return &session->verdicts[i];
    return NULL;
}

/* Whether any claim was judged. Where none was, the step is not right. */
static bool judges(const struct hc_step_session *session)
{
    for (int i = 0; i < session->count; i++)
        if (session->verdicts[i].judgement != HC_STEP_NOT_JUDGED)
            return true;
    return false;
}

static void say_sentence(const char *format, ...)
{
    char text[400 * HC_STEP_MAX_CAUSES + 1024];
    va_list arguments;
    va_start(arguments, format);
    (void)hc_text_format(text, sizeof text, format, arguments);
    va_end(arguments);
    hc_print_wrapped(stdout, 0, 0, text);
}

static void print_first(const struct hc_step_verdict *v)
{
    char element[256] = "";
    if (v->wrong)
        (void)hc_text_write(element, sizeof element,
                            " %lld of %lld elements compared are beyond the bound; element %lld is "
                            "%.9g and should be %.9g: %.3g times the bound, %.3g ulp off.",
                            (long long)v->wrong, (long long)v->checked, (long long)v->index, v->got,
                            v->want, v->ratio, v->ulps);
    else if (v->want != v->got)
        (void)hc_text_write(element, sizeof element, " It is %.9g and should be %.9g.", v->got,
                            v->want);
    say_sentence("It goes wrong first in the %s stage, at %s: %s.%s%s%s%s", v->stage, v->where,
                 v->what, v->note[0] ? " What is wrong: " : "", v->note, v->note[0] ? "." : "",
                 element);
}

static const char *const cause_stages[HC_STEP_CAUSE_STAGES] = {
    [HC_STEP_CAUSE_UNSCALE] = "the gradients that the optimizer got",
    [HC_STEP_CAUSE_UPDATE] = "the optimizer's update",
    [HC_STEP_CAUSE_COPIES] = "the model's copies of the masters"};

/* "all 4,608 elements of the optimizer's update" */
static void write_elements(char text[240], const struct hc_step_causes *causes, const char *stage)
{
    char number[HC_LONGEST_COUNT];
    (void)snprintf(text, 240, "all %s elements of %s", hc_page_count(causes->elements, number),
                   stage);
    size_t used = strlen(text);
    if (causes->parameters < causes->of)
        (void)snprintf(text + used, 240 - used,
                       " in %d of %d parameters, where the others are right", causes->parameters,
                       causes->of);
}

/* A cause as a clause. */
static void write_cause(char text[400], const struct hc_step_cause *c)
{
    const char *says = c->in_file ? "the file says" : "it is to be";
    const char *all = c->in_proportion ? ", and each parameter's own in proportion" : "";
    if (c->solved && c->what)
        (void)hc_text_write(text, 400,
                            "%s is %.10g%s, where %s %.10g (anything from %.7g to %.7g does)",
                            c->what, c->value, all, says, c->stated, c->low, c->high);
    else if (c->solved && c->in_file)
        (void)hc_text_write(text, 400, "%s (as %s = %.10g%s does, where %s %.10g)", c->text,
                            c->name, c->value, all, says, c->stated);
    else
        (void)snprintf(text, 400, "%s", c->text);
}

/* What explains one stage, in a sentence or two. `alone`: no other stage is wrong. */
static void print_stage(const struct hc_step_causes *causes, const char *stage, bool alone)
{
    char elements[240];
    char text[400];
    char all[400 * HC_STEP_MAX_CAUSES] = "";
    char head[120] = "";
    write_elements(elements, causes, stage);
    if (!alone)
        (void)snprintf(head, sizeof head, "In %s: ", stage);
    if (!causes->tried) {
        say_sentence("No cause is looked for in %s: %s.", stage, causes->why);
    } else if (causes->count == 0) {
        say_sentence("%sNo cause is named: none of %d single changes that were tried explains %s.",
                     head, causes->changes, elements);
    } else if (causes->count == 1) {
        write_cause(text, &causes->cause[0]);
        say_sentence("%s%s. Of %d single changes that were tried, this one alone explains %s.",
                     alone ? "The cause: " : head, text, causes->changes, elements);
    } else {
        for (int i = 0; i < causes->count; i++) {
            size_t used = strlen(all);
            write_cause(text, &causes->cause[i]);
            (void)snprintf(all + used, sizeof all - used, "%s(%d) %s", i ? "; " : "", i + 1, text);
        }
        say_sentence("%sNo single cause is named: each of %d changes by itself explains %s, and "
                     "these numbers do not tell them apart: %s.",
                     head, causes->count, elements, all);
    }
}

static void print_causes(const struct hc_step_session *session)
{
    int wrong = 0;
    for (int i = 0; i < HC_STEP_CAUSE_STAGES; i++)
        wrong += session->causes[i].wrong;
    if (wrong > 0)
        putchar('\n');
    if (wrong > 1)
        say_sentence("No single cause: more than one stage is wrong. Each by itself:");
    for (int i = 0; i < HC_STEP_CAUSE_STAGES; i++)
        if (session->causes[i].wrong)
            print_stage(&session->causes[i], cause_stages[i], wrong == 1);
}

static void print_sums(const struct hc_step_session *session)
{
    int counts[3] = {0};
    int64_t elements = 0;
    int64_t checked = 0;
    const char *why = NULL;
    for (int i = 0; i < session->count; i++) {
        const struct hc_step_verdict *v = &session->verdicts[i];
        counts[v->judgement]++;
        elements += v->elements;
        checked += v->checked;
        if (v->judgement == HC_STEP_NOT_JUDGED && !why)
            why = v->note;
    }
    putchar('\n');
    say_sentence(
        "%d claims are right, %d wrong, %d not judged; %lld of %lld elements were compared with "
        "MPFR.",
        counts[HC_STEP_RIGHT], counts[HC_STEP_WRONG], counts[HC_STEP_NOT_JUDGED],
        (long long)checked, (long long)elements);
    if (why)
        say_sentence("The first that is not judged: %s.", why);
    int notes = 0;
    for (int i = 0; i < session->count; i++) {
        const struct hc_step_verdict *v = &session->verdicts[i];
        if (v->judgement != HC_STEP_RIGHT || !v->note[0])
            continue;
        if (notes++ == 0)
            say_sentence("Note: %s, %s at %s: %s.", v->stage, v->what, v->where, v->note);
    }
    if (notes > 1)
        say_sentence("There are %d such notes; --json has them all.", notes);
}

int hc_step_print(const struct hc_step_session *session, const char *path, bool all,
                  const char *json)
{
    const struct hc_step *step = session->step;
    const char *producer = hc_tensor_file_metadata(&step->file, "producer");
    const struct hc_step_verdict *wrong = first_wrong(session);
    char line[512];
    producer = producer ? producer : "an unnamed producer";
    if (step->plan.network)
        (void)snprintf(line, sizeof line, "%s: a step of %s, %lld %s, by %s", path,
                       step->plan.network->name, (long long)step->images,
                       step->plan.network->gpt ? "texts" : "images", producer);
    else
        (void)snprintf(line, sizeof line, "%s: an optimizer's step of %d parameter%s, by %s", path,
                       step->parameters, step->parameters == 1 ? "" : "s", producer);
    hc_text_line(stdout, line);
    (void)puts("\n");
    print_table(session, all);
    print_sums(session);
    putchar('\n');
    if (wrong)
        print_first(wrong);
    if (wrong)
        print_causes(session);
    else if (!judges(session))
        say_sentence("Nothing of the step was judged, so nothing says that it is right.");
    else
        say_sentence("The step is right, as far as it is judged.");
    if (json) {
        json_t *document = hc_step_document(session, path);
        enum hc_status status = hc_json_write(json, document);
        json_decref(document);
        if (status != HC_OK)
            return hc_complain_message();
    }
    return wrong || !judges(session) ? HC_CLAIM_FAILED : HC_AS_CLAIMED;
}

/* What explains each stage that is wrong. */
static json_t *causes_document(const struct hc_step_session *session)
{
    static const char *const names[HC_STEP_CAUSE_STAGES] = {"unscale", "update", "copies"};
    json_t *stages = json_array();
    for (int i = 0; i < HC_STEP_CAUSE_STAGES; i++) {
        const struct hc_step_causes *causes = &session->causes[i];
        json_t *list = json_array();
        for (int k = 0; k < causes->count; k++) {
            const struct hc_step_cause *c = &causes->cause[k];
            json_t *row = json_pack("{ss ss}", "name", c->name, "text", c->text);
            if (c->solved)
                (void)json_object_update_new(
                    row, json_pack("{so so so so}", "value", hc_json_real(c->value), "low",
                                   hc_json_real(c->low), "high", hc_json_real(c->high), "stated",
                                   hc_json_real(c->stated)));
            (void)json_array_append_new(list, row);
        }
        if (!causes->wrong) {
            json_decref(list);
            continue;
        }
        json_t *stage =
            json_pack("{ss si sI si si so}", "stage", names[i], "tried", causes->changes,
                      "elements", (json_int_t)causes->elements, "parameters", causes->parameters,
                      "of", causes->of, "explain", list);
        (void)json_array_append_new(stages, stage);
    }
    return stages;
}

struct json_t *hc_step_document(const struct hc_step_session *session, const char *path)
{
    json_t *claims = json_array();
    const struct hc_step_verdict *wrong = first_wrong(session);
    for (int i = 0; i < session->count; i++) {
        const struct hc_step_verdict *v = &session->verdicts[i];
        json_t *row = json_pack(
            "{ss ss ss ss ss sI sI sI sI so so so so so so}", "stage", v->stage, "where", v->where,
            "what", v->what, "verdict", words[v->judgement], "format", v->format, "elements",
            (json_int_t)v->elements, "checked", (json_int_t)v->checked, "wrong",
            (json_int_t)v->wrong, "index", (json_int_t)v->index, "want", hc_json_real(v->want),
            "got", hc_json_real(v->got), "error", hc_json_real(v->error), "bound",
            hc_json_real(v->bound), "ulps", hc_json_real(v->ulps), "note", hc_json_text(v->note));
        (void)json_array_append_new(claims, row);
    }
    return json_pack("{so ss so so so}", "file", hc_json_text(path), "verdict",
                     wrong             ? "WRONG"
                     : judges(session) ? "right"
                                       : "not judged",
                     "first",
                     wrong ? json_integer((json_int_t)(wrong - session->verdicts)) : json_null(),
                     "causes", causes_document(session), "claims", claims);
}
