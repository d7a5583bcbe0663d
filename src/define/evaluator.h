/* The inside of an evaluator (define/value.h), which its two files share: value.c has the equations
   and their real numbers, and truth.c integers and truths. */
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
    struct hc_arithmetic arithmetic; /* of the equation that is computed: one of these two */
    struct hc_arithmetic wide;
    struct hc_arithmetic narrow;
    struct hc_enclosure stored; /* the suspect's element, rounded once more */
    struct hc_kept kept[HC_MAX_DEFINED_TENSORS];
    int64_t kept_count;
    bool doubtful; /* rounding may turn around where the largest is, on which the element depends */
    bool looked;   /* whether an input has an infinity or a NaN: */
    bool specials;
    int64_t operations;                           /* for the element so far */
    int64_t place[HC_MAX_AXES];                   /* of the axes that are bound */
    struct hc_enclosure node[HC_MAX_EXPRESSIONS]; /* results of operations, by id */
    struct hc_enclosure option[HC_MAX_DEFINED_OPTIONS];
    bool option_known[HC_MAX_DEFINED_OPTIONS];
    enum hc_status status;
};

/* In real numbers it is false or true; and an implementation's roundings may turn it around. */
enum hc_truth { HC_IS_FALSE, HC_IS_TRUE, HC_MAYBE_FALSE, HC_MAYBE_TRUE, HC_IS_ABSENT };

static inline bool hc_truth_really(enum hc_truth t)
{
    return t == HC_IS_TRUE || t == HC_MAYBE_TRUE;
}

static inline bool hc_truth_unsure(enum hc_truth t)
{
    return t == HC_MAYBE_FALSE || t == HC_MAYBE_TRUE;
}

/* The element cannot be evaluated, with that sentence. Returns false. */
bool hc_evaluator_fail(struct hc_evaluator *v, const char *what);

/* A real number; NULL: the element cannot be evaluated. */
const struct hc_enclosure *hc_evaluator_real(struct hc_evaluator *v, const struct hc_expression *e);

/* An integer. False: it has no value here. */
bool hc_evaluator_integer(struct hc_evaluator *v, const struct hc_expression *e, int64_t *value);

enum hc_truth hc_evaluator_truth(struct hc_evaluator *v, const struct hc_expression *e);

/* any, all and count over an axis: of how many places the body is true, and of how many it surely
   is, and may be. */
struct hc_counted {
    int64_t places;
    int64_t real;
    int64_t sure;
    int64_t maybe;
};
bool hc_evaluator_count(struct hc_evaluator *v, const struct hc_expression *e,
                        struct hc_counted *c);

#endif
