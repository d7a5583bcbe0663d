/* The state of the parser, and what all rules of the grammar do with it.

   Each rule reads its text, leaves one node more on a stack, and returns true; or it fills in the
   error and returns false. hc_parser_reduce makes one node of the last few, so that the rules need
   not say a word about memory. */
#ifndef HC_FORMULA_PARSER_H
#define HC_FORMULA_PARSER_H

#include "formula/program_inner.h"

struct hc_parser {
    struct hc_program *program;
    struct hc_formula_error *error;
    const char *text;
    struct hc_token token; /* the next one */
    const char *end;       /* of the last one */
    int depth;             /* of the recursion */
    int count;             /* nodes on the stack */
    int room;
    struct hc_node **stack;
};

void hc_parser_next(struct hc_parser *p);
bool hc_parser_is(const struct hc_parser *p, const char *sign);

/* Goes on if the next token is this sign; returns whether it was. */
bool hc_parser_take(struct hc_parser *p, const char *sign);

/* Whether a statement may end here. */
bool hc_parser_ends(const struct hc_parser *p);

/* The error at a piece of the text. Returns false. */
#if defined(__GNUC__)
__attribute__((format(printf, 4, 5)))
#endif
bool hc_parser_wrong(struct hc_parser *p, const char *at, long length, const char *format, ...);

/* A piece of the text in quotes, for a message: printable, and shortened. */
struct hc_quoted {
    char text[48];
};

struct hc_quoted hc_parser_quote(const char *at, int length);

/* The next token cannot stand where it stands; `missing` should. Returns false. */
bool hc_parser_unexpected(struct hc_parser *p, const char *missing);

bool hc_parser_too_deep(struct hc_parser *p, const char *at, long length);

/* Makes a node of the last `operands` ones. Its text is from `start` to the end of the last token.
   A node without operands comes with `constant` filled in. */
bool hc_parser_reduce(struct hc_parser *p, struct hc_node node, const char *start, int operands);

const struct hc_node *hc_parser_top(const struct hc_parser *p);

/* Checks that the last node is constant, as the rule says. If not, the error is at the first thing
   in it that is a value. */
bool hc_parser_constant(struct hc_parser *p, const char *rule);

/* The name of this text that is in scope, or -1. Only what is read may be an index, and an index
   hides what has its name. */
int hc_parser_find_name(const struct hc_parser *p, const struct hc_token *token, bool read);

/* Adds a name of this kind that is not there yet. An error is at `place`. */
bool hc_parser_add_name(struct hc_parser *p, const struct hc_token *token,
                        const struct hc_token *place, enum hc_name_kind kind, int *name);

/* The rule for expressions whose operators, outside of brackets, bind at least as tightly as
   `level`. */
bool hc_parser_expression(struct hc_parser *p, int level);

/* The rule for a name, a word of a fixed meaning, or a call. */
bool hc_parser_word(struct hc_parser *p);

/* parse_scale.c: reads what stands before the numbers of a function of kind SCALE, "te-current,
   e4m3, ", into the node. */
bool hc_parser_rule(struct hc_parser *p, struct hc_node *node);

/* Whether the function takes its rule, and the rule so many operands and these codes. */
bool hc_parser_fits_rule(struct hc_parser *p, const struct hc_token *name,
                         const struct hc_node *node, int operands);

#endif
