/* The grammar of formulas, by recursive descent:

     statements  = { statement ( ";" | newline ) }
     statement   = NAME ( "=" | ":=" | "+=" | "-=" | "*=" | "/=" ) expression
     expression  = operand { infix expression }        by the levels of `infixes`
     operand     = "-" expression | item { "[" expression "]" }
     item        = NUMBER | NAME | "(" expression ")" | "[" expression { "," expression } "]"
                 | FUNCTION "(" [ NAME ":" ] expression { "," expression } ")"
                 | FUNCTION "(" RULE "," FORMAT "," expression { "," expression } ")"

   The statements are in statement.c, RULE and FORMAT in parse_scale.c. The depth of recursion and
   the depth of the tree are both limited, since ((((1)))) has no depth as a tree, and 1+1+1+1 needs
   no recursion to read. */
#include "formula/parser.h"

enum { LARGEST_EXPONENT = 5000 };

/* Reads the closing bracket of `open`. */
static bool closing(struct hc_parser *p, const struct hc_token *open, const char *sign)
{
    if (hc_parser_take(p, sign))
        return true;
    if (hc_parser_ends(p))
        return hc_parser_wrong(p, open->at, open->length, "this %s is not closed%s",
                               hc_parser_quote(open->at, open->length).text,
                               hc_parser_is(p, "\n") ? ": a formula ends with its line" : "");
    return hc_parser_unexpected(p, hc_token_is(open, "(") ? "an operator or ')'"
                                                          : "an operator, ',' or ']'");
}

/* Reads expressions between commas and the closing bracket. */
static bool expressions(struct hc_parser *p, const struct hc_token *open, const char *sign,
                        int *operands)
{
    do {
        if (!hc_parser_expression(p, 0))
            return false;
        ++*operands;
    } while (hc_parser_take(p, ","));
    return closing(p, open, sign);
}

/* Reads the operands of a function that takes a list, or a number of terms and a term. The term is
   in the scope of an index. */
static bool terms(struct hc_parser *p, const struct hc_token *open, struct hc_node *node,
                  int *operands)
{
    static const char usual[] = "i";
    struct hc_token index = {.kind = HC_TOKEN_NAME, .at = usual, .length = 1};
    struct hc_token colon = hc_token_at(p->token.at + p->token.length);
    bool named = p->token.kind == HC_TOKEN_NAME && hc_token_is(&colon, ":");
    if (named) {
        index = p->token;
        hc_parser_next(p);
        hc_parser_next(p);
    }
    if (!hc_parser_expression(p, 0))
        return false;
    ++*operands;
    if (!named && !hc_parser_is(p, ","))
        return closing(p, open, ")");
    if (!hc_parser_constant(p, "the number of terms is a constant"))
        return false;
    if (!hc_parser_take(p, ","))
        return hc_parser_unexpected(p, "the term");
    node->kind = HC_NODE_OVER;
    if (!hc_parser_add_name(p, &index, named ? &index : open, HC_NAME_INDEX, &node->name))
        return false;
    bool read = expressions(p, open, ")", operands);
    p->program->name[node->name].kind = HC_NAME_UNUSED;
    return read;
}

static bool call(struct hc_parser *p, const struct hc_token *name, struct hc_node node)
{
    const struct hc_function_info *info = &hc_functions[node.function];
    struct hc_token open = p->token;
    int operands = 0;
    hc_parser_next(p);
    if (info->kind == HC_FUNCTION_SCALE && !hc_parser_rule(p, &node))
        return false;
    bool read = hc_parser_is(p, ")")             ? closing(p, &open, ")")
                : info->kind == HC_FUNCTION_LIST ? terms(p, &open, &node, &operands)
                                                 : expressions(p, &open, ")", &operands);
    if (!read)
        return false;
    if (info->kind == HC_FUNCTION_SCALE && !hc_parser_fits_rule(p, name, &node, operands))
        return false;
    if (operands < info->least || operands > info->most)
        return hc_parser_wrong(p, name->at, p->end - name->at, "%s takes %d%s operand%s, not %d",
                               hc_parser_quote(name->at, name->length).text, info->least,
                               info->least < info->most ? " or 2" : "", info->most > 1 ? "s" : "",
                               operands);
    return hc_parser_reduce(p, node, name->at, operands);
}

/* A name, a word of a fixed meaning, or a call. */
bool hc_parser_word(struct hc_parser *p)
{
    struct hc_token token = p->token;
    int name = hc_parser_find_name(p, &token, true);
    struct hc_word meaning = hc_program_word(p->program, &token);
    char hint[128];
    hc_parser_next(p);
    if (hc_parser_is(p, "(") && meaning.kind >= HC_WORD_FUNCTION)
        return call(p, &token, meaning.node);
    if (hc_parser_is(p, "(") && name >= 0)
        return hc_parser_wrong(p, token.at, token.length, "%s is no function; '*' multiplies",
                               hc_parser_quote(token.at, token.length).text);
    if (name >= 0) {
        struct hc_node node = {.kind = HC_NODE_NAME,
                               .name = name,
                               .constant = p->program->name[name].kind != HC_NAME_VALUE};
        return hc_parser_reduce(p, node, token.at, 0);
    }
    if (meaning.kind >= HC_WORD_FUNCTION)
        return hc_parser_wrong(
            p, token.at, token.length, "%s is a %s: write %.*s(%sx)",
            hc_parser_quote(token.at, token.length).text,
            meaning.kind == HC_WORD_CAST ? "format" : "function", token.length, token.at,
            hc_functions[meaning.node.function].kind == HC_FUNCTION_SCALE ? "te-current, e4m3, "
                                                                          : "");
    if (meaning.kind != HC_WORD_FREE) {
        struct hc_node node = {.kind = meaning.kind == HC_WORD_STEP ? HC_NODE_STEP : HC_NODE_NUMBER,
                               .constant = true};
        return hc_parser_reduce(p, node, token.at, 0);
    }
    hc_program_hint(p->program, &token, hc_parser_is(p, "("), hint, sizeof hint);
    return hc_parser_wrong(p, token.at, token.length, "there is no %s%s%s",
                           hc_parser_is(p, "(") ? "function " : "",
                           hc_parser_quote(token.at, token.length).text, hint);
}

static bool number(struct hc_parser *p)
{
    struct hc_token token = p->token;
    int e = 0;
    int exponent = 0;
    while (e < token.length && token.at[e] != 'e' && token.at[e] != 'E')
        e++;
    for (e++; e < token.length && exponent <= LARGEST_EXPONENT; e++)
        if (token.at[e] >= '0' && token.at[e] <= '9')
            exponent = 10 * exponent + token.at[e] - '0';
    if (exponent > LARGEST_EXPONENT)
        return hc_parser_wrong(p, token.at, token.length,
                               "a decimal exponent is at most %d in magnitude", LARGEST_EXPONENT);
    hc_parser_next(p);
    return hc_parser_reduce(p, (struct hc_node){.kind = HC_NODE_NUMBER, .constant = true}, token.at,
                            0);
}

static bool item(struct hc_parser *p)
{
    struct hc_token open = p->token;
    int elements = 0;
    if (p->token.kind == HC_TOKEN_NUMBER)
        return number(p);
    if (p->token.kind == HC_TOKEN_NAME)
        return hc_parser_word(p);
    if (hc_parser_take(p, "("))
        return hc_parser_expression(p, 0) && closing(p, &open, ")");
    if (!hc_parser_take(p, "["))
        return hc_parser_unexpected(p, "an expression");
    return expressions(p, &open, "]", &elements) &&
           hc_parser_reduce(p, (struct hc_node){.kind = HC_NODE_LIST}, open.at, elements);
}

/* How tightly operators bind. Comparisons do not chain, and ^ takes its right side first. A minus
   sign before an operand binds less tightly than ^ alone: -2^2 is -4. */
enum { COMPARES = 1, ADDS, MULTIPLIES, RAISES };

static const struct infix {
    enum hc_function function;
    int level;
} infixes[] = {
    {HC_FN_less, COMPARES},    {HC_FN_less_equal, COMPARES},
    {HC_FN_greater, COMPARES}, {HC_FN_greater_equal, COMPARES},
    {HC_FN_equal, COMPARES},   {HC_FN_not_equal, COMPARES},
    {HC_FN_add, ADDS},         {HC_FN_sub, ADDS},
    {HC_FN_mul, MULTIPLIES},   {HC_FN_div, MULTIPLIES},
    {HC_FN_power, RAISES},
};
enum { INFIXES = sizeof infixes / sizeof infixes[0] };

static const struct infix *infix_of(const struct hc_token *token)
{
    for (int i = 0; token->kind == HC_TOKEN_SIGN && i < INFIXES; i++)
        if (hc_token_is(token, hc_functions[infixes[i].function].spelling))
            return &infixes[i];
    return NULL;
}

static bool operand(struct hc_parser *p)
{
    const char *start = p->token.at;
    if (hc_parser_take(p, "-"))
        return hc_parser_expression(p, RAISES) &&
               hc_parser_reduce(
                   p, (struct hc_node){.kind = HC_NODE_APPLY, .function = HC_FN_negate}, start, 1);
    if (!item(p))
        return false;
    for (struct hc_token open = p->token; hc_parser_take(p, "["); open = p->token) {
        if (!hc_parser_expression(p, 0) || !hc_parser_constant(p, "an index is a constant") ||
            !closing(p, &open, "]"))
            return false;
        if (!hc_parser_reduce(p, (struct hc_node){.kind = HC_NODE_AT}, start, 2))
            return false;
    }
    return true;
}

/* Reads an expression whose operators bind at least as tightly as `level`. */
bool hc_parser_expression(struct hc_parser *p, int level)
{
    const char *start = p->token.at;
    const struct infix *infix;
    int compared = 0;
    if (p->depth++ == HC_DEEPEST_FORMULA)
        return hc_parser_too_deep(p, start, p->token.length);
    if (!operand(p))
        return false;
    while ((infix = infix_of(&p->token)) && infix->level >= level) {
        bool raises = infix->level == RAISES;
        if (infix->level == COMPARES && compared++)
            return hc_parser_wrong(p, p->token.at, p->token.length,
                                   "comparisons do not chain: write (a < b) * (b < c)");
        static const char rule[] = "^ stands between constants (write x*x for a value's square)";
        if (raises && !hc_parser_constant(p, rule))
            return false;
        hc_parser_next(p);
        if (!hc_parser_expression(p, infix->level + !raises) ||
            (raises && !hc_parser_constant(p, rule)))
            return false;
        if (!hc_parser_reduce(
                p, (struct hc_node){.kind = HC_NODE_APPLY, .function = infix->function}, start, 2))
            return false;
    }
    p->depth--;
    return true;
}
