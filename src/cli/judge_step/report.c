#include "cli/judge_step/passes.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "check/record/json.h"
#include "cli/colour.h"
#include "cli/command.h"
#include "op/output.h"
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

/* Of several verdicts on one line: wrong ones before right ones, then the larger error / bound. */
static bool outranks(const struct hc_step_verdict *a, const struct hc_step_verdict *b)
{
    if (a->judgement != b->judgement)
        return a->judgement == HC_STEP_WRONG || b->judgement == HC_STEP_NOT_JUDGED;
    return a->ratio > b->ratio;
}

static void print_line(const struct hc_step_verdict *v, const struct hc_step_verdict *sum)
{
    char ratio[16] = "";
    if (v->judgement != HC_STEP_NOT_JUDGED)
        (void)snprintf(ratio, sizeof ratio, "%.2g", v->ratio);
    printf("%-8s %-20s %-23.23s %-9s %-6.6s %8s\n", v->stage, sum->where, v->what, v->format,
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

static void say_sentence(const char *format, ...)
{
    char text[1024];
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
    (void)snprintf(line, sizeof line, "%s: a step of %s, %lld images, by %s", path,
                   step->plan.network->name, (long long)step->images,
                   producer ? producer : "nobody who says so");
    hc_text_line(stdout, line);
    (void)puts("\n");
    print_table(session, all);
    print_sums(session);
    putchar('\n');
    if (wrong)
        print_first(wrong);
    else
        say_sentence("The step is right, as far as it is judged.");
    if (json) {
        json_t *document = hc_step_document(session, path);
        enum hc_status status = hc_json_write(json, document);
        json_decref(document);
        if (status != HC_OK)
            return hc_complain_message();
    }
    return wrong ? HC_CLAIM_FAILED : HC_AS_CLAIMED;
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
    return json_pack("{so ss so so}", "file", hc_json_text(path), "verdict",
                     wrong ? "WRONG" : "right", "first",
                     wrong ? json_integer((json_int_t)(wrong - session->verdicts)) : json_null(),
                     "claims", claims);
}
