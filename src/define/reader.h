/* The state of the reader of definitions, which its files share: expression.c and over.c read the
   right sides, and read.c all around them. A rule returns false after filling in the error. */
#ifndef HC_DEFINE_READER_H
#define HC_DEFINE_READER_H

#include "define/definition.h"
#include "formula/parser.h"

struct hc_reader {
    struct hc_definition *definition;
    struct hc_formula_error *error;
    const char *text;
    struct hc_token token;  /* the next one */
    const char *end;        /* of the last one */
    int brackets;           /* open ones; a line may end anywhere within them */
    int depth;              /* of the recursion */
    int bound[HC_MAX_AXES]; /* how often the left side and the sums around bind an axis */
    int assigned;           /* the tensor whose equation is read; -1: none */
    int scan;               /* the axis that it scans; -1: none */
    bool made;              /* made by halfcheck: tensors may be unused */
};

void hc_reader_next(struct hc_reader *r);
bool hc_reader_is(const struct hc_reader *r, const char *text);
bool hc_reader_take(struct hc_reader *r, const char *text);
bool hc_reader_ends(const struct hc_reader *r); /* the line, or the text */

#if defined(__GNUC__)
__attribute__((format(printf, 4, 5)))
#endif
bool hc_reader_wrong(struct hc_reader *r, const char *at, long length, const char *format, ...);
/* Reports an error at the next token. */
bool hc_reader_missing(struct hc_reader *r, const char *what);
bool hc_reader_expect(struct hc_reader *r, const char *sign, const char *what);

/* Reads an expression of this type; a real number may be an integer. */
bool hc_read_expression(struct hc_reader *r, enum hc_expression_type type,
                        struct hc_expression **expression);

/* Parses a text of equations alone. The error is told in the definition's copy of it, which is the
   text to the letter. */
struct hc_definition *hc_read_equations(const char *text, bool made,
                                        struct hc_formula_error *error);

/* expression.c: makes a node whose text goes from `start` to the end of the last token; an
   operation on two numbers. */
bool hc_expression_make(struct hc_reader *r, struct hc_expression node, const char *start,
                        struct hc_expression **made);
bool hc_expression_apply(struct hc_reader *r, enum hc_function f, const char *start,
                         struct hc_expression *a, struct hc_expression *b,
                         struct hc_expression **made);

/* over.c: reads a reduction behind its "(". */
bool hc_read_over(struct hc_reader *r, enum hc_reduction reduction, const char *start,
                  struct hc_expression **e);

/* Marks the means and variances that Welford's formulas compute together. */
void hc_definition_find_moments(struct hc_definition *definition);

/* Reads the name of an axis that exists. */
bool hc_read_axis(struct hc_reader *r, int *axis);

#endif
