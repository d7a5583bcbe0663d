/* The grammar: expressions, the rules of scales, statements. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formula/parser.h"
#include "op/descriptor.h"
#include "op/typed.h"

/* What a function of kind SCALE takes before its numbers: the name of a scale rule, in which '-'
   is a letter and no sign, and a format of codes. Both are words of op/scale_rules.def,
   op/delayed_rules.def and num/format.c, so that a new rule is known here at once. */

static const char rule_letters[] =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789-.";

/* Takes the rule of this name, or one that it is the end of: "floor" means "mx-floor". */
static void try_rule(struct hc_nearest *nearest, const char *name, const char *typed)
{
    size_t n = strlen(name);
    size_t m = strlen(typed);
    hc_nearest_try(nearest, name);
    if (n > m && name[n - m - 1] == '-' && strcmp(name + n - m, typed) == 0)
        hc_nearest_take(nearest, name);
}

static bool no_rule(struct hc_parser *p, const char *typed, int length, bool delayed)
{
    struct hc_nearest nearest = hc_nearest_to(typed, strlen(typed));
    for (int r = HC_DELAYED_RULE_COUNT - 1; delayed && r >= 0; r--)
        try_rule(&nearest, hc_delayed_rule_names[r], typed);
    for (int r = HC_SCALE_RULE_COUNT - 1; r > HC_SCALE_GIVEN; r--)
        try_rule(&nearest, hc_scale_rule_names[r], typed);
    const char *hint = length > 1 ? hc_nearest_hint(&nearest) : "";
    return hc_parser_wrong(p, p->token.at, length, "there is no scale rule %s%s",
                           hc_parser_quote(p->token.at, length).text,
                           *hint ? hint : ": halfcheck list scales has them");
}

static bool read_rule(struct hc_parser *p, struct hc_node *node)
{
    char typed[HC_LONGEST_NAME + 1];
    const char *at = p->token.at;
    size_t length = strspn(at, rule_letters);
    bool delayed = node->function == HC_FN_scale;
    if (length == 0)
        return hc_parser_unexpected(p, "the name of a scale rule");
    (void)snprintf(typed, sizeof typed, "%.*s", (int)length, at);
    node->rule = hc_scale_rule_by_name(typed);
    node->delayed = delayed ? hc_delayed_rule_by_name(typed) : HC_DELAYED_RULE_COUNT;
    if (length > HC_LONGEST_NAME || node->rule == HC_SCALE_GIVEN ||
        (node->rule == HC_SCALE_RULE_COUNT && node->delayed == HC_DELAYED_RULE_COUNT)) {
        if (!delayed && hc_delayed_rule_by_name(typed) != HC_DELAYED_RULE_COUNT)
            return hc_parser_wrong(p, at, (long)length,
                                   "%s looks back at former steps: scale() alone knows it",
                                   hc_parser_quote(at, (int)length).text);
        return no_rule(p, typed, (int)length, delayed);
    }
    p->end = at + length;
    p->token = hc_token_at(p->end);
    return true;
}

static bool read_codes(struct hc_parser *p, struct hc_node *node)
{
    char typed[HC_LONGEST_NAME + 1];
    if (p->token.kind != HC_TOKEN_NAME)
        return hc_parser_unexpected(p, "a format of codes, such as e4m3,");
    (void)snprintf(typed, sizeof typed, "%.*s", p->token.length, p->token.at);
    enum hc_format format = hc_format_by_name(typed);
    if (format == HC_FORMAT_COUNT || !(HC_CODE_FORMATS >> format & 1))
        return hc_parser_wrong(p, p->token.at, p->token.length,
                               "%s is no format of codes, such as e4m3 and e2m1",
                               hc_parser_quote(p->token.at, p->token.length).text);
    node->format = format;
    hc_parser_next(p);
    return true;
}

/* Reads what stands before the numbers of a function of kind SCALE, "te-current,
   e4m3, ", into the node. */
static bool parser_rule(struct hc_parser *p, struct hc_node *node)
{
    if (!read_rule(p, node))
        return false;
    if (!hc_parser_take(p, ","))
        return hc_parser_unexpected(p, "a comma and a format of codes, such as e4m3,");
    if (!read_codes(p, node))
        return false;
    return hc_parser_take(p, ",") || hc_parser_unexpected(p, "a comma and what is scaled");
}

/* Whether the function takes its rule, and the rule so many operands and these codes. */
static bool parser_fits_rule(struct hc_parser *p, const struct hc_token *name,
                             const struct hc_node *node, int operands)
{
    bool delayed = node->rule == HC_SCALE_RULE_COUNT;
    bool levels = !delayed && hc_scale_rules[node->rule].kind == HC_SCALE_OF_LEVELS;
    const char *rule =
        delayed ? hc_delayed_rule_names[node->delayed] : hc_scale_rule_names[node->rule];
    const char *what = NULL;
    if (levels && node->format != HC_E2M1)
        what = "%s is for codes in e2m1";
    else if (node->function == HC_FN_tensor_scale && !levels)
        what = "%s has one level and no scale of a tensor beside the blocks'";
    else if (node->function != HC_FN_tensor_scale && levels && operands == 1)
        what = "%s has two levels: the tensor, or its amax, comes behind the block";
    else if (!levels && !delayed && operands == 2)
        what = "%s makes its scale of one block or tensor alone";
    return !what || hc_parser_wrong(p, name->at, p->end - name->at, what, rule);
}

/* The grammar of formulas, by recursive descent:

     statements  = { statement ( ";" | newline ) }
     statement   = NAME ( "=" | ":=" | "+=" | "-=" | "*=" | "/=" | "**=" ) expression
     expression  = operand { infix expression }        by the levels of `infixes`
                   [ "if" expression "else" expression ]
     operand     = ( "-" | "not" ) expression | item { "[" expression "]" }
     item        = NUMBER | NAME | "(" expression ")" | "[" expression { "," expression } "]"
                 | FUNCTION "(" [ NAME ":" ] expression { "," expression } ")"
                 | FUNCTION "(" RULE "," FORMAT "," expression { "," expression } ")"

   The depth of recursion and the depth of the tree are both limited, since ((((1)))) has no depth
   as a tree, and 1+1+1+1 needs no recursion to read. */

enum { LARGEST_EXPONENT = 5000, LARGEST_BINARY_EXPONENT = 16384 };

/* The rule for expressions whose operators, outside of brackets, bind at least as tightly as
   `level`. */
static bool parser_expression(struct hc_parser *p, int level);

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

/* Reads and passes over dim=0 or axis=-1, as Python has them: a list has one axis. *read says
   whether one was there. */
static bool axis_word(struct hc_parser *p, bool *read)
{
    static const char *const words[] = {"dim", "axis"};
    struct hc_token word = p->token;
    struct hc_token equals = hc_token_at(word.at + word.length);
    *read = false;
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        *read |= hc_token_is(&word, words[i]) && hc_token_is(&equals, "=");
    if (!*read)
        return true;
    hc_parser_next(p);
    hc_parser_next(p);
    bool last = hc_parser_take(p, "-");
    if (!hc_token_is(&p->token, last ? "1" : "0"))
        return hc_parser_wrong(p, word.at, p->token.at + p->token.length - word.at,
                               "a list has one axis: it is %.*s=0 or %.*s=-1", word.length, word.at,
                               word.length, word.at);
    hc_parser_next(p);
    return true;
}

/* Reads expressions between commas and the closing bracket. */
static bool expressions(struct hc_parser *p, const struct hc_token *open, const char *sign,
                        int *operands)
{
    do {
        if (!parser_expression(p, 0))
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
    if (!parser_expression(p, 0))
        return false;
    ++*operands;
    struct hc_token comma = p->token;
    bool axis = false;
    if (!named && hc_parser_take(p, ",") && !axis_word(p, &axis))
        return false;
    if (!named && (axis || !hc_token_is(&comma, ",")))
        return closing(p, open, ")");
    if (!hc_parser_constant(p, "the number of terms is a constant"))
        return false;
    if (named && !hc_parser_take(p, ","))
        return hc_parser_unexpected(p, "the term");
    node->kind = HC_NODE_OVER;
    if (!hc_parser_add_name(p, &index, named ? &index : open, HC_NAME_INDEX, &node->name))
        return false;
    bool read = expressions(p, open, ")", operands);
    p->program->name[node->name].kind = HC_NAME_UNUSED;
    return read;
}

/* Reads the operands of min or max, and makes one of the first two as long as there are more. */
static bool choices(struct hc_parser *p, const struct hc_token *open, const struct hc_token *name,
                    const struct hc_node *node, int *operands)
{
    bool axis = false;
    do {
        if (*operands > 0 && !axis_word(p, &axis))
            return false;
        if (axis)
            break;
        if (*operands == 2 && !hc_parser_reduce(p, *node, name->at, 2))
            return false;
        *operands = *operands == 0 ? 1 : 2;
        if (!parser_expression(p, 0))
            return false;
    } while (hc_parser_take(p, ","));
    return closing(p, open, ")");
}

static bool call(struct hc_parser *p, const struct hc_token *name, struct hc_node node)
{
    const struct hc_function_info *info = &hc_functions[node.function];
    struct hc_token open = p->token;
    int operands = 0;
    hc_parser_next(p);
    if (info->kind == HC_FUNCTION_SCALE && !parser_rule(p, &node))
        return false;
    bool chooses = hc_function_chooses(node.function);
    bool read = hc_parser_is(p, ")")             ? closing(p, &open, ")")
                : chooses                        ? choices(p, &open, name, &node, &operands)
                : info->kind == HC_FUNCTION_LIST ? terms(p, &open, &node, &operands)
                                                 : expressions(p, &open, ")", &operands);
    if (!read)
        return false;
    if (info->kind == HC_FUNCTION_SCALE && !parser_fits_rule(p, name, &node, operands))
        return false;
    if (operands < info->least || operands > info->most)
        return hc_parser_wrong(p, name->at, p->end - name->at, "%s takes %d%s operand%s, not %d",
                               hc_parser_quote(name->at, name->length).text, info->least,
                               chooses                    ? " or more"
                               : info->least < info->most ? " or 2"
                                                          : "",
                               info->most > 1 ? "s" : "", operands);
    return hc_parser_reduce(p, node, name->at, operands);
}

/* The rule for a name, a word of a fixed meaning, or a call. */
static bool parser_word(struct hc_parser *p)
{
    struct hc_token token = p->token;
    int name = hc_parser_find_name(p, &token, true);
    struct hc_word meaning = hc_program_word(p->program, &token);
    char hint[128];
    if (meaning.kind == HC_WORD_GRAMMAR)
        return hc_parser_unexpected(p, "an expression");
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
        return hc_parser_reduce(p, node, token.at + token.module, 0);
    }
    hc_program_hint(p->program, &token, hc_parser_is(p, "("), hint, sizeof hint);
    return hc_parser_wrong(p, token.at, token.length, "there is no %s%s%s",
                           hc_parser_is(p, "(") ? "function " : "",
                           hc_parser_quote(token.at, token.length).text, hint);
}

static bool parse_number(struct hc_parser *p)
{
    struct hc_token token = p->token;
    bool hexadecimal = token.length > 1 && (token.at[1] == 'x' || token.at[1] == 'X');
    int most = hexadecimal ? LARGEST_BINARY_EXPONENT : LARGEST_EXPONENT;
    int e = 0;
    int exponent = 0;
    while (e < token.length && !strchr(hexadecimal ? "pP" : "eE", token.at[e]))
        e++;
    for (e++; e < token.length && exponent <= most; e++)
        if (token.at[e] >= '0' && token.at[e] <= '9')
            exponent = 10 * exponent + token.at[e] - '0';
    if (exponent > most)
        return hc_parser_wrong(p, token.at, token.length,
                               "a %s exponent is at most %d in magnitude",
                               hexadecimal ? "binary" : "decimal", most);
    hc_parser_next(p);
    return hc_parser_reduce(p, (struct hc_node){.kind = HC_NODE_NUMBER, .constant = true}, token.at,
                            0);
}

static bool item(struct hc_parser *p)
{
    struct hc_token open = p->token;
    int elements = 0;
    if (p->token.kind == HC_TOKEN_NUMBER)
        return parse_number(p);
    if (p->token.kind == HC_TOKEN_NAME)
        return parser_word(p);
    if (hc_parser_take(p, "("))
        return parser_expression(p, 0) && closing(p, &open, ")");
    if (!hc_parser_take(p, "["))
        return hc_parser_unexpected(p, "an expression");
    return expressions(p, &open, "]", &elements) &&
           hc_parser_reduce(p, (struct hc_node){.kind = HC_NODE_LIST}, open.at, elements);
}

/* How tightly operators bind, as in Python; ^ is **, and takes its right side first. A minus sign
   before an operand binds less tightly than ** alone: -2**2 is -4. */
enum { CHOOSES, JOINS, MEETS, DENIES, COMPARES, ADDS, MULTIPLIES, RAISES };

static const struct infix {
    const char *sign;
    enum hc_function function;
    int level;
} infixes[] = {
    {"or", HC_FN_or, JOINS},        {"and", HC_FN_and, MEETS},
    {"<", HC_FN_less, COMPARES},    {"<=", HC_FN_less_equal, COMPARES},
    {">", HC_FN_greater, COMPARES}, {">=", HC_FN_greater_equal, COMPARES},
    {"==", HC_FN_equal, COMPARES},  {"!=", HC_FN_not_equal, COMPARES},
    {"+", HC_FN_add, ADDS},         {"-", HC_FN_sub, ADDS},
    {"*", HC_FN_mul, MULTIPLIES},   {"/", HC_FN_div, MULTIPLIES},
    {"^", HC_FN_power, RAISES},     {"**", HC_FN_power, RAISES},
};
enum { INFIXES = sizeof infixes / sizeof infixes[0] };

static const struct infix *infix_of(const struct hc_token *token)
{
    for (int i = 0; i < INFIXES; i++)
        if (hc_token_is(token, infixes[i].sign))
            return &infixes[i];
    return NULL;
}

/* A node of what is there, the last `operands` nodes. */
static bool apply(struct hc_parser *p, enum hc_function function, const char *start, int operands)
{
    return hc_parser_reduce(p, (struct hc_node){.kind = HC_NODE_APPLY, .function = function}, start,
                            operands);
}

static bool operand(struct hc_parser *p)
{
    const char *start = p->token.at;
    if (hc_parser_is_word(p, "not")) {
        hc_parser_next(p);
        return parser_expression(p, DENIES) && apply(p, HC_FN_not, start, 1);
    }
    if (hc_parser_take(p, "-"))
        return parser_expression(p, RAISES) && apply(p, HC_FN_negate, start, 1);
    if (!item(p))
        return false;
    for (struct hc_token open = p->token; hc_parser_take(p, "["); open = p->token) {
        if (!parser_expression(p, 0) || !hc_parser_constant(p, "an index is a constant") ||
            !closing(p, &open, "]"))
            return false;
        if (!hc_parser_reduce(p, (struct hc_node){.kind = HC_NODE_AT}, start, 2))
            return false;
    }
    return true;
}

/* What follows on a < b: the rest of a < b < c, which is (a < b) and (b < c). */
static bool chained(struct hc_parser *p, const struct infix *infix, const char *start)
{
    const struct hc_node *last = hc_parser_top(p);
    if (last->function == HC_FN_and)
        last = last->operand[1];
    struct hc_node *shared = last->operand[1];
    hc_parser_next(p);
    return hc_parser_push(p, shared) && parser_expression(p, COMPARES + 1) &&
           apply(p, infix->function, shared->at, 2) && apply(p, HC_FN_and, start, 2);
}

/* What follows on the first operand of `a if c else b`, which is select(c, a, b). */
static bool conditional(struct hc_parser *p, const char *start)
{
    hc_parser_next(p);
    if (!parser_expression(p, JOINS))
        return false;
    if (!hc_parser_is_word(p, "else"))
        return hc_parser_unexpected(p, "'else'");
    hc_parser_next(p);
    struct hc_node *value = p->stack[p->count - 2];
    p->stack[p->count - 2] = p->stack[p->count - 1];
    p->stack[p->count - 1] = value;
    return parser_expression(p, CHOOSES) && apply(p, HC_FN_select, start, 3);
}

static bool parser_expression(struct hc_parser *p, int level)
{
    const char *start = p->token.at;
    const struct infix *infix;
    int compared = 0;
    if (p->depth++ == HC_DEEPEST_FORMULA)
        return hc_parser_too_deep(p, start, p->token.length);
    if (!operand(p))
        return false;
    while ((infix = infix_of(&p->token)) && infix->level >= level) {
        bool chains = infix->level == COMPARES && compared;
        compared = infix->level == COMPARES;
        if (chains) {
            if (!chained(p, infix, start))
                return false;
            continue;
        }
        hc_parser_next(p);
        if (!parser_expression(p, infix->level + (infix->level != RAISES)) ||
            !apply(p, infix->function, start, 2))
            return false;
    }
    if (level == CHOOSES && hc_parser_is_word(p, "if") && !conditional(p, start))
        return false;
    p->depth--;
    return true;
}

/* The rules of a block: statements, or expressions to show. */

/* What may stand behind the name of a statement. */
static const struct assignment {
    const char *sign;
    enum hc_function update; /* of the name and the expression; HC_FUNCTION_COUNT: none */
} assignments[] = {
    {"=", HC_FUNCTION_COUNT}, {":=", HC_FUNCTION_COUNT}, {"+=", HC_FN_add},    {"-=", HC_FN_sub},
    {"*=", HC_FN_mul},        {"/=", HC_FN_div},         {"**=", HC_FN_power},
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
    else if (!parser_word(p))
        return false;
    hc_parser_next(p);
    if (!parser_expression(p, 0))
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
            if (!(shows ? parser_expression(p, 0) : statement(p, made)))
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
