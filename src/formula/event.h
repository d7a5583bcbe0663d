/* What happened to the numbers of a formula in one arm, and where: the first time of each kind at
   each node. This is what calc tells a reader, so that he need not search in a table of digits. */
#ifndef HC_FORMULA_EVENT_H
#define HC_FORMULA_EVENT_H

#include "formula/evaluate.h"

enum hc_event_kind {
    HC_EVENT_LITERAL_ZERO, /* a constant that is not 0 is 0 in the format */
    HC_EVENT_LITERAL_ONE,  /* a constant that is not 1 is 1 in the format */
    HC_EVENT_LITERAL_INF,  /* a finite constant is infinite in the format, or an infinite one NaN */
    HC_EVENT_ABSORBED,     /* x + y or x - y is x, and y is not 0 */
    HC_EVENT_CANCELLED,    /* x - y is so small that most of what is left is error of x or y */
    HC_EVENT_VANISHED,     /* a result that is not 0 was rounded to 0 */
    HC_EVENT_OVERFLOWED,   /* a finite result was rounded to infinity (to NaN in e4m3) */
    HC_EVENT_NAN,          /* NaN out of operands that were none */
    HC_EVENT_DIVIDED_BY_0, /* infinity out of a division by 0, or of a logarithm of 0 */
    HC_EVENT_SATURATED,    /* what is too large became the format's largest number */
    HC_EVENT_SIGN_LOST,    /* a negative number became a positive one of a format without a sign */
    HC_EVENT_REFORMATTED,  /* a name has another format than it had: `node` is its new value */
    HC_EVENT_KIND_COUNT
};

struct hc_event {
    enum hc_event_kind kind;
    const struct hc_node *node;
    enum hc_function function; /* that did it: add in a sum, cast where a value is stored */
    bool implied;              /* a cast that the formula does not name: `node` meets a format */
    enum hc_format format;     /* of the result */
    enum hc_direction direction;
    int64_t first; /* the step of the first time; 0: before the loop */
    int64_t last;  /* and of the latest */
    int64_t times; /* elements and steps together */
    int operands;
    double operand[3]; /* of the first time, as the format has them */
    double exact;      /* of the first time: what was rounded, to nearest in fp64 */
    double result;
    int bits;              /* that cancelled */
    double off[2];         /* of what cancelled: how far the operands were from the real numbers */
    const char *name;      /* that has another format, */
    enum hc_format before; /* and which one it had */
};

/* The events so far, in the order of their first times. */
int hc_evaluation_events(const struct hc_evaluation *e, const struct hc_event **events);

/* One sentence about an event, without a full stop: "1e-4 is below half an ulp of w, 2^-12". */
void hc_event_text(const struct hc_event *event, char *buffer, size_t size);

#endif
