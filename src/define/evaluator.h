/* The inside of an evaluator (define/value.h), which its two files share: value.c evaluates
   equations and real numbers, truth.c evaluates integers and truth values. */
#ifndef HC_DEFINE_EVALUATOR_H
#define HC_DEFINE_EVALUATOR_H

#include "define/enclosure.h"

/* Elements of an intermediate tensor that are kept, by their indices: a table with open places. */
struct hc_kept {
    struct hc_kept_row {
        int64_t index;
        struct hc_enclosure *value; /* NULL: the place is free */
    } * row;
    size_t room; /* a power of two, or 0 */
    size_t count;
};

struct hc_evaluator {
    const struct hc_instance *instance;
    const struct hc_definition *definition;
    struct hc_arithmetic arithmetic; /* of the current equation: one of the two below */
    struct hc_arithmetic wide;
    struct hc_arithmetic narrow;
    struct hc_enclosure stored; /* the element of the suspected equation, rounded once more */
    struct hc_kept kept[HC_MAX_DEFINED_TENSORS];
    int64_t kept_count;
    bool doubtful;              /* the element depends on an argmax that rounding may change */
    bool looked;                /* `specials` is known */
    bool specials;              /* an input has an infinity or a NaN */
    int64_t operations;         /* so far, for the current element */
    int64_t place[HC_MAX_AXES]; /* the indices along the bound axes */
    struct hc_enclosure *node;  /* results of operations, by id */
    struct hc_enclosure option[HC_MAX_DEFINED_OPTIONS];
    bool option_known[HC_MAX_DEFINED_OPTIONS];
    enum hc_status status;
};

/* A truth value of the real numbers; the odd ones are true. MAYBE means that an implementation's
   roundings may reverse it, and UNORDERED that it depends on how a number compares with what is or
   may be NaN: either is right, and so is a NaN in place of what it chooses. */
enum hc_truth {
    HC_IS_FALSE,
    HC_IS_TRUE,
    HC_MAYBE_FALSE,
    HC_MAYBE_TRUE,
    HC_UNORDERED_FALSE,
    HC_UNORDERED_TRUE,
    HC_IS_ABSENT
};

static inline bool hc_truth_really(enum hc_truth t)
{
    return t == HC_IS_TRUE || t == HC_MAYBE_TRUE || t == HC_UNORDERED_TRUE;
}

static inline bool hc_truth_unsure(enum hc_truth t)
{
    return t > HC_IS_TRUE && t < HC_IS_ABSENT;
}

static inline bool hc_truth_unordered(enum hc_truth t)
{
    return t == HC_UNORDERED_FALSE || t == HC_UNORDERED_TRUE;
}

/* Notes that the element cannot be evaluated, for the reason `what`. Returns false. */
bool hc_evaluator_fail(struct hc_evaluator *v, const char *what);

/* The expression's real number; NULL if the element cannot be evaluated. */
const struct hc_enclosure *hc_evaluator_real(struct hc_evaluator *v, const struct hc_expression *e);

/* The expression's integer. False if it has no value here. */
bool hc_evaluator_integer(struct hc_evaluator *v, const struct hc_expression *e, int64_t *value);

enum hc_truth hc_evaluator_truth(struct hc_evaluator *v, const struct hc_expression *e);

/* For any, all and count over an axis: for how many indices the body is true. */
struct hc_counted {
    int64_t places; /* all indices */
    int64_t real;   /* true in real numbers */
    int64_t sure;   /* true however an implementation rounds */
    int64_t maybe;  /* true for some roundings */
    bool unordered; /* a NaN is compared */
};
bool hc_evaluator_count(struct hc_evaluator *v, const struct hc_expression *e,
                        struct hc_counted *c);

#endif
