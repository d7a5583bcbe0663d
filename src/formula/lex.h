/* The words and signs of a formula's text. */
#ifndef HC_FORMULA_LEX_H
#define HC_FORMULA_LEX_H

#include <stdbool.h>

enum hc_token_kind {
    HC_TOKEN_END,
    HC_TOKEN_NUMBER,    /* 12, 0.5, .5, 5., 1e-8 */
    HC_TOKEN_NAME,      /* a letter or '_', then letters, digits and '_' */
    HC_TOKEN_SIGN,      /* an operator, a bracket, a separator; a newline is one */
    HC_TOKEN_MALFORMED, /* begins like a number and is none: 1e, 2x, 1.2.3 */
    HC_TOKEN_STRAY      /* a character, of one byte or more, that has no meaning */
};

struct hc_token {
    enum hc_token_kind kind;
    const char *at;
    int length; /* 0 at the end */
};

/* The token at `text` or behind the blanks and the comment that stand there. */
struct hc_token hc_token_at(const char *text);

/* Whether the token has exactly this text. */
bool hc_token_is(const struct hc_token *token, const char *text);

#endif
