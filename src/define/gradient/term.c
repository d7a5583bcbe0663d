/* Texts of expressions, and terms of texts. */
#include "define/gradient/term.h"

#include <ctype.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *hc_adjoint_fail(struct hc_adjoint *a, enum hc_status status, const char *what)
{
    if (!a->failed)
        a->status = hc_fail(status, "%s: %s", a->definition->name, what);
    a->failed = true;
    return "0";
}

const char *hc_text_of(struct hc_adjoint *a, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    if (a->texts == HC_MAX_TEXTS || length > HC_LONGEST_DEFINITION)
        return hc_adjoint_fail(a, HC_UNSUPPORTED, "its gradient is too long to be written down");
    char *made = malloc((size_t)length + 1);
    if (!made)
        return hc_adjoint_fail(a, HC_NO_MEMORY, "no memory for its gradient");
    va_start(arguments, format);
    (void)vsnprintf(made, (size_t)length + 1, format, arguments);
    va_end(arguments);
    return a->kept[a->texts++] = made;
}

/* Texts of expressions. */

/* How tightly the outermost operation binds: 0 and up. */
static int level(const struct hc_expression *e)
{
    switch (e->kind) {
    case HC_EXPRESSION_OR:
        return 0;
    case HC_EXPRESSION_AND:
        return 1;
    case HC_EXPRESSION_NOT:
        return 2;
    case HC_EXPRESSION_MOD:
        return 5;
    case HC_EXPRESSION_APPLY:
        break;
    default:
        return 9;
    }
    switch ((int)e->function) {
    case HC_FN_less:
    case HC_FN_less_equal:
    case HC_FN_greater:
    case HC_FN_greater_equal:
    case HC_FN_equal:
    case HC_FN_not_equal:
        return 3;
    case HC_FN_add:
    case HC_FN_sub:
        return 4;
    case HC_FN_mul:
    case HC_FN_div:
        return 5;
    case HC_FN_negate:
        return 6;
    default:
        return 9;
    }
}

/* In brackets unless it binds at least as tightly. */
const char *hc_adjoint_inside(struct hc_adjoint *a, const struct hc_expression *e, int at_least)
{
    return hc_text_of(a, level(e) < at_least ? "(%s)" : "%s", hc_adjoint_print(a, e));
}

static const char *print_list(struct hc_adjoint *a, const struct hc_expression *e)
{
    const char *list = "";
    for (int i = 0; i < e->operands; i++)
        list = hc_text_of(a, "%s%s%s", list, i ? "," : "", hc_adjoint_print(a, e->operand[i]));
    return list;
}

const char *hc_adjoint_print(struct hc_adjoint *a, const struct hc_expression *e)
{
    const struct hc_definition *d = a->definition;
    static const char *const words[] = {
        [HC_EXPRESSION_AND] = "and", [HC_EXPRESSION_OR] = "or", [HC_EXPRESSION_MOD] = "mod"};
    switch (e->kind) {
    case HC_EXPRESSION_NUMBER:
        return hc_text_of(a, "%.*s", e->length, e->at);
    case HC_EXPRESSION_OPTION:
        return d->option[e->option].name;
    case HC_EXPRESSION_AXIS:
        return d->axis[e->axis].name;
    case HC_EXPRESSION_EXTENT: {
        char *capitals = (char *)hc_text_of(a, "%s", d->axis[e->axis].name);
        for (char *c = capitals; !a->failed && *c; c++)
            *c = (char)toupper((unsigned char)*c);
        return capitals;
    }
    case HC_EXPRESSION_READ:
        return e->operands ? hc_text_of(a, "%s[%s]", d->tensor[e->tensor].name, print_list(a, e))
                           : d->tensor[e->tensor].name;
    case HC_EXPRESSION_NOT:
        return hc_text_of(a, "not %s", hc_adjoint_inside(a, e->operand[0], 2));
    case HC_EXPRESSION_AND:
    case HC_EXPRESSION_OR:
    case HC_EXPRESSION_MOD:
        return hc_text_of(a, "%s %s %s", hc_adjoint_inside(a, e->operand[0], level(e)),
                          words[e->kind], hc_adjoint_inside(a, e->operand[1], level(e) + 1));
    case HC_EXPRESSION_OVER:
        return hc_text_of(a, e->operands > 1 ? "%s(%s: %s where %s)" : "%s(%s: %s)",
                          hc_reduction_names[e->reduction], d->axis[e->axis].name,
                          hc_adjoint_print(a, e->operand[0]),
                          e->operands > 1 ? hc_adjoint_print(a, e->operand[1]) : "");
    case HC_EXPRESSION_EITHER:
        return hc_text_of(a, "either(%s)", print_list(a, e));
    case HC_EXPRESSION_STORE:
        return hc_text_of(a, "%s(%s)",
                          e->format == HC_FORMAT_COUNT ? "store" : hc_formats[e->format].name,
                          hc_adjoint_print(a, e->operand[0]));
    default:
        break;
    }
    if (e->function == HC_FN_negate)
        return hc_text_of(a, "-%s", hc_adjoint_inside(a, e->operand[0], 6));
    if (level(e) == 9)
        return hc_text_of(a, "%s(%s)", hc_functions[e->function].spelling, print_list(a, e));
    return hc_text_of(a, "%s %s %s", hc_adjoint_inside(a, e->operand[0], level(e)),
                      hc_functions[e->function].spelling,
                      hc_adjoint_inside(a, e->operand[1], level(e) + 1));
}

/* A tensor with its own axes. */
const char *hc_adjoint_element(struct hc_adjoint *a, const char *name,
                               const struct hc_defined_tensor *t)
{
    const char *places = "";
    for (int i = 0; i < t->rank; i++)
        places =
            hc_text_of(a, "%s%s%s", places, i ? "," : "", a->definition->axis[t->axis[i]].name);
    return t->rank ? hc_text_of(a, "%s[%s]", name, places) : name;
}

/* Terms. */

bool hc_text_mentions(const char *in, const char *name)
{
    size_t length = strlen(name);
    for (const char *at = strstr(in, name); at; at = strstr(at + 1, name)) {
        bool before = at > in && (isalnum((unsigned char)at[-1]) || at[-1] == '_');
        bool after = isalnum((unsigned char)at[length]) || at[length] == '_';
        if (!before && !after)
            return true;
    }
    return false;
}

/* The text with one name in place of another. */
const char *hc_text_renamed(struct hc_adjoint *a, const char *in, const char *from, const char *to)
{
    const char *out = "";
    const char *done = in;
    size_t length = strlen(from);
    if (!hc_text_mentions(in, from))
        return in;
    for (const char *at = strstr(in, from); at; at = strstr(at + length, from)) {
        bool before = at > in && (isalnum((unsigned char)at[-1]) || at[-1] == '_');
        bool after = isalnum((unsigned char)at[length]) || at[length] == '_';
        if (before || after)
            continue;
        out = hc_text_of(a, "%s%.*s%s", out, (int)(at - done), done, to);
        done = at + length;
    }
    return hc_text_of(a, "%s%s", out, done);
}

void hc_term_put(struct hc_adjoint *a, const char **list, int *count, const char *factor)
{
    if (*count == HC_MAX_FACTORS)
        (void)hc_adjoint_fail(a, HC_UNSUPPORTED, "a term of its gradient has too many factors");
    else
        list[(*count)++] = factor;
}

/* Takes the factor out of a list; false if it is not there. */
bool hc_term_drop(const char **list, int *count, const char *factor)
{
    for (int i = 0; i < *count; i++)
        if (strcmp(list[i], factor) == 0) {
            memmove(list + i, list + i + 1, (size_t)(*count - i - 1) * sizeof *list);
            --*count;
            return true;
        }
    return false;
}

/* Whether a product with the factor is exact: it is a power of two. */
static bool is_exact(const char *factor)
{
    char *end;
    int exponent;
    return frexp(strtod(factor, &end), &exponent) == 0.5 && *end == '\0';
}

/* What stands above and below stays, since a right implementation multiplies by it in one step and
   divides by it in another, and rounds both. */
void hc_term_times(struct hc_adjoint *a, struct hc_term *t, const char *factor)
{
    if (!is_exact(factor) || !hc_term_drop(t->denominator, &t->below, factor))
        hc_term_put(a, t->numerator, &t->above, factor);
}

void hc_term_over(struct hc_adjoint *a, struct hc_term *t, const char *factor)
{
    if (!is_exact(factor) || !hc_term_drop(t->numerator, &t->above, factor))
        hc_term_put(a, t->denominator, &t->below, factor);
}

/* The factors of an expression, above and below. */
void hc_term_factors(struct hc_adjoint *a, struct hc_term *t, const struct hc_expression *e,
                     bool below)
{
    if (e->kind == HC_EXPRESSION_APPLY && e->function == HC_FN_mul) {
        hc_term_factors(a, t, e->operand[0], below);
        hc_term_factors(a, t, e->operand[1], below);
    } else if (e->kind == HC_EXPRESSION_APPLY && e->function == HC_FN_div) {
        hc_term_factors(a, t, e->operand[0], below);
        hc_term_factors(a, t, e->operand[1], !below);
    } else if (e->kind == HC_EXPRESSION_APPLY && e->function == HC_FN_negate) {
        t->coefficient = -t->coefficient;
        hc_term_factors(a, t, e->operand[0], below);
    } else if (e->kind == HC_EXPRESSION_NUMBER && e->length == 1 && *e->at == '1') {
        return;
    } else {
        const char *factor = hc_adjoint_inside(a, e, 6);
        below ? hc_term_over(a, t, factor) : hc_term_times(a, t, factor);
    }
}

/* Gives a quotient that an equation has already the equation's name, with these axes. */
void hc_term_use_equations(struct hc_adjoint *a, struct hc_term *t)
{
    const struct hc_definition *d = a->definition;
    for (int k = d->inputs; k < d->tensors; k++) {
        const struct hc_defined_tensor *y = &d->tensor[k];
        struct hc_term parts = {.coefficient = 1};
        struct hc_term rest = *t;
        bool there = true;
        if (y->where || y->shift || y->scan >= 0)
            continue;
        hc_term_factors(a, &parts, y->value, false);
        bool function =
            parts.above == 1 && (y->value->kind == HC_EXPRESSION_OVER ||
                                 (y->value->kind == HC_EXPRESSION_APPLY && level(y->value) == 9));
        if ((parts.below == 0 && !function) || parts.coefficient != 1)
            continue;
        for (int i = 0; i < parts.above; i++)
            there = there && hc_term_drop(rest.numerator, &rest.above, parts.numerator[i]);
        for (int i = 0; i < parts.below; i++)
            there = there && hc_term_drop(rest.denominator, &rest.below, parts.denominator[i]);
        if (!there)
            continue;
        const char *name = y->name;
        const char *places = "";
        for (int i = 0; i < y->rank; i++)
            places = hc_text_of(a, "%s%s%s", places, i ? "," : "", d->axis[y->axis[i]].name);
        hc_term_put(a, rest.numerator, &rest.above,
                    y->rank ? hc_text_of(a, "%s[%s]", name, places) : name);
        *t = rest;
        k = d->inputs - 1; /* it may be there twice */
    }
}

/* "a * b / (c * d)", without the coefficient. */
const char *hc_term_product(struct hc_adjoint *a, const struct hc_term *t)
{
    const char *above = "";
    const char *below = "";
    for (int i = 0; i < t->above; i++)
        above = hc_text_of(a, "%s%s%s", above, i ? " * " : "", t->numerator[i]);
    for (int i = 0; i < t->below; i++)
        below = hc_text_of(a, "%s%s%s", below, i ? " * " : "", t->denominator[i]);
    if (t->below == 0)
        return t->above ? above : "1";
    return hc_text_of(a, t->below > 1 ? "%s / (%s)" : "%s / %s", t->above ? above : "1", below);
}

/* A term behind what has been written of its sum. */
const char *hc_term_print(struct hc_adjoint *a, const char *sum, const struct hc_term *t)
{
    const char *product = hc_term_product(a, t);
    const char *sign = t->coefficient < 0 ? (*sum ? " - " : "-") : *sum ? " + " : "";
    double size = t->coefficient < 0 ? -t->coefficient : t->coefficient;
    if (size == 1)
        return hc_text_of(a, "%s%s%s", sum, sign, product);
    return hc_text_of(a, "%s%s%.17g * %s", sum, sign, size, product);
}

/* The right side of an equation: one factor alone needs no brackets. */
const char *hc_term_side(struct hc_adjoint *a, const struct hc_term *t)
{
    const char *side = hc_term_print(a, "", t);
    size_t n = strlen(side);
    int open = 0;
    if (t->above != 1 || t->below || *side != '(')
        return side;
    for (size_t i = 0; i + 1 < n; i++) {
        open += (side[i] == '(') - (side[i] == ')');
        if (open == 0)
            return side;
    }
    return hc_text_of(a, "%.*s", (int)n - 2, side + 1);
}

static bool has(const char *const *list, int count, const char *factor)
{
    for (int i = 0; i < count; i++)
        if (strcmp(list[i], factor) == 0)
            return true;
    return false;
}

static bool same_term(const struct hc_term *x, const struct hc_term *y)
{
    struct hc_term rest = *y;
    if (x->above != y->above || x->below != y->below)
        return false;
    for (int i = 0; i < x->above; i++)
        if (!hc_term_drop(rest.numerator, &rest.above, x->numerator[i]))
            return false;
    for (int i = 0; i < x->below; i++)
        if (!hc_term_drop(rest.denominator, &rest.below, x->denominator[i]))
            return false;
    return true;
}

struct hc_term hc_term_chosen(struct hc_adjoint *a, double coefficient, const char *condition,
                              const char *value)
{
    const char *chosen = hc_text_of(a, "select(%s, %s, 0)", condition, value);
    return (struct hc_term){.coefficient = coefficient,
                            .condition = condition,
                            .value = value,
                            .chosen = chosen,
                            .above = 1,
                            .numerator = {chosen}};
}

static bool is_chosen(const struct hc_term *t)
{
    return t->chosen && t->above == 1 && t->below == 0 && t->numerator[0] == t->chosen;
}

/* Two terms of which just one is there, by conditions that are C and not (C) behind what they have
   in common, become one, in the place of x. What is the same in both does not depend on C, if C has
   a value at each place. */
static bool join_chosen(struct hc_adjoint *a, struct hc_term *x, const struct hc_term *y)
{
    size_t common = 0;
    if (!is_chosen(x) || !is_chosen(y))
        return false;
    for (const char *at = strstr(y->condition, "not ("); at; at = strstr(at + 1, "not ("))
        if (strncmp(x->condition, y->condition, (size_t)(at - y->condition)) == 0)
            common = (size_t)(at - y->condition);
    const char *c = x->condition + common;
    if (strcmp(y->condition + common, hc_text_of(a, "not (%s)", c)) != 0 ||
        (common && (common < 5 || strncmp(c - 5, " and ", 5) != 0)))
        return false;
    bool times = x->coefficient == y->coefficient;
    bool same = times && strcmp(x->value, y->value) == 0 && !strchr(c, '[');
    const char *value[2] = {x->value, y->value};
    for (int i = 0; i < 2 && !times; i++)
        value[i] = hc_term_print(a, "",
                                 &(struct hc_term){.coefficient = (i ? y : x)->coefficient,
                                                   .above = 1,
                                                   .numerator = {value[i]}});
    if (!same)
        value[0] = hc_text_of(a, "select(%s, %s, %s)", c, value[0], value[1]);
    double coefficient = times ? x->coefficient : 1;
    const char *where = hc_text_of(a, "%.*s", common ? (int)common - 5 : 0, x->condition);
    *x = (struct hc_term){.coefficient = coefficient, .above = 1, .numerator = {value[0]}};
    if (common)
        *x = hc_term_chosen(a, coefficient, where, value[0]);
    return true;
}

void hc_gradient_add(struct hc_adjoint *a, struct hc_gradient *g, const struct hc_term *t)
{
    if (t->coefficient == 0)
        return;
    for (int i = 0; i < g->terms; i++)
        if (same_term(&g->term[i], t)) {
            g->term[i].coefficient += t->coefficient;
            return;
        }
    if (g->terms == HC_MAX_TERMS)
        (void)hc_adjoint_fail(a, HC_UNSUPPORTED, "its gradient has too many terms");
    else
        g->term[g->terms++] = *t;
}

/* Joins terms, and what they have become with others, until there are none to join. */
static void join_all(struct hc_adjoint *a, struct hc_gradient *g)
{
    for (int i = 0; i < g->terms; i++)
        for (int k = 0; k < g->terms; k++)
            if (i != k && join_chosen(a, &g->term[i], &g->term[k])) {
                memmove(g->term + k, g->term + k + 1,
                        (size_t)(g->terms - k - 1) * sizeof g->term[0]);
                g->terms--;
                i = -1;
                break;
            }
}

/* The gradient as one term: what all its terms have in common, and their sum as one factor more. */
struct hc_term hc_gradient_term(struct hc_adjoint *a, const struct hc_gradient *g)
{
    struct hc_term common = {.coefficient = 1};
    struct hc_gradient rest = *g;
    const char *sum = "";
    join_all(a, &rest);
    if (rest.terms == 1)
        return rest.term[0];
    if (rest.terms == 0)
        return (struct hc_term){.coefficient = 0};
    const struct hc_term first = rest.term[0];
    for (int i = 0; i < first.above; i++) {
        const char *factor = first.numerator[i];
        bool all = true;
        for (int k = 0; k < rest.terms; k++)
            all = all && has(rest.term[k].numerator, rest.term[k].above, factor);
        if (!all)
            continue;
        hc_term_put(a, common.numerator, &common.above, factor);
        for (int k = 0; k < rest.terms; k++)
            (void)hc_term_drop(rest.term[k].numerator, &rest.term[k].above, factor);
    }
    for (int i = 0; i < first.below; i++) {
        const char *factor = first.denominator[i];
        bool all = true;
        for (int k = 0; k < rest.terms; k++)
            all = all && has(rest.term[k].denominator, rest.term[k].below, factor);
        if (!all)
            continue;
        hc_term_put(a, common.denominator, &common.below, factor);
        for (int k = 0; k < rest.terms; k++)
            (void)hc_term_drop(rest.term[k].denominator, &rest.term[k].below, factor);
    }
    /* A sum begins with what is added, if there is such a term. */
    for (int sign = 1; sign >= -1; sign -= 2)
        for (int k = 0; k < rest.terms; k++)
            if ((rest.term[k].coefficient < 0 ? -1 : 1) == sign)
                sum = hc_term_print(a, sum, &rest.term[k]);
    hc_term_put(a, common.numerator, &common.above, hc_text_of(a, "(%s)", sum));
    return common;
}

bool hc_text_binds(const char *in, const char *axis)
{
    size_t length = strlen(axis);
    for (const char *at = strstr(in, axis); at; at = strstr(at + 1, axis)) {
        const char *before = at;
        while (before > in && before[-1] == ' ')
            before--;
        bool opens = before > in && (before[-1] == '(' || before[-1] == ',');
        const char *colon = at + length + strcspn(at + length, ":()[]");
        if (opens && *colon == ':' && strspn(at + length, " :,<") > 0)
            return true;
    }
    return false;
}

const char *hc_adjoint_new_name(struct hc_adjoint *a, const char *prefix, const char *of)
{
    const char *name = hc_text_of(a, "%s%s", prefix, of);
    while (!a->failed &&
           (hc_definition_tensor(a->definition, name) >= 0 ||
            hc_definition_option(a->definition, name) >= 0 ||
            hc_definition_axis(a->definition, name) >= 0 || hc_text_mentions(a->lines, name)))
        name = hc_text_of(a, "%s_", name);
    return name;
}

const char *hc_adjoint_line(struct hc_adjoint *a, const char *prefix, const char *places,
                            const char *right)
{
    const char *end =
        hc_text_of(a, "%s%s%s = %s\n", *places ? "[" : "", places, *places ? "]" : "", right);
    const char *there = strstr(a->lines, end);
    const char *name;
    if (there) {
        const char *from = there;
        while (from > a->lines && (isalnum((unsigned char)from[-1]) || from[-1] == '_'))
            from--;
        name = hc_text_of(a, "%.*s", (int)(there - from), from);
    } else {
        name = hc_adjoint_new_name(a, prefix, a->equation->name);
        a->lines = hc_text_of(a, "%s%s%s", a->lines, name, end);
    }
    return *places ? hc_text_of(a, "%s[%s]", name, places) : name;
}
