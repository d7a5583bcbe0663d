#include "cli/cast/judge.h"

#include <stdio.h>
#include <stdlib.h>

#include "op/wrap.h"

/* The mistakes that give something else than the definition. */
static uint64_t shows(const struct hc_cast_plan *plan, uint32_t input, uint32_t want)
{
    uint64_t mask = 0;
    for (int m = 0; m < hc_cast_mistake_count; m++)
        if (!hc_cast_same(plan, want, hc_cast_mistaken(plan, m, input)))
            mask |= (uint64_t)1 << m;
    return mask;
}

bool hc_cast_judge_open(struct hc_cast_judge *judge, const struct hc_cast_plan *plan)
{
    struct hc_cast_plan all = *plan;
    size_t count = 0;
    all.kind = HC_CAST_ALL;
    uint32_t *inputs = hc_cast_inputs(&all, &count);
    *judge = (struct hc_cast_judge){.plan = *plan,
                                    .alone = ~(uint64_t)0,
                                    .within = ~(uint64_t)0,
                                    .kept = malloc(HC_CAST_KEPT * sizeof *judge->kept)};
    for (size_t i = 0; inputs && i < count; i++)
        judge->possible |= shows(plan, inputs[i], hc_cast_want(plan, inputs[i]));
    bool made = inputs && judge->kept;
    free(inputs);
    if (!made)
        hc_cast_judge_close(judge);
    return made;
}

void hc_cast_judge_close(struct hc_cast_judge *judge)
{
    free(judge->kept);
    judge->kept = NULL;
}

bool hc_cast_judge_add(struct hc_cast_judge *judge, uint32_t input, uint32_t code)
{
    const struct hc_cast_plan *plan = &judge->plan;
    uint64_t gives = 0;
    if (!hc_cast_is_agreed(plan, input)) {
        judge->unjudged++;
        return true;
    }
    uint32_t want = hc_cast_want(plan, input);
    bool is_right = hc_cast_same(plan, want, code);
    for (int m = 0; m < hc_cast_mistake_count; m++) {
        uint32_t mistaken = hc_cast_mistaken(plan, m, input);
        if (hc_cast_same(plan, mistaken, code))
            gives |= (uint64_t)1 << m;
        if (!hc_cast_same(plan, want, mistaken))
            judge->shown |= (uint64_t)1 << m;
        judge->explains[m] += !is_right && gives >> m & 1;
    }
    judge->answers++;
    judge->alone &= gives;
    if (is_right) {
        judge->within &= gives;
        return true;
    }
    if (judge->wrong < HC_CAST_KEPT)
        judge->kept[judge->wrong] = gives;
    judge->wrong++;
    return false;
}

static int first_of(uint64_t mask)
{
    int m = 0;
    while (!(mask >> m & 1))
        m++;
    return m;
}

/* The mistake that explains most of the wrong answers which the others in `used` do not; -1 if
   there is none. Those that contradict a right answer come after all that do not, and only where
   they explain half of the wrong answers, and more than one: anything explains one of a few. */
static int next(const struct hc_cast_judge *j, uint64_t used, long long *most)
{
    long long kept = j->wrong < HC_CAST_KEPT ? j->wrong : HC_CAST_KEPT;
    int best = -1;
    *most = 0;
    for (int pass = 0; pass < 2 && best < 0; pass++)
        for (int m = 0; m < hc_cast_mistake_count; m++) {
            long long explained = 0;
            bool allowed = pass == 1 || (j->within >> m & 1);
            for (long long i = 0; allowed && i < kept; i++)
                explained += !(j->kept[i] & used) && (j->kept[i] >> m & 1);
            if (pass == 1 && (explained < 2 || 2 * explained < kept))
                continue;
            if (explained > *most) {
                *most = explained;
                best = m;
            }
        }
    return best;
}

static void print_line(const char *text)
{
    printf("     ");
    hc_print_wrapped(stdout, 5, 9, text);
}

void hc_cast_judge_explain(const struct hc_cast_judge *j)
{
    uint64_t used = 0;
    long long explained;
    char text[256];
    char answers[64] = "the answer";
    if (j->alone) {
        if (j->answers != 1)
            (void)snprintf(answers, sizeof answers, "all %lld answers", j->answers);
        (void)snprintf(text, sizeof text, "%s, which explains %s",
                       hc_cast_mistakes[first_of(j->alone)].what, answers);
        print_line(text);
        return;
    }
    for (int m = next(j, used, &explained), times = 0; m >= 0 && times < 3; times++) {
        (void)snprintf(text, sizeof text, "%s%s, which explains %lld %s%s", times ? "and " : "",
                       hc_cast_mistakes[m].what, explained, times ? "more" : "of the wrong answers",
                       j->within >> m & 1 ? ""
                                          : "; but other answers are right and speak against it");
        print_line(text);
        used |= (uint64_t)1 << m;
        m = next(j, used, &explained);
    }
}
