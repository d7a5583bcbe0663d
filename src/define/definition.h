/* A definition: an op as a text in index notation, as a paper would print it.

     op rms_norm(x[t, d], w[d]; eps = 1e-6)
     r[t] = 1 / sqrt(mean(d: x[t,d] * x[t,d]) + eps)
     y[t, d] = x[t,d] * r[t] * w[d]
     return y

   Here is its tree. docs/definitions.md describes the language; src/define/value.h says what the
   real value of an element is, and how far a right implementation may be from it. */
#ifndef HC_DEFINE_DEFINITION_H
#define HC_DEFINE_DEFINITION_H

#include <stdbool.h>
#include <stdint.h>

#include "formula/program.h"
#include "op/tensor.h"

/* Limits of a text; one beyond them is refused with a line. */
enum {
    HC_LONGEST_DEFINITION = 65536, /* characters */
    HC_MAX_AXES = 32,
    HC_MAX_DEFINED_TENSORS = 64, /* tensors: inputs and what equations assign */
    HC_MAX_DEFINED_OPTIONS = 16,
    HC_MAX_EXPRESSIONS = 4096,
    HC_LONGEST_DEFINED_NAME = 47,
    HC_MAX_REDUCED = 8, /* axes of one reduction */
    HC_DEEPEST_EXPRESSION = 100,
    HC_MAX_VARIANTS = 8
};

enum hc_expression_kind {
    HC_EXPRESSION_NUMBER, /* a number of the text; inf and pi, too */
    HC_EXPRESSION_AXIS,   /* the index along `axis`: 0, 1, ... */
    HC_EXPRESSION_EXTENT, /* the length of `axis` */
    HC_EXPRESSION_OPTION, /* `option` */
    HC_EXPRESSION_READ,   /* the element [operand[0], operand[1], ...] of `tensor` */
    HC_EXPRESSION_APPLY,  /* `function` of the operands: those of formulas, rounded as they are */
    HC_EXPRESSION_NOT,
    HC_EXPRESSION_AND,
    HC_EXPRESSION_OR,
    HC_EXPRESSION_MOD,  /* of integers; its sign is the divisor's */
    HC_EXPRESSION_OVER, /* `reduction` of operand[0] over `axis`, where operand[1], if it is there,
                            is true */
    HC_EXPRESSION_EITHER, /* any number between operand[0] and operand[1] */
    HC_EXPRESSION_STORE,  /* operand[0] rounded into the tensors' format, or into `format` */
};

enum hc_reduction {
    HC_OVER_SUM,
    HC_OVER_MEAN,
    HC_OVER_PROD,
    HC_OVER_MAX,
    HC_OVER_MIN,
    HC_OVER_COUNT, /* of truth values */
    HC_OVER_ANY,
    HC_OVER_ALL,
    HC_OVER_ARGMAX, /* the index of the largest; among equal ones, any */
    HC_REDUCTIONS
};

extern const char *const hc_reduction_names[HC_REDUCTIONS];

/* The type of an expression. Integers are exact and serve as indices; an integer may stand where a
   real number is wanted. */
enum hc_expression_type { HC_TYPE_REAL, HC_TYPE_INTEGER, HC_TYPE_TRUTH };

enum { HC_MAX_EXPRESSION_OPERANDS = HC_MAX_RANK };

struct hc_expression {
    enum hc_expression_kind kind;
    enum hc_expression_type type;
    int id;         /* 0, 1, 2, ... in the definition */
    const char *at; /* the beginning of its text, */
    int length;     /* and the length of that */
    int depth;      /* of the tree of its operands */
    bool exact;     /* of type TRUTH: it depends only on integers and truth values */
    bool mean;      /* over several axes: the quotient of their sum and their extents */
    bool variance;  /* the mean of the squares of deviations from a mean */
    bool moment;    /* a mean from which deviations are taken, or the mean of their
                       squares, which may be computed by Welford's formulas */
    bool summed;    /* a product that is the term of a sum */
    bool optional;  /* of kind STORE: `store?`, a rounding that may be left out */
    enum hc_function function;
    enum hc_reduction reduction;
    enum hc_format format; /* of kind STORE: its target; HC_FORMAT_COUNT: the tensors' */
    int64_t whole;         /* of kind NUMBER and type INTEGER: the number */
    int axis;
    int option;
    int tensor;
    int operands;
    struct hc_expression *operand[HC_MAX_EXPRESSION_OPERANDS];
};

/* An axis has a name in small letters; the same name in capitals is its extent. */
struct hc_axis {
    char name[HC_LONGEST_DEFINED_NAME + 1];
    const struct hc_expression *extent; /* of `axis i = ...`; NULL: the inputs' shapes say it */
    int inputs;                         /* how many inputs have it */
};

enum hc_option_type { HC_OPTION_REAL, HC_OPTION_INTEGER, HC_OPTION_TRUTH };

struct hc_defined_option {
    char name[HC_LONGEST_DEFINED_NAME + 1];
    enum hc_option_type type;          /* of its default value */
    const struct hc_expression *value; /* the default */
};

/* A tensor: an input, or what an equation assigns. */
struct hc_defined_tensor {
    char name[HC_LONGEST_DEFINED_NAME + 1];
    int rank;
    int axis[HC_MAX_RANK];
    bool input;
    bool index; /* an input of integers, which index `index_axis` if that is not -1 */
    int index_axis;
    bool shift;    /* a number that cancels from every result */
    bool gradient; /* an input that is a gradient, or what depends on one */
    bool returned;
    enum hc_format format;              /* of a result; HC_FORMAT_COUNT: the tensors' */
    const struct hc_expression *value;  /* of its equation; NULL for an input */
    const struct hc_expression *where;  /* elements are absent where this is false; or NULL */
    int scan;                           /* the axis of its recurrence; -1: none */
    const struct hc_expression *before; /* of a scan: the value at index -1 */
    const char *at;                     /* its equation's text */
    int length;
};

struct hc_definition {
    char name[HC_LONGEST_DEFINED_NAME + 1];
    char *text;      /* a copy, with the equations of each `use` and of the variant */
    char digest[17]; /* the first 16 hexadecimal digits of the SHA-256 of the owner's text, with the
                        equations of each `use` */
    int variants;    /* of the owner's text */
    char variant[HC_MAX_VARIANTS][HC_LONGEST_DEFINED_NAME + 1];
    char chosen[HC_LONGEST_DEFINED_NAME + 1]; /* the variant used; "": the main equations */
    char *backward; /* the op that `backward given` states, as a text; or NULL */
    int axes;
    struct hc_axis axis[HC_MAX_AXES];
    int options;
    struct hc_defined_option option[HC_MAX_DEFINED_OPTIONS];
    int tensors; /* the inputs, then the others in the order of the equations */
    int inputs;
    struct hc_defined_tensor tensor[HC_MAX_DEFINED_TENSORS];
    int results; /* in the order of `return` */
    int result[HC_MAX_DEFINED_TENSORS];
    int expressions;
    struct hc_expression *expression[HC_MAX_EXPRESSIONS];
};

/* Parses and checks a text. If it is wrong, returns NULL and fills in *error; error->length is 0 if
   there is no memory. error->at points into the caller's text. */
struct hc_definition *hc_definition_read(const char *text, struct hc_formula_error *error);

/* The same with the equations of a variant; NULL: the main equations. If the text has no such
   variant, *error is about the name, and error->at is 0. */
struct hc_definition *hc_definition_read_variant(const char *text, const char *variant,
                                                 struct hc_formula_error *error);

/* The same for a text that halfcheck has made of another one. It may assign tensors that nothing
   uses. */
struct hc_definition *hc_definition_read_made(const char *text, struct hc_formula_error *error);
void hc_definition_free(struct hc_definition *definition);

/* The tensor, axis or option of a name; -1 if there is none. */
int hc_definition_tensor(const struct hc_definition *definition, const char *name);
int hc_definition_axis(const struct hc_definition *definition, const char *name);
int hc_definition_option(const struct hc_definition *definition, const char *name);

#endif
