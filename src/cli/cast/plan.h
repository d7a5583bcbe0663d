/* Conformance vectors of a conversion from fp32, fp16 or bf16 into a format of one byte: which
   conversion is meant, and which inputs show whether somebody's is right. */
#ifndef HC_CLI_CAST_PLAN_H
#define HC_CLI_CAST_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "num/format.h"

enum hc_cast_kind {
    HC_CAST_ALL,      /* all of the others but `every`, and more (hc_cast_inputs) */
    HC_CAST_TIES,     /* midpoints between neighbours of the format, and what is next to them */
    HC_CAST_SPECIALS, /* zeros, ends of the ranges, infinities, NaNs */
    HC_CAST_EVERY,    /* every input there is: 65,536 */
    HC_CAST_KIND_COUNT
};

extern const char *const hc_cast_kinds[HC_CAST_KIND_COUNT + 1];

/* The formats of inputs, and the names of the directions; both end with NULL. */
extern const char *const hc_cast_sources[];
extern const char *const hc_cast_directions[HC_DIRECTION_COUNT + 1];

struct hc_cast_plan {
    enum hc_format to;
    enum hc_format from;
    enum hc_cast_kind kind;
    enum hc_direction direction;
    bool saturate;
};

/* What the options --from, --kind, --round and --saturate ask for: indices into the lists above;
   -1: the default, which is fp32, all, nearest. */
struct hc_cast_options {
    int from;
    int kind;
    int direction;
    bool saturate;
};

/* The plan for "e4m3". Returns one of enum hc_exit, after a line on stderr if it is not 0. */
int hc_cast_plan_for(const char *command, const char *format, const struct hc_cast_options *options,
                     struct hc_cast_plan *plan);

/* The plan as the first line of gen ("gen cast/e4m3 ...") or of vectors ("vectors --format e4m3
   ..."); no newline. Then whether a line is one of those, and the plan in it: one of enum
   hc_exit. */
enum { HC_CAST_LINE = 128 };
void hc_cast_plan_line(const struct hc_cast_plan *plan, bool vectors, char line[HC_CAST_LINE]);
bool hc_cast_plan_is(const char *line);
int hc_cast_plan_read(const char *line, struct hc_cast_plan *plan);

/* Digits of an input and of a code in hexadecimal. */
int hc_cast_digits(enum hc_format format);

/* Reads a line INPUT CODE. Returns what is wrong with it, or NULL. */
const char *hc_cast_answer_read(const struct hc_cast_plan *plan, const char *line, uint32_t *input,
                                uint32_t *code);

/* The inputs, as bits in ascending order, and how many there are. The caller frees them; NULL
   without memory. */
uint32_t *hc_cast_inputs(const struct hc_cast_plan *plan, size_t *count);

/* Whether tools agree on the result of the input. They do not agree on a NaN where the format has
   none, on negative numbers where it has no sign, and on zeros into e8m0. Such inputs are not among
   the vectors and are not judged. */
bool hc_cast_is_agreed(const struct hc_cast_plan *plan, uint32_t input);

/* The code by definition; and whether a code is that, or both are NaN. */
uint32_t hc_cast_want(const struct hc_cast_plan *plan, uint32_t input);
bool hc_cast_same(const struct hc_cast_plan *plan, uint32_t want, uint32_t got);

#endif
