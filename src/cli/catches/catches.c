#include "cli/catches/catches.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/catches/half.h"

enum { OWN = HC_CATCH_RULES - 1 };

static bool same(double a, double b)
{
    return a == b || (isnan(a) && isnan(b));
}

/* Where the format loses the real number, the buggy arm is held to the real number itself, or an
   overflow would be equal to what is expected. An arm that is right is not. */
static struct hc_judged_arm arm_of(const struct hc_exhibits *shown, bool buggy, bool right)
{
    struct hc_judged_arm arm = {.count = shown->count, .control = buggy && right};
    for (int i = 0; i < shown->count; i++) {
        const struct hc_exhibit *e = &shown->exhibit[i];
        enum hc_format format = buggy ? e->buggy_format : e->format;
        arm.value[i] = (struct hc_judged_value){.format = format,
                                                .got = buggy ? e->buggy : e->fixed,
                                                .want = hc_expected(format, e->real, !right),
                                                .real = e->real,
                                                .rad = e->rad};
    }
    return arm;
}

enum hc_status hc_catch_judge(const char *name, const struct hc_bug *bug,
                              const struct hc_exhibits *shown, struct hc_catch *row)
{
    double half[HC_MAX_EXHIBITS] = {0};
    int halves = 0;
    bool control = bug && bug->not_a_bug;
    enum hc_status status = bug ? hc_half_implementation(bug, half, &halves) : HC_OK;
    if (status != HC_OK)
        return status;
    struct hc_judged_arm buggy = arm_of(shown, true, control);
    struct hc_judged_arm fixed = arm_of(shown, false, true);
    bool has_half = halves > 0 && halves == shown->count;
    *row = (struct hc_catch){.name = name,
                             .control = control,
                             .play = bug && bug->play,
                             .has_half = has_half,
                             .buggy_is_half = has_half,
                             .shown = shown->count};
    buggy.has_half = fixed.has_half = has_half;
    for (int i = 0; i < shown->count; i++) {
        buggy.value[i].half = fixed.value[i].half = half[i];
        row->half_is_nan |= isnan(half[i]) != 0;
        row->buggy_is_half &= same(half[i], buggy.value[i].got);
    }
    for (int r = 0; r < HC_CATCH_RULES; r++) {
        row->buggy[r] = hc_rules[r].judge(&buggy);
        row->fixed[r] = hc_rules[r].judge(&fixed);
    }
    return HC_OK;
}

const char *hc_catch_word(const struct hc_catch *row, int rule)
{
    bool accepted = row->buggy[rule] == HC_ACCEPTED;
    bool right = row->fixed[rule] == HC_ACCEPTED;
    if (row->buggy[rule] == HC_NOT_APPLIED)
        return "-";
    if (row->control)
        return accepted && right ? "right" : "alarm";
    if (right)
        return accepted ? "missed" : "caught";
    return accepted ? "both" : "alarm";
}

struct hc_catch_counts hc_catch_count(const struct hc_catch *rows, int count, int rule)
{
    struct hc_catch_counts c = {0};
    for (int i = 0; i < count; i++) {
        bool refuses_buggy = rows[i].buggy[rule] == HC_REFUSED;
        bool refuses_fixed = rows[i].fixed[rule] == HC_REFUSED;
        if (rows[i].buggy[rule] == HC_NOT_APPLIED) {
            c.not_applied++;
            continue;
        }
        c.right += rows[i].control ? 2 : 1;
        c.alarms += refuses_fixed + (rows[i].control && refuses_buggy);
        c.bugs += !rows[i].control;
        c.missed += !rows[i].control && !refuses_buggy;
        c.apart += !rows[i].control && refuses_buggy && !refuses_fixed;
    }
    return c;
}

bool hc_catch_is_wrong(const struct hc_catch *row)
{
    const char *word = hc_catch_word(row, OWN);
    return strcmp(word, "caught") != 0 && strcmp(word, "right") != 0;
}

static int wrong_first(const void *a, const void *b)
{
    const struct hc_catch *x = a;
    const struct hc_catch *y = b;
    int order = hc_catch_is_wrong(y) - hc_catch_is_wrong(x);
    return order ? order : strcmp(x->name, y->name);
}

void hc_catch_sort(struct hc_catch *rows, int count)
{
    if (count)
        qsort(rows, (size_t)count, sizeof *rows, wrong_first);
}
