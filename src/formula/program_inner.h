/* What the parser (parse.c) adds to a program, and what it asks it. */
#ifndef HC_FORMULA_PROGRAM_INNER_H
#define HC_FORMULA_PROGRAM_INNER_H

#include "formula/lex.h"
#include "formula/program.h"

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
    HC_WORD_NUMBER, /* inf, nan, pi */
    HC_WORD_STEP,
    HC_WORD_FUNCTION,
    HC_WORD_CAST
};

struct hc_word {
    enum hc_word_kind kind;
    struct hc_node node; /* of a function or a cast: what is applied */
};

struct hc_word hc_program_word(const struct hc_program *program, const struct hc_token *token);

/* "; did you mean 'NAME'?" or "": what the token may have meant, a name or else a function.
   Any letter is near to any other, so that one letter alone gets no hint. */
void hc_program_hint(const struct hc_program *program, const struct hc_token *token, bool function,
                     char *hint, size_t size);

/* Parses the text, which is a copy that lives as long as the program, into the block. */
bool hc_parse(struct hc_program *program, struct hc_block *block, bool expressions,
              struct hc_formula_error *error);

#endif
