/* The numbers of a result that both sides have, with the same verdict. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "check/record/decimal.h"
#include "check/record/parts.h"
#include "cli/gate/gate_rows.h"
#include "op/text.h"

/* Below this error/bound no error counts as grown. If the baseline met the real value by luck, any
   other order of summation is infinitely many times worse. */
#define LOW 0.05

/* A NaN is worse than any number. */
static double size_of(double x)
{
    return isnan(x) ? (double)INFINITY : x;
}

void hc_gate_find(struct hc_gate *c, enum hc_finding_kind kind, const struct hc_row *row,
                  double weight, const char *text)
{
    hc_findings_add(&c->findings, kind, row->name, row->backend, "%s", text);
    hc_findings_weigh(&c->findings, weight, row->repro);
}

/* Whether both results are of the same level, without which their inputs are not the same. Adds the
   findings if they are not, or if that is not known. */
static bool same_level(struct hc_gate *c, const struct hc_row *was, const struct hc_row *is)
{
    const struct hc_record_part *before = &c->baseline->parts[was->part];
    const struct hc_record_part *after = &c->record->parts[is->part];
    bool both_have_run = before->run != NULL && after->run != NULL;
    bool levels = before->level && after->level;
    if (!both_have_run)
        hc_findings_add(
            &c->findings, HC_FINDING_UNKNOWN, is->name, is->backend,
            "the %s is of an older halfcheck and does not say whether it was cut short%s",
            before->run ? "record" : "baseline", levels ? "" : ", or at which level it ran");
    if (levels ? strcmp(before->level, after->level) == 0
               : both_have_run && !before->level && !after->level)
        return true;
    if (levels || both_have_run)
        hc_findings_add(&c->findings, HC_FINDING_LEVEL, is->name, is->backend, "level %s, was %s",
                        after->level ? after->level : "none",
                        before->level ? before->level : "none");
    return false;
}

bool hc_gate_same_inputs(struct hc_gate *c, const struct hc_row *was, const struct hc_row *is)
{
    bool same = same_level(c, was, is);
    if (was->seed != is->seed) {
        hc_findings_add(&c->findings, HC_FINDING_SEED, is->name, is->backend, "seed %llu, was %llu",
                        (unsigned long long)is->seed, (unsigned long long)was->seed);
        same = false;
    }
    return same;
}

/* How an error went on, in a unit that both results have. */
static void say_errors(const struct hc_row *was, const struct hc_row *is, char text[HC_GATE_TEXT])
{
    (void)hc_text_write(text, HC_GATE_TEXT, "error %.4g %s, was %.4g; %s %.3g, was %.3g", is->error,
                        is->unit, was->error,
                        is->bound == was->bound ? "error/bound" : "error/(the baseline's bound)",
                        hc_ratio(is->error, was->bound), hc_ratio(was->error, was->bound));
}

/* An error that failed may not grow at all. */
static bool error_grew(const struct hc_gate *c, const struct hc_row *was, const struct hc_row *is)
{
    if (hc_row_verdict(is) == HC_FAIL)
        return size_of(is->error) > size_of(was->error);
    return hc_ratio(is->error, was->bound) >
           c->growth * fmax(hc_ratio(was->error, was->bound), LOW);
}

static void find_fewer(struct hc_gate *c, const struct hc_row *was, const struct hc_row *is)
{
    char text[HC_GATE_TEXT];
    (void)hc_text_write(text, sizeof text, "checked %lld, was %lld", (long long)is->checked,
                        (long long)was->checked);
    hc_gate_find(c, HC_FINDING_CHECKED, is, (double)was->checked / fmax(1, (double)is->checked),
                 text);
}

/* MPFR has judged fewer of the elements, or fewer of those that are NaN or infinite. A baseline of
   text does not say how many it judged. */
static void find_less_looked_at(struct hc_gate *c, const struct hc_row *was,
                                const struct hc_row *is)
{
    char text[HC_GATE_TEXT];
    bool fewer = is->looked_at < was->looked_at || is->looked_of < was->looked_of ||
                 is->special < was->special;
    if (was->looked_of == 0 || !fewer)
        return;
    (void)hc_text_write(text, sizeof text,
                        "MPFR judged %lld of %lld elements (%lld NaN or infinite), was %lld of "
                        "%lld (%lld)",
                        (long long)is->looked_at, (long long)is->looked_of, (long long)is->special,
                        (long long)was->looked_at, (long long)was->looked_of,
                        (long long)was->special);
    hc_gate_find(c, HC_FINDING_CHECKED, is, (double)was->looked_at / fmax(1, (double)is->looked_at),
                 text);
}

/* The largest call that was judged is smaller than before. A baseline of text does not say how
   large it was, nor do records of versions that had no such member. */
static void find_smaller(struct hc_gate *c, const struct hc_row *was, const struct hc_row *is)
{
    char text[HC_GATE_TEXT];
    if (is->largest.work >= was->largest.work)
        return;
    (void)hc_text_write(text, sizeof text,
                        "the largest call that was judged has %lld elements or terms, was %lld",
                        (long long)is->largest.work, (long long)was->largest.work);
    hc_gate_find(c, HC_FINDING_CHECKED, is,
                 (double)was->largest.work / fmax(1, (double)is->largest.work), text);
}

/* A failure in more elements than before, if both sides say in how many. */
static void find_more_wrong(struct hc_gate *c, const struct hc_row *was, const struct hc_row *is)
{
    char text[HC_GATE_TEXT];
    if (was->wrong == 0 || is->wrong <= was->wrong)
        return;
    (void)hc_text_write(text, sizeof text, "%lld of %lld comparisons fail, was %lld of %lld",
                        (long long)is->wrong, (long long)is->checked, (long long)was->wrong,
                        (long long)was->checked);
    hc_gate_find(c, HC_FINDING_ERROR, is, (double)is->wrong / (double)was->wrong, text);
}

static void find_numbers_worse(struct hc_gate *c, const struct hc_row *was, const struct hc_row *is)
{
    char text[HC_GATE_TEXT];
    if (is->checked < was->checked)
        find_fewer(c, was, is);
    if (size_of(is->bound) > size_of(was->bound)) {
        (void)hc_text_write(text, sizeof text, "bound %.6g %s, was %.6g", is->bound, is->unit,
                            was->bound);
        hc_gate_find(c, HC_FINDING_BOUND, is, hc_ratio(is->bound, was->bound), text);
    }
    if (error_grew(c, was, is)) {
        say_errors(was, is, text);
        hc_gate_find(c, HC_FINDING_ERROR, is, hc_ratio(is->error, was->error), text);
    }
}

/* What is another number and not worse. An error is better if it could not grow back unseen. */
static void find_numbers_changed(struct hc_gate *c, const struct hc_row *was,
                                 const struct hc_row *is)
{
    char text[HC_GATE_TEXT];
    if (size_of(is->error) != size_of(was->error)) {
        bool better = size_of(was->error) > size_of(is->error) && error_grew(c, is, was);
        say_errors(was, is, text);
        hc_gate_find(c, better ? HC_FINDING_BETTER : HC_FINDING_CHANGED, is,
                     better ? hc_ratio(was->error, is->error) : hc_ratio(is->error, was->error),
                     text);
    } else if (size_of(is->bound) < size_of(was->bound)) {
        (void)hc_text_write(text, sizeof text, "bound %.6g %s, was %.6g", is->bound, is->unit,
                            was->bound);
        hc_gate_find(c, HC_FINDING_BETTER, is, hc_ratio(was->bound, is->bound), text);
    } else if (is->checked > was->checked) {
        (void)hc_text_write(text, sizeof text, "checked %lld, was %lld", (long long)is->checked,
                            (long long)was->checked);
        hc_gate_find(c, HC_FINDING_CHANGED, is, 0, text);
    }
}

/* The row with its error and bound rounded up as those of a baseline are. */
static struct hc_row rounded(const struct hc_row *row, int digits)
{
    struct hc_row copy = *row;
    copy.error = hc_round_up(row->error, digits);
    copy.bound = hc_round_up(row->bound, digits);
    return copy;
}

void hc_gate_compare_numbers(struct hc_gate *c, const struct hc_row *was, const struct hc_row *is)
{
    bool same = hc_gate_same_inputs(c, was, is);
    bool same_unit = strcmp(is->unit, was->unit) == 0;
    int digits =
        was->digits && (!is->digits || was->digits < is->digits) ? was->digits : is->digits;
    struct hc_row before = rounded(was, digits);
    struct hc_row after = rounded(is, digits);
    int found = c->findings.count;
    if (!same_unit)
        hc_findings_add(&c->findings, HC_FINDING_UNIT, is->name, is->backend, "in %s, was in %s",
                        is->unit, was->unit);
    if (!same)
        return;
    hc_gate_compare_bits(c, was, is);
    if (same_unit)
        find_numbers_worse(c, &before, &after);
    else if (is->checked < was->checked)
        find_fewer(c, was, is);
    find_less_looked_at(c, was, is);
    find_smaller(c, was, is);
    find_more_wrong(c, was, is);
    if (same_unit && c->findings.count == found)
        find_numbers_changed(c, &before, &after);
}
