/* The terms of a gradient as texts: the inside of adjoint.h, which its three files share. */
#ifndef HC_DEFINE_GRADIENT_TERM_H
#define HC_DEFINE_GRADIENT_TERM_H

#include "define/definition.h"
#include "op/status.h"

enum { HC_MAX_FACTORS = 24, HC_MAX_TERMS = 32, HC_MAX_TEXTS = 1 << 17 };

/* coefficient * numerator[0] * numerator[1] ... / (denominator[0] * ...) */
struct hc_term {
    double coefficient;
    const char *condition; /* where it is alone `chosen`, select(condition, value, 0); else NULL */
    const char *value;
    const char *chosen;
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

/* The path from an equation's result down to something that it reads: the factor so far, the sums
   around it (their axes) and the conditions. */
struct hc_way {
    struct hc_term term;
    int loops;
    const char *loop[HC_MAX_LOOPS];
    int conditions;
    const char *condition[HC_MAX_FACTORS];
    const struct hc_expression *top; /* the max or min over several axes on the path; or NULL */
    int loops_above;                 /* the number of bound axes at `top` */
};

struct hc_adjoint {
    const struct hc_definition *definition;
    char *kept[HC_MAX_TEXTS]; /* all texts, which are freed at the end */
    int texts;
    bool failed; /* `status` says how; the rest of the work is void */
    enum hc_status status;
    struct hc_gradient of[HC_MAX_DEFINED_TENSORS];
    const char *given[HC_MAX_DEFINED_TENSORS]; /* the gradients of the results, with their axes */
    const char *name[HC_MAX_DEFINED_TENSORS];  /* of each tensor's gradient */
    const struct hc_defined_tensor *equation;  /* whose right side is being differentiated */
    struct hc_gradient *before; /* by a scan's previous element, while that is computed; or NULL */
    const char *lines;          /* equations of the gradient so far */
    const char *axes;           /* lines that declare further axes */
};

/* Notes that the gradient cannot be written, for the reason `what`. Returns "0", so that the work
   can run to its end. */
const char *hc_adjoint_fail(struct hc_adjoint *a, enum hc_status status, const char *what);

/* A printed text that lives until the work ends. */
#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
const char *
hc_text_of(struct hc_adjoint *a, const char *format, ...);

/* An expression as a text; the same, in brackets if it binds less tightly than `at_least`; an
   element of a tensor with its own axes, under another name. */
const char *hc_adjoint_print(struct hc_adjoint *a, const struct hc_expression *e);
const char *hc_adjoint_inside(struct hc_adjoint *a, const struct hc_expression *e, int at_least);
const char *hc_adjoint_element(struct hc_adjoint *a, const char *name,
                               const struct hc_defined_tensor *t);

/* Whether a text contains a name; the text with the name replaced. */
bool hc_text_mentions(const char *in, const char *name);
const char *hc_text_renamed(struct hc_adjoint *a, const char *in, const char *from, const char *to);

/* Whether a sum in the text is over this axis. */
bool hc_text_binds(const char *in, const char *axis);

/* An unused name, made of a prefix and another name. */
const char *hc_adjoint_new_name(struct hc_adjoint *a, const char *prefix, const char *of);

/* An element, with these places, of an equation with this right side: of one that is there, if it
   has the same, or of a new one, which is named by the prefix and the current equation. */
const char *hc_adjoint_line(struct hc_adjoint *a, const char *prefix, const char *places,
                            const char *right);

/* Adds a factor to a list; removes it (false if it is not in the list). */
void hc_term_put(struct hc_adjoint *a, const char **list, int *count, const char *factor);
bool hc_term_drop(const char **list, int *count, const char *factor);

/* Multiplies a term by a factor; divides it; does either with all factors of an expression. */
void hc_term_times(struct hc_adjoint *a, struct hc_term *t, const char *factor);
void hc_term_over(struct hc_adjoint *a, struct hc_term *t, const char *factor);
void hc_term_factors(struct hc_adjoint *a, struct hc_term *t, const struct hc_expression *e,
                     bool below);

/* Replaces a quotient that an equation already computes by that tensor's name. */
void hc_term_use_equations(struct hc_adjoint *a, struct hc_term *t);

/* A term as a text: without its coefficient; appended to a sum; as a right side. */
const char *hc_term_product(struct hc_adjoint *a, const struct hc_term *t);
const char *hc_term_print(struct hc_adjoint *a, const char *sum, const struct hc_term *t);
const char *hc_term_side(struct hc_adjoint *a, const struct hc_term *t);

/* The term that is this value where the condition is true, and 0 elsewhere. */
struct hc_term hc_term_chosen(struct hc_adjoint *a, double coefficient, const char *condition,
                              const char *value);

/* Adds a term to a gradient; the gradient as one term, with common factors taken out. */
void hc_gradient_add(struct hc_adjoint *a, struct hc_gradient *g, const struct hc_term *t);
struct hc_term hc_gradient_term(struct hc_adjoint *a, const struct hc_gradient *g);

/* derivative.c: follows all paths from an expression to what it reads. */
void hc_adjoint_go(struct hc_adjoint *a, const struct hc_expression *e, struct hc_way w);

/* Whether an expression reads numbers; how often, not counting shifts. */
bool hc_expression_reads(const struct hc_definition *d, const struct hc_expression *e);
int hc_expression_reads_numbers(const struct hc_definition *d, const struct hc_expression *e);

/* adjoint.c: ends a path at a read, and adds a term to the gradient of the tensor read. */
void hc_adjoint_arrive(struct hc_adjoint *a, const struct hc_expression *e,
                       const struct hc_way *from);

#endif
