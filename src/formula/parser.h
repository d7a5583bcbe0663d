/* The state of the parser, and what all rules of the grammar do with it.

   Each rule reads its text, leaves one node more on a stack, and returns true; or it fills in the
   error and returns false. hc_parser_reduce makes one node of the last few, so that the rules need
   not say a word about memory. */
#ifndef HC_FORMULA_PARSER_H
#define HC_FORMULA_PARSER_H

#include <stdbool.h>

#include "formula/program.h"

/* The words and signs of a formula's text. */

enum hc_token_kind {
    HC_TOKEN_END,
    HC_TOKEN_NUMBER,    /* 12, 0.5, .5, 5., 1e-8, 1_000, 0x1.8p-3 */
    HC_TOKEN_NAME,      /* a letter or '_', then letters, digits and '_'; torch.sqrt is one, too */
    HC_TOKEN_SIGN,      /* an operator, a bracket, a separator; a newline is one */
    HC_TOKEN_MALFORMED, /* begins like a number and is none: 1e, 2x, 1.2.3 */
    HC_TOKEN_STRAY      /* a character, of one byte or more, that has no meaning */
};

struct hc_token {
    enum hc_token_kind kind;
    const char *at;
    int length; /* 0 at the end */
    int module; /* of it: those of "torch." before a word */
};

/* The token at `text` or behind the blanks and the comment that stand there. */
struct hc_token hc_token_at(const char *text);

/* Whether the token has exactly this text. */
bool hc_token_is(const struct hc_token *token, const char *text);

/* What the parser (parse.c) adds to a program, and what it asks it. */

enum { HC_MAX_CASTS = 32 };

enum hc_name_kind {
    HC_NAME_VALUE,
    HC_NAME_CONSTANT,
    HC_NAME_INDEX, /* of a sum whose term is being parsed */
    HC_NAME_UNUSED /* the index of a sum that is parsed: another sum may take it */
};

struct hc_name {
    enum hc_name_kind kind;
    char text[HC_LONGEST_NAME_IN_FORMULA + 1];
};

struct hc_program {
    struct hc_allocation *memory; /* of blocks and nodes, the latest first */
    int names;
    struct hc_name name[HC_MAX_NAMES];
    int nodes;
    int casts;
    char cast[HC_MAX_CASTS][HC_LONGEST_CAST + 1];
};

/* Zeroed memory that lives as long as the program. NULL if there is none. */
void *hc_program_allocate(struct hc_program *program, size_t size);

/* What a word means before any program has assigned it. */
enum hc_word_kind {
    HC_WORD_FREE,
    HC_WORD_GRAMMAR, /* if, else, and, or, not */
    HC_WORD_NUMBER,  /* inf, nan, pi */
    HC_WORD_STEP,
    HC_WORD_FUNCTION,
    HC_WORD_CAST
};

struct hc_word {
    enum hc_word_kind kind;
    struct hc_node node; /* of a function or a cast: what is applied */
};

/* The format of this name, PyTorch's names included; HC_FORMAT_COUNT: there is none. */
enum hc_format hc_format_of_word(const char *word);

struct hc_word hc_program_word(const struct hc_program *program, const struct hc_token *token);

/* "; did you mean 'NAME'?" or "": what the token may have meant, a name or else a function.
   Any letter is near to any other, so that one letter alone gets no hint. */
void hc_program_hint(const struct hc_program *program, const struct hc_token *token, bool function,
                     char *hint, size_t size);

/* Parses the text, which is a copy that lives as long as the program, into the block. */
bool hc_parse(struct hc_program *program, struct hc_block *block, bool expressions,
              struct hc_formula_error *error);

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

/* Whether the next token is this word of the grammar. */
bool hc_parser_is_word(const struct hc_parser *p, const char *word);

bool hc_parser_too_deep(struct hc_parser *p, const char *at, long length);

/* Makes a node of the last `operands` ones. Its text is from `start` to the end of the last token.
   A node without operands comes with `constant` filled in. */
bool hc_parser_reduce(struct hc_parser *p, struct hc_node node, const char *start, int operands);

/* Makes a node that is in the tree already the last one once more: b in a < b < c. */
bool hc_parser_push(struct hc_parser *p, struct hc_node *node);

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

#endif
