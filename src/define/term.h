/* The terms of a gradient, as texts: the inside of define/adjoint.h, which its three files share.
 */
#ifndef HC_DEFINE_TERM_H
#define HC_DEFINE_TERM_H

#include "define/definition.h"
#include "op/status.h"

enum { HC_MAX_FACTORS = 24, HC_MAX_TERMS = 32, HC_MAX_TEXTS = 1 << 17 };

/* coefficient * numerator[0] * numerator[1] ... / (denominator[0] * ...) */
struct hc_term {
    double coefficient;
    int above;
    const char *numerator[HC_MAX_FACTORS];
    int below;
    const char *denominator[HC_MAX_FACTORS];
};

/* The sum of its terms. */
struct hc_gradient {
    int terms;
    struct hc_term term[HC_MAX_TERMS];
};

enum { HC_MAX_LOOPS = 12 };

/* A term on its way to a read: the axes that are bound, and the conditions. */
struct hc_way {
    struct hc_term term;
    int loops;
    const char *loop[HC_MAX_LOOPS];
    int conditions;
    const char *condition[HC_MAX_FACTORS];
    const struct hc_expression *top; /* of the max or min over several axes that it goes through */
    int loops_above;                 /* the axes that were bound there */
};

struct hc_adjoint {
    const struct hc_definition *definition;
    char *kept[HC_MAX_TEXTS]; /* all texts, which are freed at the end */
    int texts;
    bool failed; /* with this status and a line: nothing that follows counts */
    enum hc_status status;
    struct hc_gradient of[HC_MAX_DEFINED_TENSORS];
    const char *given[HC_MAX_DEFINED_TENSORS]; /* the gradients of the results, with their axes */
    const char *name[HC_MAX_DEFINED_TENSORS];  /* of the gradient */
    const struct hc_defined_tensor *equation;  /* whose right side is differentiated */
    struct hc_gradient *before; /* of a scan's element before, while that is asked for */
    const char *lines;          /* equations of the gradient so far */
    const char *axes;           /* lines that declare further axes */
};

/* The gradient cannot be written down. Returns "0", so that the work goes on to its end. */
const char *hc_adjoint_fail(struct hc_adjoint *a, enum hc_status status, const char *what);

/* A text that lives as long as the work. */
#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
const char *
hc_text_of(struct hc_adjoint *a, const char *format, ...);

/* An expression as text; in brackets unless it binds at least as tightly; a tensor with its own
   axes, under a name. */
const char *hc_adjoint_print(struct hc_adjoint *a, const struct hc_expression *e);
const char *hc_adjoint_inside(struct hc_adjoint *a, const struct hc_expression *e, int at_least);
const char *hc_adjoint_element(struct hc_adjoint *a, const char *name,
                               const struct hc_defined_tensor *t);

/* Whether a name stands in a text; and the text with another one in its place. */
bool hc_text_mentions(const char *in, const char *name);
const char *hc_text_renamed(struct hc_adjoint *a, const char *in, const char *from, const char *to);

/* Whether a sum in the text is over this axis. */
bool hc_text_binds(const char *in, const char *axis);

/* A name that nothing has yet: a prefix and another name. */
const char *hc_adjoint_new_name(struct hc_adjoint *a, const char *prefix, const char *of);

/* Puts a factor into a list, and takes it out (false: it is not there). */
void hc_term_put(struct hc_adjoint *a, const char **list, int *count, const char *factor);
bool hc_term_drop(const char **list, int *count, const char *factor);

/* Multiplies and divides a term; by the factors of an expression. */
void hc_term_times(struct hc_adjoint *a, struct hc_term *t, const char *factor);
void hc_term_over(struct hc_adjoint *a, struct hc_term *t, const char *factor);
void hc_term_factors(struct hc_adjoint *a, struct hc_term *t, const struct hc_expression *e,
                     bool below);

/* Gives a quotient that an equation has already the name that it has there. */
void hc_term_use_equations(struct hc_adjoint *a, struct hc_term *t);

/* A term without its coefficient; behind what has been written of a sum; as a right side. */
const char *hc_term_product(struct hc_adjoint *a, const struct hc_term *t);
const char *hc_term_print(struct hc_adjoint *a, const char *sum, const struct hc_term *t);
const char *hc_term_side(struct hc_adjoint *a, const struct hc_term *t);

/* Adds a term; and the whole gradient as one term, which has what all have in common. */
void hc_gradient_add(struct hc_adjoint *a, struct hc_gradient *g, const struct hc_term *t);
struct hc_term hc_gradient_term(struct hc_adjoint *a, const struct hc_gradient *g);

/* derivative.c: the derivatives of an expression by all that it reads, along a way. */
void hc_adjoint_go(struct hc_adjoint *a, const struct hc_expression *e, struct hc_way w);

/* Whether it reads numbers; and how often, shifts not counted. */
bool hc_expression_reads(const struct hc_definition *d, const struct hc_expression *e);
int hc_expression_reads_numbers(const struct hc_definition *d, const struct hc_expression *e);

/* adjoint.c: a way ends at a read, whose tensor's gradient gets a term. */
void hc_adjoint_arrive(struct hc_adjoint *a, const struct hc_expression *e,
                       const struct hc_way *from);

#endif
