/* What `halfcheck judge` answers: for people, as JSON, and as a file that keeps the case. */
#ifndef HC_CLI_JUDGE_ANSWER_H
#define HC_CLI_JUDGE_ANSWER_H

#include <jansson.h>
#include <stdio.h>

#include "check/check.h"
#include "check/judge/cut.h"
#include "check/judge/judge.h"
#include "cli/judge/question.h"

struct hc_answer {
    const struct hc_question *question;
    const struct hc_judge *judge;
    enum hc_verdict verdict;
    struct hc_judged_output output[HC_MAX_OUT]; /* of those that were judged */
    bool judged[HC_MAX_OUT];
    bool improbable;      /* no element is wrong, and errors of sums are hardly roundings */
    const char *numbers;  /* how numbers are read that have two readings; NULL: none has */
    int worst;            /* the output with the largest ratio */
    const char *backend;  /* that computed the outputs; NULL: they came from files */
    int64_t flushed;      /* subnormal factors that the backend, as it declares, reads as 0 */
    bool all_flushed;     /* nothing else was multiplied */
    const char *kept;     /* the file that keeps the smallest sub-problem, or NULL */
    struct hc_call small; /* it, where it was kept */
    char repro[4352];     /* a command that gives this verdict again; "" if none does */
};

/* A report of 76 columns. */
void hc_answer_print(FILE *out, const struct hc_answer *answer);

/* Writes the document: {"op", "verdict", "layout", "backend", "accumulator", "params",
   "flushed", "numbers", "outputs":
   [{"slot", "format", "shape", "elements", "judged", "wrong", "unbounded", "as_exact", "where",
   "implementation", "format_error", "excess", "worst": {"index", "real", "want", "got", "exact",
   "error", "bound", "ratio", "ulps", "implementation", "format", "inputs"}, "histogram": {"edges",
   "counts"}}], "whose", "kept", "repro"}. Numbers that JSON lacks are the strings "inf",
   "-inf" and "nan". */
enum hc_status hc_answer_write(const char *path, const struct hc_answer *answer);

/* A number as JSON, which has no infinities and no NaN: they are strings. */
json_t *hc_answer_number(double value);

/* "rule=mx-rp, columns=32". */
enum { HC_PARAMETERS_TEXT = 2048 };

/* Cuts the worst element's call down and keeps it. */
enum hc_status hc_answer_keep(struct hc_answer *answer, const char *path);

/* "y[0, 5, 3, 2]", as the files have it. */
enum { HC_PLACE_TEXT = 160 };

/* The inputs of an element, where they are few: calls `tell` for each number. `element` names an
   element of a small input, or is NULL. */
typedef void hc_input_callback(const char *slot, const char *element, double value, void *context);

#endif
