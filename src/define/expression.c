/* The right sides of a definition: expressions by recursive descent, with their types.

     truth     = conjunction { "or" conjunction }
     conjunction = negation { "and" negation }
     negation  = "not" negation | sum [ ( "<" | "<=" | ">" | ">=" | "==" | "!=" ) sum ]
     sum       = product { ( "+" | "-" ) product }
     product   = sign { ( "*" | "/" | "mod" ) sign }
     sign      = "-" sign | power
     power     = item [ ( "^" | "**" ) NUMBER ]
     item      = NUMBER | AXIS | EXTENT | OPTION | TENSOR [ "[" sum { "," sum } "]" ]
               | "either" "(" sum "," sum ")" | "(" truth ")" | FUNCTION "(" truth { "," truth } ")"
               | REDUCTION "(" ... ")"                                            over.c

   An expression has a type as soon as it is read, and integers are told from real numbers: what is
   an index is computed exactly. */
#include <assert.h>
#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "define/enclosure.h"
#include "define/reader.h"
#include "op/typed.h"

static const char *const type_names[] = {[HC_TYPE_REAL] = "a real number",
                                         [HC_TYPE_INTEGER] = "an integer",
                                         [HC_TYPE_TRUTH] = "a truth"};

/* Makes a node whose text goes from `start` to the end of the last token. */
bool hc_expression_make(struct hc_reader *r, struct hc_expression node, const char *start,
                        struct hc_expression **made)
{
    struct hc_definition *d = r->definition;
    if (d->expressions == HC_MAX_EXPRESSIONS)
        return hc_reader_wrong(r, start, r->end - start, "there are more than %d operations",
                               HC_MAX_EXPRESSIONS);
    struct hc_expression *e = malloc(sizeof *e);
    if (!e)
        return false;
    node.id = d->expressions;
    node.at = start;
    node.length = (int)(r->end - start);
    node.depth = 1;
    for (int i = 0; i < node.operands; i++)
        if (node.operand[i]->depth >= node.depth)
            node.depth = node.operand[i]->depth + 1;
    *e = node;
    d->expression[d->expressions++] = e;
    *made = e;
    return node.depth <= HC_DEEPEST_EXPRESSION ||
           hc_reader_wrong(r, start, node.length, "more than %d operands are nested here",
                           HC_DEEPEST_EXPRESSION);
}

/* Whether the expression is of the type, or an integer where a real number is wanted. */
static bool typed(struct hc_reader *r, const struct hc_expression *e, enum hc_expression_type want)
{
    assert(e);
    if (e->type == want || (want == HC_TYPE_REAL && e->type == HC_TYPE_INTEGER))
        return true;
    return hc_reader_wrong(r, e->at, e->length, "%s is %s, and should be %s",
                           hc_parser_quote(e->at, e->length).text, type_names[e->type],
                           type_names[want]);
}

static bool read_truth(struct hc_reader *r, struct hc_expression **e);
static bool read_sum(struct hc_reader *r, struct hc_expression **e);

/* An operation on two numbers. */
bool hc_expression_apply(struct hc_reader *r, enum hc_function f, const char *start,
                         struct hc_expression *a, struct hc_expression *b,
                         struct hc_expression **made)
{
    struct hc_expression node = {
        .kind = HC_EXPRESSION_APPLY, .function = f, .operands = 2, .operand = {a, b}};
    if (!typed(r, a, HC_TYPE_REAL) || !typed(r, b, HC_TYPE_REAL))
        return false;
    bool integers = a->type == HC_TYPE_INTEGER && b->type == HC_TYPE_INTEGER;
    bool truth = hc_functions[f].kind == HC_FUNCTION_TRUTH;
    node.type = truth ? HC_TYPE_TRUTH : integers && f != HC_FN_div ? HC_TYPE_INTEGER : HC_TYPE_REAL;
    node.exact = truth && integers;
    return hc_expression_make(r, node, start, made);
}

static bool read_number(struct hc_reader *r, struct hc_expression **e)
{
    const char *start = r->token.at;
    bool integer = strspn(start, "0123456789") == (size_t)r->token.length;
    if (integer && r->token.length > 15)
        return hc_reader_wrong(r, start, r->token.length, "an integer has at most 15 digits");
    hc_reader_next(r);
    return hc_expression_make(
        r,
        (struct hc_expression){.kind = HC_EXPRESSION_NUMBER,
                               .type = integer ? HC_TYPE_INTEGER : HC_TYPE_REAL,
                               .whole = integer ? strtoll(start, NULL, 10) : 0},
        start, e);
}

/* Reads the indices of a tensor, up to the closing bracket. */
static bool read_element(struct hc_reader *r, int tensor, const char *start,
                         struct hc_expression **e)
{
    const struct hc_defined_tensor *t = &r->definition->tensor[tensor];
    struct hc_expression node = {.kind = HC_EXPRESSION_READ,
                                 .tensor = tensor,
                                 .type = t->index ? HC_TYPE_INTEGER : HC_TYPE_REAL};
    if (t->gradient && r->assigned >= 0)
        r->definition->tensor[r->assigned].gradient = true;
    if (t->rank > 0 && !hc_reader_take(r, "["))
        return hc_reader_wrong(r, start, r->end - start, "%s has %d %s, which stand in [ ]",
                               t->name, t->rank, t->rank == 1 ? "axis" : "axes");
    r->brackets += t->rank > 0;
    for (int i = 0; i < t->rank; i++) {
        if (i && !hc_reader_take(r, ","))
            return hc_reader_wrong(r, start, r->end - start, "%s has %d axes, and not %d", t->name,
                                   t->rank, i);
        if (!read_sum(r, &node.operand[i]) || !typed(r, node.operand[i], HC_TYPE_INTEGER))
            return false;
        node.operands++;
    }
    if (t->rank > 0 && hc_reader_is(r, ","))
        return hc_reader_wrong(r, r->token.at, 1, "%s has %d %s, and here are more", t->name,
                               t->rank, t->rank == 1 ? "axis" : "axes");
    r->brackets -= t->rank > 0;
    if (t->rank > 0 && !hc_reader_expect(r, "]", "']' or an operator"))
        return false;
    if (tensor != r->assigned)
        return hc_expression_make(r, node, start, e);
    if (r->scan < 0)
        return hc_reader_wrong(r, start, r->end - start,
                               "%s is what this equation assigns; only a scan reads itself",
                               t->name);
    /* A scan reads its own element before, and no other. */
    for (int i = 0; i < t->rank; i++) {
        const struct hc_expression *o = node.operand[i];
        assert(o);
        bool before = o->kind == HC_EXPRESSION_APPLY && o->function == HC_FN_sub &&
                      o->operand[0]->kind == HC_EXPRESSION_AXIS && o->operand[0]->axis == r->scan &&
                      o->operand[1]->kind == HC_EXPRESSION_NUMBER && o->operand[1]->length == 1 &&
                      *o->operand[1]->at == '1';
        bool same = o->kind == HC_EXPRESSION_AXIS && o->axis == t->axis[i];
        if (t->axis[i] == r->scan ? !before : !same)
            return hc_reader_wrong(r, o->at, o->length,
                                   "a scan over %s reads its own element at %s - 1, and otherwise "
                                   "at the same place",
                                   r->definition->axis[r->scan].name,
                                   r->definition->axis[r->scan].name);
    }
    return hc_expression_make(r, node, start, e);
}

/* Whether what stands after "max(" is an axis of a reduction: "u:" or "u <" or "u, v:". */
static bool begins_over(const struct hc_reader *r)
{
    struct hc_token after = hc_token_at(r->token.at + r->token.length);
    char name[HC_LONGEST_DEFINED_NAME + 1];
    if (r->token.kind != HC_TOKEN_NAME || r->token.length > HC_LONGEST_DEFINED_NAME)
        return false;
    (void)snprintf(name, sizeof name, "%.*s", r->token.length, r->token.at);
    if (hc_token_is(&after, ":"))
        return true;
    int axis = hc_definition_axis(r->definition, name);
    return axis >= 0 && !r->bound[axis];
}

/* The functions of formulas that are functions of numbers. */
static bool is_of_numbers(enum hc_function f)
{
    return isalpha((unsigned char)*hc_functions[f].spelling) && hc_enclosure_knows(f);
}

static bool read_call(struct hc_reader *r, enum hc_function f, const char *start,
                      struct hc_expression **e)
{
    const struct hc_function_info *info = &hc_functions[f];
    int least = f == HC_FN_min || f == HC_FN_max ? 2 : info->least;
    struct hc_expression node = {.kind = HC_EXPRESSION_APPLY, .function = f};
    do {
        if (node.operands == info->most)
            return hc_reader_wrong(r, start, r->end - start, "%s takes %d numbers, and no more",
                                   info->spelling, info->most);
        struct hc_expression **o = &node.operand[node.operands];
        if (!read_truth(r, o))
            return false;
        bool condition = f == HC_FN_select && node.operands == 0;
        if (!typed(r, *o, condition ? HC_TYPE_TRUTH : HC_TYPE_REAL))
            return false;
        node.operands++;
    } while (hc_reader_take(r, ","));
    r->brackets--;
    if (!hc_reader_expect(r, ")", "')', ',' or an operator"))
        return false;
    if (node.operands < least)
        return hc_reader_wrong(r, start, r->end - start, "%s takes %d numbers", info->spelling,
                               least);
    bool integers = true;
    for (int i = f == HC_FN_select; i < node.operands; i++)
        integers = integers && node.operand[i]->type == HC_TYPE_INTEGER;
    const struct hc_expression *o = node.operand[0];
    bool whole = f == HC_FN_floor && o->kind == HC_EXPRESSION_APPLY && o->function == HC_FN_div &&
                 o->operand[0]->type == HC_TYPE_INTEGER && o->operand[1]->type == HC_TYPE_INTEGER;
    bool keeps = (f == HC_FN_min || f == HC_FN_max || f == HC_FN_abs || f == HC_FN_floor ||
                  (f == HC_FN_select && o->exact)) &&
                 integers;
    node.type = info->kind == HC_FUNCTION_TRUTH ? HC_TYPE_TRUTH
                : keeps || whole                ? HC_TYPE_INTEGER
                                                : HC_TYPE_REAL;
    return hc_expression_make(r, node, start, e);
}

/* The reduction of this name; HC_REDUCTIONS if there is none. */
static enum hc_reduction reduction_of(const struct hc_token *name)
{
    int k = 0;
    while (k < HC_REDUCTIONS && !hc_token_is(name, hc_reduction_names[k]))
        k++;
    return (enum hc_reduction)k;
}

/* What a name before "(" means: a reduction, a rounding or a function. */
static bool read_applied(struct hc_reader *r, const struct hc_token *name, struct hc_expression **e)
{
    struct hc_program *none = hc_program_new();
    if (!none)
        return false;
    struct hc_word word = hc_program_word(none, name);
    hc_program_free(none);
    enum hc_reduction reduction = reduction_of(name);
    bool of_two = reduction == HC_OVER_MAX || reduction == HC_OVER_MIN;
    r->brackets++;
    hc_reader_next(r);
    if (reduction < HC_REDUCTIONS && (!of_two || begins_over(r)))
        return hc_read_over(r, reduction, name->at, e);
    if (hc_token_is(name, "store") ||
        (word.kind == HC_WORD_CAST && word.node.direction == HC_NEAREST && !word.node.saturate)) {
        struct hc_expression node = {.kind = HC_EXPRESSION_STORE,
                                     .type = HC_TYPE_REAL,
                                     .format = word.kind == HC_WORD_CAST ? word.node.format
                                                                         : HC_FORMAT_COUNT,
                                     .operands = 1};
        if (!read_sum(r, &node.operand[0]) || !typed(r, node.operand[0], HC_TYPE_REAL))
            return false;
        r->brackets--;
        return hc_reader_expect(r, ")", "')' or an operator") &&
               hc_expression_make(r, node, name->at, e);
    }
    if (hc_token_is(name, "either")) {
        struct hc_expression node = {
            .kind = HC_EXPRESSION_EITHER, .type = HC_TYPE_REAL, .operands = 2};
        if (!read_sum(r, &node.operand[0]) || !hc_reader_expect(r, ",", "','") ||
            !read_sum(r, &node.operand[1]) || !typed(r, node.operand[0], HC_TYPE_REAL) ||
            !typed(r, node.operand[1], HC_TYPE_REAL))
            return false;
        r->brackets--;
        return hc_reader_expect(r, ")", "')' or an operator") &&
               hc_expression_make(r, node, name->at, e);
    }
    if (word.kind == HC_WORD_FUNCTION && is_of_numbers(word.node.function))
        return read_call(r, word.node.function, name->at, e);
    struct hc_nearest nearest = hc_nearest_to(name->at, (size_t)name->length);
    for (int k = 0; k < HC_REDUCTIONS; k++)
        hc_nearest_try(&nearest, hc_reduction_names[k]);
    for (int f = 0; f < HC_FUNCTION_COUNT; f++)
        if (is_of_numbers((enum hc_function)f))
            hc_nearest_try(&nearest, hc_functions[f].spelling);
    return hc_reader_wrong(r, name->at, name->length, "there is no function %s%s",
                           hc_parser_quote(name->at, name->length).text,
                           name->length > 1 ? hc_nearest_hint(&nearest) : "");
}

/* The axis whose extent this name is; -1 if it is none. */
static int extent_of(const struct hc_definition *d, const char *name)
{
    char small[HC_LONGEST_DEFINED_NAME + 1];
    size_t n = strlen(name);
    for (size_t i = 0; i <= n; i++) {
        if (islower((unsigned char)name[i]))
            return -1;
        small[i] = (char)tolower((unsigned char)name[i]);
    }
    return hc_definition_axis(d, small);
}

static bool unknown_name(struct hc_reader *r, const struct hc_token *token)
{
    const struct hc_definition *d = r->definition;
    struct hc_nearest nearest = hc_nearest_to(token->at, (size_t)token->length);
    for (int i = 0; i < d->tensors; i++)
        hc_nearest_try(&nearest, d->tensor[i].name);
    for (int i = 0; i < d->options; i++)
        hc_nearest_try(&nearest, d->option[i].name);
    for (int i = 0; i < d->axes; i++)
        hc_nearest_try(&nearest, d->axis[i].name);
    return hc_reader_wrong(r, token->at, token->length,
                           "%s is no input, axis, option or tensor of an equation above%s",
                           hc_parser_quote(token->at, token->length).text,
                           token->length > 1 ? hc_nearest_hint(&nearest) : "");
}

static bool read_name(struct hc_reader *r, struct hc_expression **e)
{
    const struct hc_definition *d = r->definition;
    struct hc_token token = r->token;
    struct hc_token after = hc_token_at(token.at + token.length);
    struct hc_expression node = {.type = HC_TYPE_INTEGER};
    char name[HC_LONGEST_DEFINED_NAME + 1];
    if (hc_token_is(&after, "(")) {
        hc_reader_next(r);
        return read_applied(r, &token, e);
    }
    if (token.length > HC_LONGEST_DEFINED_NAME)
        return unknown_name(r, &token);
    (void)snprintf(name, sizeof name, "%.*s", token.length, token.at);
    int axis = hc_definition_axis(d, name);
    int tensor = hc_definition_tensor(d, name);
    int option = hc_definition_option(d, name);
    bool truth = strcmp(name, "true") == 0 || strcmp(name, "false") == 0;
    hc_reader_next(r);
    if (tensor >= 0)
        return read_element(r, tensor, token.at, e);
    if (axis >= 0 && !r->bound[axis])
        return hc_reader_wrong(r, token.at, token.length,
                               "axis %s stands neither on the left side nor in a sum around", name);
    if (axis >= 0) {
        node.kind = HC_EXPRESSION_AXIS;
        node.axis = axis;
    } else if (option >= 0) {
        static const enum hc_expression_type types[] = {[HC_OPTION_REAL] = HC_TYPE_REAL,
                                                        [HC_OPTION_INTEGER] = HC_TYPE_INTEGER,
                                                        [HC_OPTION_TRUTH] = HC_TYPE_TRUTH};
        node.kind = HC_EXPRESSION_OPTION;
        node.option = option;
        node.type = types[d->option[option].type];
        node.exact = node.type == HC_TYPE_TRUTH;
    } else if (strcmp(name, "inf") == 0 || strcmp(name, "nan") == 0 || strcmp(name, "pi") == 0 ||
               truth) {
        node.kind = HC_EXPRESSION_NUMBER;
        node.type = truth ? HC_TYPE_TRUTH : HC_TYPE_REAL;
        node.exact = truth;
    } else if (extent_of(d, name) >= 0) {
        node.kind = HC_EXPRESSION_EXTENT;
        node.axis = extent_of(d, name);
    } else {
        return unknown_name(r, &token);
    }
    return hc_expression_make(r, node, token.at, e);
}

static bool too_deep(struct hc_reader *r)
{
    return ++r->depth > HC_DEEPEST_EXPRESSION &&
           !hc_reader_wrong(r, r->token.at, r->token.length,
                            "more than %d operands are nested here", HC_DEEPEST_EXPRESSION);
}

/* All recursion goes through items, signs and negations, which count its depth. */
static bool read_item(struct hc_reader *r, struct hc_expression **e)
{
    if (too_deep(r))
        return false;
    if (r->token.kind == HC_TOKEN_NUMBER) {
        if (!read_number(r, e))
            return false;
    } else if (r->token.kind == HC_TOKEN_NAME) {
        if (!read_name(r, e))
            return false;
    } else if (hc_reader_is(r, "(")) {
        r->brackets++;
        hc_reader_next(r);
        if (!read_truth(r, e))
            return false;
        r->brackets--;
        if (!hc_reader_expect(r, ")", "')' or an operator"))
            return false;
    } else {
        return hc_reader_missing(r, "a number, a name or '('");
    }
    r->depth--;
    return true;
}

/* x^3 is x * x * x. */
static bool read_power(struct hc_reader *r, struct hc_expression **e)
{
    const char *start = r->token.at;
    if (!read_item(r, e))
        return false;
    if (!hc_reader_take(r, "^") && !hc_reader_take(r, "**"))
        return true;
    struct hc_token exponent = r->token;
    int n = exponent.kind == HC_TOKEN_NUMBER && exponent.length == 1 ? *exponent.at - '0' : 0;
    if (n < 1)
        return hc_reader_wrong(r, exponent.at, exponent.length,
                               "a power is a whole number from 1 to 9");
    hc_reader_next(r);
    struct hc_expression *x = *e;
    for (int i = 1; i < n; i++)
        if (!hc_expression_apply(r, HC_FN_mul, start, *e, x, e))
            return false;
    return true;
}

static bool read_sign(struct hc_reader *r, struct hc_expression **e)
{
    const char *start = r->token.at;
    if (!hc_reader_take(r, "-"))
        return read_power(r, e);
    if (too_deep(r))
        return false;
    struct hc_expression node = {
        .kind = HC_EXPRESSION_APPLY, .function = HC_FN_negate, .operands = 1};
    if (!read_sign(r, &node.operand[0]) || !typed(r, node.operand[0], HC_TYPE_REAL))
        return false;
    r->depth--;
    node.type = node.operand[0]->type;
    return hc_expression_make(r, node, start, e);
}

static bool read_product(struct hc_reader *r, struct hc_expression **e)
{
    const char *start = r->token.at;
    if (!read_sign(r, e))
        return false;
    for (;;) {
        bool mod = hc_reader_is(r, "mod");
        enum hc_function f = hc_reader_is(r, "*") ? HC_FN_mul : HC_FN_div;
        if (!mod && !hc_reader_is(r, "*") && !hc_reader_is(r, "/"))
            return true;
        struct hc_expression *b = NULL;
        hc_reader_next(r);
        if (!read_sign(r, &b))
            return false;
        if (!mod) {
            if (!hc_expression_apply(r, f, start, *e, b, e))
                return false;
            continue;
        }
        struct hc_expression node = {
            .kind = HC_EXPRESSION_MOD, .type = HC_TYPE_INTEGER, .operands = 2, .operand = {*e, b}};
        if (!typed(r, *e, HC_TYPE_INTEGER) || !typed(r, b, HC_TYPE_INTEGER) ||
            !hc_expression_make(r, node, start, e))
            return false;
    }
}

static bool read_sum(struct hc_reader *r, struct hc_expression **e)
{
    const char *start = r->token.at;
    if (!read_product(r, e))
        return false;
    while (hc_reader_is(r, "+") || hc_reader_is(r, "-")) {
        enum hc_function f = hc_reader_is(r, "+") ? HC_FN_add : HC_FN_sub;
        struct hc_expression *b = NULL;
        hc_reader_next(r);
        if (!read_product(r, &b) || !hc_expression_apply(r, f, start, *e, b, e))
            return false;
    }
    return true;
}

static bool read_negation(struct hc_reader *r, struct hc_expression **e)
{
    static const struct {
        const char *sign;
        enum hc_function f;
    } signs[] = {{"<=", HC_FN_less_equal}, {">=", HC_FN_greater_equal}, {"==", HC_FN_equal},
                 {"!=", HC_FN_not_equal},  {"<", HC_FN_less},           {">", HC_FN_greater}};
    const char *start = r->token.at;
    if (hc_reader_take(r, "not")) {
        struct hc_expression node = {
            .kind = HC_EXPRESSION_NOT, .type = HC_TYPE_TRUTH, .operands = 1};
        if (too_deep(r))
            return false;
        if (!read_negation(r, &node.operand[0]) || !typed(r, node.operand[0], HC_TYPE_TRUTH))
            return false;
        r->depth--;
        node.exact = node.operand[0]->exact;
        return hc_expression_make(r, node, start, e);
    }
    if (!read_sum(r, e))
        return false;
    for (size_t i = 0; i < sizeof signs / sizeof signs[0]; i++)
        if (hc_reader_take(r, signs[i].sign)) {
            struct hc_expression *b = NULL;
            return read_sum(r, &b) && hc_expression_apply(r, signs[i].f, start, *e, b, e);
        }
    return true;
}

/* Truths joined by one word, each read by `part`. */
static bool joined(struct hc_reader *r, const char *word, enum hc_expression_kind kind,
                   bool (*part)(struct hc_reader *, struct hc_expression **),
                   struct hc_expression **e)
{
    const char *start = r->token.at;
    if (!part(r, e))
        return false;
    while (hc_reader_take(r, word)) {
        struct hc_expression node = {.kind = kind, .type = HC_TYPE_TRUTH, .operands = 2};
        node.operand[0] = *e;
        if (!part(r, &node.operand[1]) || !typed(r, node.operand[0], HC_TYPE_TRUTH) ||
            !typed(r, node.operand[1], HC_TYPE_TRUTH))
            return false;
        node.exact = node.operand[0]->exact && node.operand[1]->exact;
        if (!hc_expression_make(r, node, start, e))
            return false;
    }
    return true;
}

static bool read_conjunction(struct hc_reader *r, struct hc_expression **e)
{
    return joined(r, "and", HC_EXPRESSION_AND, read_negation, e);
}

static bool read_truth(struct hc_reader *r, struct hc_expression **e)
{
    return joined(r, "or", HC_EXPRESSION_OR, read_conjunction, e);
}

bool hc_read_expression(struct hc_reader *r, enum hc_expression_type type,
                        struct hc_expression **expression)
{
    return read_truth(r, expression) && typed(r, *expression, type);
}
