/* What verify reads: the plan in the first line, and answers. */
#include <stdlib.h>
#include <string.h>

#include "cli/scaler/answer.h"
#include "fuzz.h"

static void read_answers(char *line)
{
    static const unsigned char sent[64];
    const struct hc_scaler_plan plan = {
        .rule = HC_SCALER_TORCH, .initial = 65536, .interval = 20, .steps = 64};
    struct hc_scaler_answer answer;
    struct hc_scaler_answers answers;
    char *rest = strchr(line, '\n');
    if (rest)
        *rest++ = '\0';
    if (hc_scaler_answer_read(line, &answer))
        return;
    hc_scaler_answers_open(&answers, &plan, sent, 64, 0, &answer);
    for (char *next = rest; next && answers.scale; next = rest) {
        rest = strchr(next, '\n');
        if (rest)
            *rest++ = '\0';
        if (!hc_scaler_answers_add(&answers, next))
            break;
    }
    hc_scaler_answers_close(&answers);
}

static void fuzz_trace(const uint8_t *data, size_t size)
{
    struct hc_scaler_plan plan;
    char *text = hc_fuzz_string(data, size);
    char *rest = text ? strchr(text, '\n') : NULL;
    if (rest)
        *rest++ = '\0';
    if (text && hc_scaler_plan_is(text))
        (void)hc_scaler_plan_read(text, &plan);
    if (rest)
        read_answers(rest);
    free(text);
}

const struct hc_fuzz_target hc_fuzz_trace = {"trace", fuzz_trace};
