/* The evaluation of a program in one arm, four ways in lock step:

   got    on a backend: add, sub, mul, div, sqrt, fma and cast are calls of ops, and all else is
          taken from the definition, since the op table has no exp and a comparison rounds nothing
   want   by definition: each operation in MPFR, rounded once
   real   the real numbers: in MPFR, casts and storage do nothing
   rad    a bound on |want - real|, carried along from operation to operation (formula/radius.h)

   The structure of a program does not depend on values, so each operation is done in all four ways
   before the next one. Where `got` differs from `want`, the first such operation is kept. */
#ifndef HC_FORMULA_EVALUATE_H
#define HC_FORMULA_EVALUATE_H

#include <stdint.h>

#include "formula/program.h"
#include "op/call.h"
#include "reference.h"

/* The most terms of a sum and elements of a list; and the most terms of all sums
   of a step together, sums inside of sums included. So a step ends within seconds. */
#define HC_MAX_TERMS      (1 << 20)
#define HC_MAX_STEP_TERMS (1 << 22)

/* A value: n elements of one format; or a constant, which has none; or truths and counts. These
   have none either, but come out differently in the four evaluations. Where truths and constants
   meet a value they are rounded to its format. Between them, arithmetic is fp64's if there are
   truths, and otherwise that of real numbers. */
struct hc_value {
    bool constant;         /* `real` is all there is: want, got and rad are not filled in */
    enum hc_format format; /* of want and got; HC_FORMAT_COUNT for a constant, a truth or a count */
    bool list;             /* false: a scalar, n = 1 */
    int64_t n;
    double *got;
    double *want;
    double *rad;
    struct hc_real **real;
    double *real_rad; /* a bound on the error of `real` itself, whose bits are limited */
};

/* Runs a call of one op whose tensors lie in host memory. */
typedef enum hc_status hc_formula_call(const struct hc_call *call, void *context);

struct hc_evaluation_options {
    hc_formula_call *call; /* NULL: by definition only, and got is want */
    void *context;
    long precision; /* of the real numbers, in bits; 0: HC_REFERENCE_PRECISION */
    /* Casts to formats of as many bytes as the arm's arithmetic, or more, are casts to the
       arithmetic: a formula that widens in between is computed in one narrow format. */
    bool narrow;
};

struct hc_evaluation;

/* An evaluation in which no name has a value yet. `program` may still get blocks. NULL with
   hc_message() if there is no memory. */
struct hc_evaluation *hc_evaluation_open(const struct hc_program *program, const struct hc_arm *arm,
                                         const struct hc_evaluation_options *options);
void hc_evaluation_close(struct hc_evaluation *e);

enum hc_evaluated {
    HC_EVALUATED,
    HC_EVALUATED_WRONGLY, /* the formula is wrong: *error is filled in */
    HC_EVALUATED_FAILED   /* a call failed, or memory ran out: hc_evaluation_status */
};

/* Runs a block of statements. `step` is what the formula calls step. */
enum hc_evaluated hc_evaluation_run(struct hc_evaluation *e, const struct hc_block *block,
                                    int64_t step, struct hc_formula_error *error);

/* The value of a name, NULL if it has none yet. It lives until the next run. */
const struct hc_value *hc_evaluation_value(const struct hc_evaluation *e, int name);

/* The value of expression `i` of a block of expressions; constants take the arm's format, truths
   and counts stay what they are. NULL if it cannot be had; *evaluated then says why. The value
   lives until the next call of show or run. */
const struct hc_value *hc_evaluation_show(struct hc_evaluation *e, const struct hc_block *block,
                                          int i, int64_t step, enum hc_evaluated *evaluated,
                                          struct hc_formula_error *error);

/* The status of the call that failed. */
enum hc_status hc_evaluation_status(const struct hc_evaluation *e);

/* Operations that were compared, got with want, and how many differed; and the first that did. */
struct hc_evaluation_difference {
    int64_t compared;
    int64_t differed;
    const struct hc_node *node; /* of the first; NULL if none differed */
    int64_t step;
    enum hc_format format;
    double want;
    double got;
};

const struct hc_evaluation_difference *hc_evaluation_difference(const struct hc_evaluation *e);

#endif
