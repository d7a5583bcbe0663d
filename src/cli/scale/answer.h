/* What a rule makes of a trace, line by line, by its independent statement (reference_scale.h), and
   how an implementation's answer is read and compared with that. */
#ifndef HC_CLI_SCALE_ANSWER_H
#define HC_CLI_SCALE_ANSWER_H

#include "cli/scale/trace.h"

struct hc_scale_answer {
    uint32_t scale; /* fp32's bits, or a code of e8m0 or ue4m3 */
    uint32_t free;  /* bit i: nothing is claimed about code i */
    uint32_t zero;  /* bit i: code i is a zero of either sign */
    uint8_t code[HC_SCALE_BLOCK];
};

/* Answers from the first line on; the one behind them would be line `count` + 1. */
struct hc_scale_answers {
    struct hc_scale_answer *got;
    int count;
    int wrong; /* the first wrong one, counted from 0 */
};

/* A rule on its way along a trace. */
struct hc_scale_oracle {
    struct hc_scale_plan plan;
    double scale;
    double history[2][HC_SCALE_WINDOW];
    int current;                                      /* which of the histories */
    uint32_t (*round)(enum hc_format codes, float x); /* NULL: to nearest, saturating */
};

/* Before the first line: the scale is 1, and the history 0. */
void hc_scale_begin(struct hc_scale_oracle *oracle, const struct hc_scale_plan *plan);

/* The answer to a line's words. */
struct hc_scale_answer hc_scale_next(struct hc_scale_oracle *oracle, const uint32_t *words);

/* The place of the first difference: 0 the scale, 1 + i the code of element i; or -1. */
int hc_scale_differs(const struct hc_scale_plan *plan, const struct hc_scale_answer *want,
                     const struct hc_scale_answer *got);

/* "SCALE" or "SCALE CODES", as a program answers. */
enum { HC_SCALE_ANSWER = 16 + 2 * HC_SCALE_BLOCK };

/* That, but of at most 16 digits of codes: those around element `place`, counted from 1. */
enum { HC_SCALE_EXCERPT = 40 };
void hc_scale_answer_excerpt(const struct hc_scale_plan *plan, const struct hc_scale_answer *answer,
                             int place, char text[HC_SCALE_EXCERPT]);

/* Hexadecimal digits of a code. */
int hc_scale_code_digits(const struct hc_scale_plan *plan);

/* Reads an answer. Returns what is wrong with it, or NULL. */
const char *hc_scale_answer_read(const struct hc_scale_plan *plan, const char *text,
                                 struct hc_scale_answer *answer);

#endif
