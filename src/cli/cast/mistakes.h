/* Wrong conversions: the mistakes that are made. Each is a function from an input to the code that
   a conversion with that mistake gives. Where a mistake makes no difference, as saturation does in
   a format that always saturates, it gives the right code. */
#ifndef HC_CLI_CAST_MISTAKES_H
#define HC_CLI_CAST_MISTAKES_H

#include "cli/cast/plan.h"

struct hc_cast_mistake {
    const char *what; /* a sentence without its beginning capital and its full stop */
    uint32_t (*code)(const struct hc_cast_plan *plan, int how, uint32_t input, double x);
    int how;
};

enum { HC_CAST_MAX_MISTAKES = 64 };
extern const struct hc_cast_mistake hc_cast_mistakes[];
extern const int hc_cast_mistake_count;

uint32_t hc_cast_mistaken(const struct hc_cast_plan *plan, int mistake, uint32_t input);

#endif
