#include "formula/lex.h"

#include <string.h>

#include "op/text.h"

static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_";
static const char word[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789";
static const char digits[] = "0123456789";

/* Signs, the long ones first. Those that mean nothing are here, too, so that a message quotes them
   whole. */
static const char *const signs[] = {
    "**", "//", "&&", "||", ":=", "+=", "-=", "*=", "/=", "<=", ">=", "==", "!=", "+",  "-",
    "*",  "/",  "^",  "<",  ">",  "=",  "(",  ")",  "[",  "]",  ",",  ":",  ";",  "\n",
};

/* The length of the number at `text`; *sound says whether it is one. Letters, digits and points
   that follow it directly belong to it and make it malformed. */
static size_t number(const char *text, bool *sound)
{
    size_t n = strspn(text, digits);
    if (text[n] == '.')
        n += 1 + strspn(text + n + 1, digits);
    if (text[n] == 'e' || text[n] == 'E') {
        size_t sign = text[n + 1] == '+' || text[n + 1] == '-';
        size_t exponent = strspn(text + n + 1 + sign, digits);
        n += exponent ? 1 + sign + exponent : 0;
    }
    size_t more = 0;
    while (text[n + more] == '.' || (text[n + more] && strchr(word, text[n + more])))
        more++;
    *sound = more == 0;
    return n + more;
}

static struct hc_token token(enum hc_token_kind kind, const char *at, size_t length)
{
    return (struct hc_token){.kind = kind, .at = at, .length = (int)length};
}

struct hc_token hc_token_at(const char *text)
{
    text += strspn(text, " \t\r");
    if (*text == '#')
        text += strcspn(text, "\n");
    if (*text == '\0')
        return token(HC_TOKEN_END, text, 0);
    if (strchr(letters, *text))
        return token(HC_TOKEN_NAME, text, strspn(text, word));
    const char *digit = text + (*text == '.');
    if (*digit && strchr(digits, *digit)) {
        bool sound;
        size_t length = number(text, &sound);
        return token(sound ? HC_TOKEN_NUMBER : HC_TOKEN_MALFORMED, text, length);
    }
    for (size_t i = 0; i < sizeof signs / sizeof signs[0]; i++)
        if (strncmp(text, signs[i], strlen(signs[i])) == 0)
            return token(HC_TOKEN_SIGN, text, strlen(signs[i]));
    const char *end = text;
    char character[5];
    (void)hc_text_next(&end, character);
    return token(HC_TOKEN_STRAY, text, (size_t)(end - text));
}

bool hc_token_is(const struct hc_token *token, const char *text)
{
    return (size_t)token->length == strlen(text) &&
           strncmp(token->at, text, (size_t)token->length) == 0;
}
