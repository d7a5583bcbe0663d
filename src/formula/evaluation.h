/* What the files of the evaluation share. A function that returns a value returns NULL after
   hc_wrong or hc_lack; whoever called it returns NULL, too, and the run ends. */
#ifndef HC_FORMULA_EVALUATION_H
#define HC_FORMULA_EVALUATION_H

#include "formula/evaluate.h"
#include "formula/event.h"
#include "formula/radius.h"

/* The memory of values. A loop of a formula makes and drops some values at every step, so they are
   kept for the next one. A value that is being computed is temporary: it stands on a stack, and
   everything above a mark goes at once, also after an error half way. A name owns its value. */

struct hc_held;

struct hc_values {
    struct hc_held *idle;
    struct hc_held **temporary;
    int count;
    int room;
    long precision; /* of the real numbers */
    bool got;       /* whether `got` has memory of its own; otherwise it is `want` */
};

/* A temporary scalar or list of n elements that hold anything. NULL if there is no memory. */
struct hc_value *hc_values_new(struct hc_values *values, bool list, int64_t n);

/* Drops the temporary values from number `mark` on, but for `kept`, which may be NULL, or none of
   them. */
void hc_values_release(struct hc_values *values, int mark, const struct hc_value *kept);

/* A value that the caller owns: v itself if it was temporary, otherwise a copy. */
struct hc_value *hc_values_own(struct hc_values *values, struct hc_value *v);

/* Takes an owned value back; NULL is ignored. */
void hc_values_drop(struct hc_values *values, struct hc_value *v);

void hc_values_close(struct hc_values *values);

/* Element i of y becomes element j of x, which is of y's kind. */
void hc_value_copy(struct hc_value *y, int64_t i, const struct hc_value *x, int64_t j);

/* y gets x's kind: constant and format. */
void hc_value_like(struct hc_value *y, const struct hc_value *x);

/* The bits of exact sums and fma: see operation.c. */
enum { HC_MAX_OPERANDS = 3, HC_NARROW_SUM_BITS = 576, HC_FP64_SUM_BITS = 4224 };

/* A name's value: as it is stored, and as the next formula reads it. They are the same value but
   for an arm with a storage format. */
struct hc_named {
    struct hc_value *stored;
    struct hc_value *read;
};

/* Numbers that every operation uses again. */
struct hc_scratch {
    struct hc_real *operand[HC_MAX_OPERANDS];
    struct hc_real *result;     /* of most functions */
    struct hc_real *narrow_sum; /* an exact sum, or fma, of numbers of fp32, bf16 or fp16 */
    struct hc_real *fp64_sum;   /* the same of numbers of fp64 */
    struct hc_real *zero;
    struct hc_real *one;
    void *memory[HC_MAX_OPERANDS + 1]; /* of a call's tensors, the last one of its output */
    int64_t room;                      /* elements of each */
};

struct hc_evaluation {
    const struct hc_program *program;
    struct hc_arm arm;
    struct hc_evaluation_options options;
    struct hc_values values;
    struct hc_named name[HC_MAX_NAMES];
    struct hc_value **literal; /* by node */
    int nodes;                 /* for which there is room */
    struct hc_scratch scratch;
    double real_unit; /* unit roundoff of the real numbers */
    bool constants;   /* in the right side of :=, where constants never take a format */
    int64_t step;
    int64_t terms;    /* of sums, in this step so far */
    const char *text; /* of the block that runs */
    struct hc_formula_error *error;
    enum hc_status status;
    bool wrong;
    struct hc_evaluation_difference difference;
    struct hc_event *event;
    int events;
    int *event_of; /* by node and kind: 1 + its number, 0 if there is none */
};

/* One operation: a function, and into what its result is rounded. */
struct hc_operation {
    const struct hc_node *node; /* that it is part of */
    enum hc_function function;
    enum hc_format format; /* of the rounding */
    enum hc_direction direction;
    bool implied;  /* a cast of what `node` is, since it meets a format or is stored */
    bool saturate; /* a cast */
};

/* Elements at, at + stride, at + 2 stride, ... of a value. */
struct hc_operand {
    const struct hc_value *value;
    int64_t at;
    int64_t stride;
};

/* operation.c: element at, at + 1, ... of y become the operation on n elements of each operand, in
   all ways that y's kind has. y may be an operand if n is 1. False if a call failed. */
bool hc_operate(struct hc_evaluation *e, const struct hc_operation *operation,
                const struct hc_operand *x, struct hc_value *y, int64_t at, int64_t n);

/* The disc of a real number, and what its rounding to its bits adds. */
struct hc_disc hc_real_disc(const struct hc_real *x, double rad);
double hc_real_rounding(const struct hc_evaluation *e, const struct hc_real *x, bool exact);

/* The definition: the function of numbers of the operation's format, rounded once. */
struct hc_defined {
    double value;
    double before; /* the rounding, to nearest in fp64 */
    bool exact;
};

struct hc_defined hc_define(struct hc_scratch *scratch, const struct hc_operation *operation,
                            const double *x);

/* A real number rounded as the operation's result; *exact: it is the same number. */
double hc_round_real(const struct hc_real *x, const struct hc_operation *operation, bool *exact);

/* evaluate.c: the value of a number's text, of `step` and of integers. */
struct hc_value *hc_integer(struct hc_evaluation *e, int64_t value);

/* The integer from `least` to `most` that element i of a constant is. False after hc_wrong. */
bool hc_integer_of(struct hc_evaluation *e, const struct hc_node *node, const struct hc_value *v,
                   int64_t i, int64_t least, int64_t most, int64_t *integer);

/* v in a format: a constant is rounded once, a value is cast. HC_FORMAT_COUNT gives a constant the
   kind of truths. `node` is what v is the value of. */
struct hc_value *hc_meet(struct hc_evaluation *e, const struct hc_node *node, struct hc_value *v,
                         enum hc_format format);

/* v cast by an operation; tf32 numbers are fp32 numbers. */
struct hc_value *hc_cast_value(struct hc_evaluation *e, const struct hc_operation *operation,
                               struct hc_value *v);

/* The value of a node. */
struct hc_value *hc_walk(struct hc_evaluation *e, const struct hc_node *node);

/* Brings values to the format in which they meet. of[k] is what x[k] is the value of. */
bool hc_unite(struct hc_evaluation *e, const struct hc_node *node, const struct hc_node *const *of,
              struct hc_value **x, int operands);

void *hc_no_arithmetic(struct hc_evaluation *e, const struct hc_node *node, enum hc_format format);

/* list.c */
struct hc_value *hc_list_of(struct hc_evaluation *e, const struct hc_node *node);
struct hc_value *hc_list_at(struct hc_evaluation *e, const struct hc_node *node);
struct hc_value *hc_over(struct hc_evaluation *e, const struct hc_node *node);
struct hc_value *hc_of_list(struct hc_evaluation *e, const struct hc_node *node);

/* scale.c: a function of kind SCALE. */
struct hc_value *hc_scale_value(struct hc_evaluation *e, const struct hc_node *node);

/* A new temporary value; NULL after hc_lack. */
struct hc_value *hc_new_value(struct hc_evaluation *e, bool list, int64_t n);

/* event.c: notes what happened in one element of an operation on element i of the operands, which
   are x in the format; or to a constant; or to a name that gets a value of another format. */
void hc_note(struct hc_evaluation *e, const struct hc_operation *operation,
             const struct hc_operand *operands, int64_t i, const double *x,
             const struct hc_defined *result);
void hc_note_format(struct hc_evaluation *e, const struct hc_node *node, int name,
                    enum hc_format before, enum hc_format format);
void hc_note_constant(struct hc_evaluation *e, const struct hc_operation *cast,
                      const struct hc_real *x, double result);

/* Something is wrong with the formula at a node. NULL. */
#if defined(__GNUC__)
__attribute__((format(printf, 3, 4)))
#endif
void *
hc_wrong(struct hc_evaluation *e, const struct hc_node *node, const char *format, ...);

/* A status that is not HC_OK ends the run. NULL. */
void *hc_lack(struct hc_evaluation *e, enum hc_status status);

#endif
