/* The rules of a block: statements, or expressions to show. */
#include <stdlib.h>

#include "formula/parser.h"

/* What may stand behind the name of a statement. */
static const struct assignment {
    const char *sign;
    enum hc_function update; /* of the name and the expression; HC_FUNCTION_COUNT: none */
} assignments[] = {
    {"=", HC_FUNCTION_COUNT}, {":=", HC_FUNCTION_COUNT}, {"+=", HC_FN_add},
    {"-=", HC_FN_sub},        {"*=", HC_FN_mul},         {"/=", HC_FN_div},
};
enum { ASSIGNMENTS = sizeof assignments / sizeof assignments[0] };

/* The value of `w = e` is e; that of `w -= e` is w - (e), and its text is the whole statement. */
static bool assign(struct hc_parser *p, enum hc_function update, struct hc_statement *made)
{
    struct hc_token name = p->token;
    struct hc_token sign = hc_token_at(name.at + name.length);
    made->constant = hc_token_is(&sign, ":=");
    made->name = hc_parser_find_name(p, &name, false);
    if (made->name >= 0 &&
        made->constant != (p->program->name[made->name].kind == HC_NAME_CONSTANT))
        return hc_parser_wrong(p, sign.at, sign.length, "%s is a %s, which '%s' assigns",
                               hc_parser_quote(name.at, name.length).text,
                               made->constant ? "value" : "constant", made->constant ? "=" : ":=");
    if (update == HC_FUNCTION_COUNT)
        hc_parser_next(p);
    else if (!hc_parser_word(p))
        return false;
    hc_parser_next(p);
    if (!hc_parser_expression(p, 0))
        return false;
    if (made->constant && !hc_parser_constant(p, "a constant is made of constants alone"))
        return false;
    struct hc_node node = {.kind = HC_NODE_APPLY, .function = update};
    if (update != HC_FUNCTION_COUNT && !hc_parser_reduce(p, node, name.at, 2))
        return false;
    return made->name >= 0 ||
           hc_parser_add_name(p, &name, &name, made->constant ? HC_NAME_CONSTANT : HC_NAME_VALUE,
                              &made->name);
}

static bool statement(struct hc_parser *p, struct hc_statement *made)
{
    struct hc_token first = p->token;
    struct hc_token sign = hc_token_at(first.at + first.length);
    if (first.kind != HC_TOKEN_NAME && first.kind != HC_TOKEN_NUMBER)
        return hc_parser_unexpected(p, "the name of a value");
    for (int i = 0; first.kind == HC_TOKEN_NAME && i < ASSIGNMENTS; i++)
        if (hc_token_is(&sign, assignments[i].sign))
            return assign(p, assignments[i].update, made);
    if (hc_token_is(&sign, "["))
        return hc_parser_wrong(p, sign.at, sign.length,
                               "an element cannot be assigned, only a whole list");
    return hc_parser_wrong(p, first.at, first.length, "a statement assigns: NAME = EXPRESSION");
}

/* There are at most as many statements as separators, and one more. */
static bool read_block(struct hc_parser *p, struct hc_block *block, bool shows)
{
    int most = 1;
    for (const char *at = p->text; *at; at++)
        most += *at == ';' || *at == '\n' || *at == ',';
    struct hc_statement *made =
        hc_program_allocate(p->program, (size_t)most * sizeof(struct hc_statement));
    block->statement = made;
    if (!made)
        return false;
    for (;;) {
        while (hc_parser_take(p, ";") || hc_parser_take(p, "\n"))
            ;
        if (p->token.kind == HC_TOKEN_END && (block->count > 0 || !shows))
            return true;
        do {
            made->name = -1;
            made->at = p->token.at;
            if (!(shows ? hc_parser_expression(p, 0) : statement(p, made)))
                return false;
            made->length = (int)(p->end - made->at);
            made->value = hc_parser_top(p);
            p->count = 0;
            block->count++;
            made++;
        } while (shows && hc_parser_take(p, ","));
        if (hc_parser_is(p, ")") || hc_parser_is(p, "]"))
            return hc_parser_wrong(p, p->token.at, 1, "this '%c' closes nothing", *p->token.at);
        if (!hc_parser_ends(p))
            return hc_parser_unexpected(p, shows ? "an operator or ','" : "an operator or ';'");
    }
}

bool hc_parse(struct hc_program *program, struct hc_block *block, bool shows,
              struct hc_formula_error *error)
{
    struct hc_parser p = {.program = program, .error = error, .text = block->text};
    p.end = block->text;
    p.token = hc_token_at(block->text);
    bool parsed = read_block(&p, block, shows);
    free(p.stack);
    return parsed;
}
