#include "cli/catches/half.h"

#include <string.h>

#include "cases/fixture/bug_formula.h"

/* The format of the first of these words in a text. */
static enum hc_format first_in(const char *text)
{
    static const struct {
        const char *word;
        enum hc_format format;
    } words[] = {{"bfloat16", HC_BF16},
                 {"bf16", HC_BF16},
                 {"float16", HC_FP16},
                 {"fp16", HC_FP16},
                 {"half(", HC_FP16}};
    const char *first = NULL;
    enum hc_format format = HC_FORMAT_COUNT;
    for (size_t i = 0; text && i < sizeof words / sizeof words[0]; i++) {
        const char *at = strstr(text, words[i].word);
        if (at && (!first || at < first)) {
            first = at;
            format = words[i].format;
        }
    }
    return format;
}

enum hc_format hc_half_format(const struct hc_bug *bug)
{
    const struct hc_bug_arm *a = &bug->buggy;
    const struct hc_bug_arm *b = &bug->fixed;
    const char *texts[] = {a->in,
                           a->with,
                           a->formula ? a->formula : bug->formula,
                           a->each ? a->each : bug->each,
                           b->in,
                           b->with,
                           b->formula,
                           b->each};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        if (first_in(texts[i]) != HC_FORMAT_COUNT)
            return first_in(texts[i]);
    return HC_FORMAT_COUNT;
}

enum hc_status hc_half_implementation(const struct hc_bug *bug, double shown[HC_MAX_EXHIBITS],
                                      int *count)
{
    enum hc_format format = hc_half_format(bug);
    *count = 0;
    if (bug->play || format == HC_FORMAT_COUNT)
        return HC_OK;
    struct hc_bug_evaluation e = {.options = {.narrow = true}, .in = hc_formats[format].name};
    enum hc_status status = hc_bug_evaluate(bug, false, &e);
    if (status != HC_OK)
        return status;
    *count = e.shown.count;
    for (int i = 0; i < e.shown.count; i++)
        shown[i] = e.shown.value[i].got;
    return HC_OK;
}
