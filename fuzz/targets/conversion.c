/* What verify reads of conversions: the plan in the first line, and answers. */
#include <stdlib.h>
#include <string.h>

#include "cli/cast/judge.h"
#include "fuzz.h"

static void judge_answers(const struct hc_cast_plan *plan, char *line)
{
    struct hc_cast_judge judge;
    uint32_t input;
    uint32_t code;
    if (!hc_cast_judge_open(&judge, plan))
        return;
    while (line) {
        char *rest = strchr(line, '\n');
        if (rest)
            *rest++ = '\0';
        if (!hc_cast_answer_read(plan, line, &input, &code))
            (void)hc_cast_judge_add(&judge, input, code);
        line = rest;
    }
    hc_cast_judge_close(&judge);
}

static void fuzz_conversion(const uint8_t *data, size_t size)
{
    struct hc_cast_plan plan = {.to = HC_E2M1, .from = HC_FP16};
    char *text = hc_fuzz_string(data, size);
    char *rest = text ? strchr(text, '\n') : NULL;
    if (rest)
        *rest++ = '\0';
    if (rest && (!hc_cast_plan_is(text) || hc_cast_plan_read(text, &plan) == 0))
        judge_answers(&plan, rest);
    free(text);
}

const struct hc_fuzz_target hc_fuzz_conversion = {"conversion", fuzz_conversion};
