/* The adjoint, equation by equation from the last to the first.

   An equation y[...] = E reads x[i...] at some place. There the loss changes by dy times the
   derivative of E by what is read, for every place of the axes that are bound: those of y, and
   those of sums around. So the gradient dx at a place is the sum over all of these axes where the
   indices i... are that place. Where an index is one of the axes, the axis takes the name of x's
   own, and is not summed over; otherwise a condition says that they are equal.

   A gradient is a sum of terms, and a term a product of factors over a product of others. Factors
   are texts. What all terms have in common is drawn out of their sum, what does not depend on an
   axis is drawn out of a sum over it, and a quotient that an equation of the definition has already
   gets its name: so softmax's gradient comes out as y[n,c] * (dy[n,c] - sum(c: dy[n,c] * y[n,c])).
 */
#include "define/adjoint.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_FACTORS = 24, MAX_TERMS = 32, MAX_LOOPS = 12, MAX_TEXTS = 1 << 17 };

struct term {
    double coefficient;
    int above;
    const char *numerator[MAX_FACTORS];
    int below;
    const char *denominator[MAX_FACTORS];
};

/* A term on its way to a read: the axes that are bound, and the conditions. */
struct way {
    struct term term;
    int loops;
    const char *loop[MAX_LOOPS];
    int conditions;
    const char *condition[MAX_FACTORS];
};

struct gradient {
    int terms;
    struct term term[MAX_TERMS];
};

struct adjoint {
    const struct hc_definition *definition;
    char *kept[MAX_TEXTS]; /* all texts, which are freed at the end */
    int texts;
    bool failed;
    enum hc_status status;
    struct gradient of[HC_MAX_DEFINED_TENSORS];
    bool named[HC_MAX_DEFINED_TENSORS];       /* its gradient has an equation of its own */
    const char *name[HC_MAX_DEFINED_TENSORS]; /* of the gradient */
    const struct hc_defined_tensor *equation; /* whose right side is differentiated */
    const char *lines;                        /* equations of the gradient so far */
    char *axes;                               /* lines that declare further axes */
    int fresh;
};

static const char *failed(struct adjoint *a, enum hc_status status, const char *what)
{
    if (!a->failed)
        a->status = hc_fail(status, "%s: %s", a->definition->name, what);
    a->failed = true;
    return "0";
}

/* A text that lives as long as the work. */
#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
static const char *
text(struct adjoint *a, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    if (a->texts == MAX_TEXTS || length > HC_LONGEST_DEFINITION)
        return failed(a, HC_UNSUPPORTED, "its gradient is too long to be written down");
    char *made = malloc((size_t)length + 1);
    if (!made)
        return failed(a, HC_NO_MEMORY, "no memory for its gradient");
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

static const char *print(struct adjoint *a, const struct hc_expression *e);

/* In brackets unless it binds at least as tightly. */
static const char *inside(struct adjoint *a, const struct hc_expression *e, int at_least)
{
    return text(a, level(e) < at_least ? "(%s)" : "%s", print(a, e));
}

static const char *print_list(struct adjoint *a, const struct hc_expression *e)
{
    const char *list = "";
    for (int i = 0; i < e->operands; i++)
        list = text(a, "%s%s%s", list, i ? "," : "", print(a, e->operand[i]));
    return list;
}

static const char *print(struct adjoint *a, const struct hc_expression *e)
{
    const struct hc_definition *d = a->definition;
    static const char *const words[] = {
        [HC_EXPRESSION_AND] = "and", [HC_EXPRESSION_OR] = "or", [HC_EXPRESSION_MOD] = "mod"};
    switch (e->kind) {
    case HC_EXPRESSION_NUMBER:
        return text(a, "%.*s", e->length, e->at);
    case HC_EXPRESSION_OPTION:
        return d->option[e->option].name;
    case HC_EXPRESSION_AXIS:
        return d->axis[e->axis].name;
    case HC_EXPRESSION_EXTENT: {
        char *capitals = (char *)text(a, "%s", d->axis[e->axis].name);
        for (char *c = capitals; !a->failed && *c; c++)
            *c = (char)toupper((unsigned char)*c);
        return capitals;
    }
    case HC_EXPRESSION_READ:
        return e->operands ? text(a, "%s[%s]", d->tensor[e->tensor].name, print_list(a, e))
                           : d->tensor[e->tensor].name;
    case HC_EXPRESSION_NOT:
        return text(a, "not %s", inside(a, e->operand[0], 2));
    case HC_EXPRESSION_AND:
    case HC_EXPRESSION_OR:
    case HC_EXPRESSION_MOD:
        return text(a, "%s %s %s", inside(a, e->operand[0], level(e)), words[e->kind],
                    inside(a, e->operand[1], level(e) + 1));
    case HC_EXPRESSION_OVER:
        return text(a, e->operands > 1 ? "%s(%s: %s where %s)" : "%s(%s: %s)",
                    hc_reduction_names[e->reduction], d->axis[e->axis].name,
                    print(a, e->operand[0]), e->operands > 1 ? print(a, e->operand[1]) : "");
    case HC_EXPRESSION_STORE:
        return text(a, "%s(%s)",
                    e->format == HC_FORMAT_COUNT ? "store" : hc_formats[e->format].name,
                    print(a, e->operand[0]));
    default:
        break;
    }
    if (e->function == HC_FN_negate)
        return text(a, "-%s", inside(a, e->operand[0], 6));
    if (level(e) == 9)
        return text(a, "%s(%s)", hc_functions[e->function].spelling, print_list(a, e));
    return text(a, "%s %s %s", inside(a, e->operand[0], level(e)),
                hc_functions[e->function].spelling, inside(a, e->operand[1], level(e) + 1));
}

/* A tensor with its own axes. */
static const char *with_axes(struct adjoint *a, const char *name, const struct hc_defined_tensor *t)
{
    const char *places = "";
    for (int i = 0; i < t->rank; i++)
        places = text(a, "%s%s%s", places, i ? "," : "", a->definition->axis[t->axis[i]].name);
    return t->rank ? text(a, "%s[%s]", name, places) : name;
}

/* Terms. */

static bool mentions(const char *in, const char *name)
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
static const char *renamed(struct adjoint *a, const char *in, const char *from, const char *to)
{
    const char *out = "";
    const char *done = in;
    size_t length = strlen(from);
    if (!mentions(in, from))
        return in;
    for (const char *at = strstr(in, from); at; at = strstr(at + length, from)) {
        bool before = at > in && (isalnum((unsigned char)at[-1]) || at[-1] == '_');
        bool after = isalnum((unsigned char)at[length]) || at[length] == '_';
        if (before || after)
            continue;
        out = text(a, "%s%.*s%s", out, (int)(at - done), done, to);
        done = at + length;
    }
    return text(a, "%s%s", out, done);
}

static void put(struct adjoint *a, const char **list, int *count, const char *factor)
{
    if (*count == MAX_FACTORS)
        (void)failed(a, HC_UNSUPPORTED, "a term of its gradient has too many factors");
    else
        list[(*count)++] = factor;
}

/* Takes the factor out of a list; false if it is not there. */
static bool drop(const char **list, int *count, const char *factor)
{
    for (int i = 0; i < *count; i++)
        if (strcmp(list[i], factor) == 0) {
            memmove(list + i, list + i + 1, (size_t)(*count - i - 1) * sizeof *list);
            --*count;
            return true;
        }
    return false;
}

static void times(struct adjoint *a, struct term *t, const char *factor)
{
    if (!drop(t->denominator, &t->below, factor))
        put(a, t->numerator, &t->above, factor);
}

static void over(struct adjoint *a, struct term *t, const char *factor)
{
    if (!drop(t->numerator, &t->above, factor))
        put(a, t->denominator, &t->below, factor);
}

/* The factors of an expression, above and below. */
static void factors(struct adjoint *a, struct term *t, const struct hc_expression *e, bool below)
{
    if (e->kind == HC_EXPRESSION_APPLY && e->function == HC_FN_mul) {
        factors(a, t, e->operand[0], below);
        factors(a, t, e->operand[1], below);
    } else if (e->kind == HC_EXPRESSION_APPLY && e->function == HC_FN_div) {
        factors(a, t, e->operand[0], below);
        factors(a, t, e->operand[1], !below);
    } else if (e->kind == HC_EXPRESSION_APPLY && e->function == HC_FN_negate) {
        t->coefficient = -t->coefficient;
        factors(a, t, e->operand[0], below);
    } else if (e->kind == HC_EXPRESSION_NUMBER && e->length == 1 && *e->at == '1') {
        return;
    } else {
        const char *factor = inside(a, e, 6);
        below ? over(a, t, factor) : times(a, t, factor);
    }
}

/* Gives a quotient that an equation has already the equation's name, with these axes. */
static void use_equations(struct adjoint *a, struct term *t)
{
    const struct hc_definition *d = a->definition;
    for (int k = d->inputs; k < d->tensors; k++) {
        const struct hc_defined_tensor *y = &d->tensor[k];
        struct term parts = {.coefficient = 1};
        struct term rest = *t;
        bool there = true;
        if (y->where || y->shift || y->scan >= 0)
            continue;
        factors(a, &parts, y->value, false);
        bool function =
            parts.above == 1 && (y->value->kind == HC_EXPRESSION_OVER ||
                                 (y->value->kind == HC_EXPRESSION_APPLY && level(y->value) == 9));
        if ((parts.below == 0 && !function) || parts.coefficient != 1)
            continue;
        for (int i = 0; i < parts.above; i++)
            there = there && drop(rest.numerator, &rest.above, parts.numerator[i]);
        for (int i = 0; i < parts.below; i++)
            there = there && drop(rest.denominator, &rest.below, parts.denominator[i]);
        if (!there)
            continue;
        const char *name = y->name;
        const char *places = "";
        for (int i = 0; i < y->rank; i++)
            places = text(a, "%s%s%s", places, i ? "," : "", d->axis[y->axis[i]].name);
        put(a, rest.numerator, &rest.above, y->rank ? text(a, "%s[%s]", name, places) : name);
        *t = rest;
        k = d->inputs - 1; /* it may be there twice */
    }
}

/* "a * b / (c * d)", without the coefficient. */
static const char *print_product(struct adjoint *a, const struct term *t)
{
    const char *above = "";
    const char *below = "";
    for (int i = 0; i < t->above; i++)
        above = text(a, "%s%s%s", above, i ? " * " : "", t->numerator[i]);
    for (int i = 0; i < t->below; i++)
        below = text(a, "%s%s%s", below, i ? " * " : "", t->denominator[i]);
    if (t->below == 0)
        return t->above ? above : "1";
    return text(a, t->below > 1 ? "%s / (%s)" : "%s / %s", t->above ? above : "1", below);
}

/* A term behind what has been written of its sum. */
static const char *print_term(struct adjoint *a, const char *sum, const struct term *t)
{
    const char *product = print_product(a, t);
    const char *sign = t->coefficient < 0 ? (*sum ? " - " : "-") : *sum ? " + " : "";
    double size = t->coefficient < 0 ? -t->coefficient : t->coefficient;
    if (size == 1)
        return text(a, "%s%s%s", sum, sign, product);
    return text(a, "%s%s%.17g * %s", sum, sign, size, product);
}

/* The right side of an equation: one factor alone needs no brackets. */
static const char *print_side(struct adjoint *a, const struct term *t)
{
    const char *side = print_term(a, "", t);
    size_t n = strlen(side);
    int open = 0;
    if (t->above != 1 || t->below || *side != '(')
        return side;
    for (size_t i = 0; i + 1 < n; i++) {
        open += (side[i] == '(') - (side[i] == ')');
        if (open == 0)
            return side;
    }
    return text(a, "%.*s", (int)n - 2, side + 1);
}

static bool has(const char *const *list, int count, const char *factor)
{
    for (int i = 0; i < count; i++)
        if (strcmp(list[i], factor) == 0)
            return true;
    return false;
}

static bool same_term(const struct term *x, const struct term *y)
{
    struct term rest = *y;
    if (x->above != y->above || x->below != y->below)
        return false;
    for (int i = 0; i < x->above; i++)
        if (!drop(rest.numerator, &rest.above, x->numerator[i]))
            return false;
    for (int i = 0; i < x->below; i++)
        if (!drop(rest.denominator, &rest.below, x->denominator[i]))
            return false;
    return true;
}

static void add_term(struct adjoint *a, struct gradient *g, const struct term *t)
{
    if (t->coefficient == 0)
        return;
    for (int i = 0; i < g->terms; i++)
        if (same_term(&g->term[i], t)) {
            g->term[i].coefficient += t->coefficient;
            return;
        }
    if (g->terms == MAX_TERMS)
        (void)failed(a, HC_UNSUPPORTED, "its gradient has too many terms");
    else
        g->term[g->terms++] = *t;
}

/* The gradient as one term: what all its terms have in common, and their sum as one factor more. */
static struct term as_term(struct adjoint *a, const struct gradient *g)
{
    struct term common = {.coefficient = 1};
    struct gradient rest = *g;
    const char *sum = "";
    if (g->terms == 1)
        return g->term[0];
    if (g->terms == 0)
        return (struct term){.coefficient = 0};
    for (int i = 0; i < g->term[0].above; i++) {
        const char *factor = g->term[0].numerator[i];
        bool all = true;
        for (int k = 0; k < rest.terms; k++)
            all = all && has(rest.term[k].numerator, rest.term[k].above, factor);
        if (!all)
            continue;
        put(a, common.numerator, &common.above, factor);
        for (int k = 0; k < rest.terms; k++)
            (void)drop(rest.term[k].numerator, &rest.term[k].above, factor);
    }
    for (int i = 0; i < g->term[0].below; i++) {
        const char *factor = g->term[0].denominator[i];
        bool all = true;
        for (int k = 0; k < rest.terms; k++)
            all = all && has(rest.term[k].denominator, rest.term[k].below, factor);
        if (!all)
            continue;
        put(a, common.denominator, &common.below, factor);
        for (int k = 0; k < rest.terms; k++)
            (void)drop(rest.term[k].denominator, &rest.term[k].below, factor);
    }
    /* A sum begins with what is added, if there is such a term. */
    for (int sign = 1; sign >= -1; sign -= 2)
        for (int k = 0; k < rest.terms; k++)
            if ((rest.term[k].coefficient < 0 ? -1 : 1) == sign)
                sum = print_term(a, sum, &rest.term[k]);
    put(a, common.numerator, &common.above, text(a, "(%s)", sum));
    return common;
}

/* The end of a way: a read of a tensor, whose gradient gets a term. */

static const char *fresh_axis(struct adjoint *a, const char *name)
{
    const char *extent = name;
    const char *made = text(a, "%s_", name);
    char capitals[HC_LONGEST_DEFINED_NAME + 2] = "";
    for (size_t i = 0; extent[i] && i < sizeof capitals - 1; i++)
        capitals[i] = (char)toupper((unsigned char)extent[i]);
    while (!a->failed &&
           (hc_definition_axis(a->definition, made) >= 0 ||
            hc_definition_tensor(a->definition, made) >= 0 || mentions(a->axes, made)))
        made = text(a, "%s_", made);
    char *lines = (char *)text(a, "%saxis %s = %s\n", a->axes, made, capitals);
    a->axes = lines;
    return made;
}

static void rename_axis(struct adjoint *a, struct way *w, const char **indices, int rank,
                        const char *from, const char *to)
{
    for (int i = 0; i < w->term.above; i++)
        w->term.numerator[i] = renamed(a, w->term.numerator[i], from, to);
    for (int i = 0; i < w->term.below; i++)
        w->term.denominator[i] = renamed(a, w->term.denominator[i], from, to);
    for (int i = 0; i < w->conditions; i++)
        w->condition[i] = renamed(a, w->condition[i], from, to);
    for (int i = 0; i < w->loops; i++)
        w->loop[i] = strcmp(w->loop[i], from) == 0 ? to : w->loop[i];
    for (int i = 0; i < rank; i++)
        indices[i] = renamed(a, indices[i], from, to);
}

/* Whether this is a sum of what is left when a mean is taken off, which is 0. */
static bool is_deviation(struct adjoint *a, const struct way *w, const struct term *within)
{
    const struct hc_definition *d = a->definition;
    if (w->loops != 1 || w->conditions || within->above != 1 || within->below)
        return false;
    for (int i = d->inputs; i < d->tensors; i++) {
        const struct hc_expression *e = d->tensor[i].value;
        if (e->kind != HC_EXPRESSION_OVER || e->reduction != HC_OVER_MEAN || e->operands > 1 ||
            strcmp(d->axis[e->axis].name, w->loop[0]) != 0)
            continue;
        const char *deviation = text(a, "(%s - %s)", print(a, e->operand[0]),
                                     with_axes(a, d->tensor[i].name, &d->tensor[i]));
        if (strcmp(within->numerator[0], deviation) == 0)
            return true;
    }
    return false;
}

/* Sums the term over the axes that are left. */
static struct term summed(struct adjoint *a, const struct way *w)
{
    struct term whole = w->term;
    use_equations(a, &whole);
    struct term outside = {.coefficient = whole.coefficient};
    struct term within = {.coefficient = 1};
    const char *conditions = "";
    const char *axes = "";
    for (int i = 0; i < w->conditions; i++)
        conditions = text(a, "%s%s%s", conditions, i ? " and " : "",
                          w->conditions > 1 && strstr(w->condition[i], " or ")
                              ? text(a, "(%s)", w->condition[i])
                              : w->condition[i]);
    for (int i = 0; i < w->loops; i++)
        axes = text(a, "%s%s%s", axes, i ? ", " : "", w->loop[i]);
    for (int i = 0; i < whole.above + whole.below; i++) {
        bool above = i < whole.above;
        const char *factor = above ? whole.numerator[i] : whole.denominator[i - whole.above];
        bool depends = false;
        for (int k = 0; k < w->loops; k++)
            depends = depends || mentions(factor, w->loop[k]);
        struct term *to = depends ? &within : &outside;
        put(a, above ? to->numerator : to->denominator, above ? &to->above : &to->below, factor);
    }
    if (w->loops) {
        use_equations(a, &within);
        if (is_deviation(a, w, &within))
            outside.coefficient = 0;
        put(a, outside.numerator, &outside.above,
            text(a, w->conditions ? "sum(%s: %s where %s)" : "sum(%s: %s)", axes,
                 print_product(a, &within), conditions));
    }
    use_equations(a, &outside);
    if (w->loops == 0 && w->conditions) {
        /* All of it, so that nothing is multiplied by 0 that is no number. */
        const char *chosen = text(a, "select(%s, %s, 0)", conditions, print_product(a, &outside));
        outside =
            (struct term){.coefficient = outside.coefficient, .above = 1, .numerator = {chosen}};
    }
    return outside;
}

/* Whether a sum in the text is over this axis. */
static bool binds(const char *in, const char *axis)
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

/* A name that nothing has yet: a prefix and another name. */
static const char *unused_name(struct adjoint *a, const char *prefix, const char *of)
{
    const char *name = text(a, "%s%s", prefix, of);
    while (!a->failed && (hc_definition_tensor(a->definition, name) >= 0 ||
                          hc_definition_option(a->definition, name) >= 0 ||
                          hc_definition_axis(a->definition, name) >= 0 || mentions(a->lines, name)))
        name = text(a, "%s_", name);
    return name;
}

/* A factor with a sum over an axis that has another meaning here gets an equation of its own. */
static const char *protected(struct adjoint *a, const struct way *w,
                             const struct hc_defined_tensor *x, const char *factor)
{
    const struct hc_definition *d = a->definition;
    const char *places = "";
    bool clash = false;
    for (int i = 0; i < w->loops; i++) {
        clash = clash || binds(factor, w->loop[i]);
        if (mentions(factor, w->loop[i]) && !binds(factor, w->loop[i]))
            places = text(a, "%s%s%s", places, *places ? "," : "", w->loop[i]);
    }
    for (int i = 0; i < x->rank; i++)
        clash = clash || binds(factor, d->axis[x->axis[i]].name);
    if (!clash)
        return factor;
    const char *name = unused_name(a, "sum_", a->equation->name);
    const char *element = *places ? text(a, "%s[%s]", name, places) : name;
    a->lines = text(a, "%s%s = %s\n", a->lines, element, factor);
    return element;
}

static void arrive(struct adjoint *a, const struct hc_expression *e, const struct way *from)
{
    const struct hc_definition *d = a->definition;
    const struct hc_defined_tensor *x = &d->tensor[e->tensor];
    const char *indices[HC_MAX_RANK];
    bool matched[HC_MAX_RANK] = {false};
    struct way way = *from;
    struct way *w = &way;
    if (x->shift)
        return; /* it cancels */
    for (int i = 0; i < e->operands; i++)
        indices[i] = print(a, e->operand[i]);
    for (int i = 0; i < w->term.above; i++)
        w->term.numerator[i] = protected(a, w, x, w->term.numerator[i]);
    for (int i = 0; i < w->term.below; i++)
        w->term.denominator[i] = protected(a, w, x, w->term.denominator[i]);
    for (int i = 0; i < x->rank; i++) {
        const char *own = d->axis[x->axis[i]].name;
        int loop = 0;
        while (loop < w->loops && strcmp(w->loop[loop], indices[i]) != 0)
            loop++;
        if (loop == w->loops)
            continue;
        /* The axis takes x's name; another one of that name makes way. */
        if (strcmp(w->loop[loop], own) != 0) {
            for (int k = 0; k < w->loops; k++)
                if (strcmp(w->loop[k], own) == 0)
                    rename_axis(a, w, indices, e->operands, own, fresh_axis(a, own));
            rename_axis(a, w, indices, e->operands, w->loop[loop], own);
        }
        matched[i] = true;
        memmove(w->loop + loop, w->loop + loop + 1,
                (size_t)(w->loops - loop - 1) * sizeof w->loop[0]);
        w->loops--;
    }
    for (int i = 0; i < x->rank; i++) {
        const char *own = d->axis[x->axis[i]].name;
        if (matched[i])
            continue;
        for (int k = 0; k < w->loops; k++)
            if (strcmp(w->loop[k], own) == 0)
                rename_axis(a, w, indices, e->operands, own, fresh_axis(a, own));
        put(a, w->condition, &w->conditions, text(a, "%s == %s", own, indices[i]));
    }
    struct term t = summed(a, w);
    add_term(a, &a->of[e->tensor], &t);
}

/* The derivatives, from the root of a right side to its reads. */

static bool reads(const struct hc_definition *d, const struct hc_expression *e)
{
    if (e->kind == HC_EXPRESSION_READ)
        return !d->tensor[e->tensor].index;
    for (int i = 0; i < e->operands; i++)
        if (reads(d, e->operand[i]))
            return true;
    return false;
}

static void go(struct adjoint *a, const struct hc_expression *e, struct way w);

static void go_times(struct adjoint *a, const struct hc_expression *e, struct way w,
                     double coefficient, const char *factor)
{
    w.term.coefficient *= coefficient;
    if (factor)
        times(a, &w.term, factor);
    go(a, e, w);
}

static void go_apply(struct adjoint *a, const struct hc_expression *e, struct way w)
{
    const struct hc_expression *x = e->operand[0];
    const struct hc_expression *y = e->operands > 1 ? e->operand[1] : NULL;
    const char *at = print(a, x);
    struct way other = w;
    switch ((int)e->function) {
    case HC_FN_add:
        go(a, x, w);
        go(a, y, w);
        return;
    case HC_FN_sub:
        go(a, x, w);
        go_times(a, y, w, -1, NULL);
        return;
    case HC_FN_negate:
        go_times(a, x, w, -1, NULL);
        return;
    case HC_FN_mul:
        factors(a, &w.term, y, false);
        go(a, x, w);
        factors(a, &other.term, x, false);
        go(a, y, other);
        return;
    case HC_FN_div:
        factors(a, &w.term, y, true);
        go(a, x, w);
        /* -(x / y) / y */
        factors(a, &other.term, e, false);
        factors(a, &other.term, y, true);
        go_times(a, y, other, -1, NULL);
        return;
    case HC_FN_sqrt:
        over(a, &w.term, print(a, e));
        go_times(a, x, w, 0.5, NULL);
        return;
    case HC_FN_exp:
        go_times(a, x, w, 1, print(a, e));
        return;
    case HC_FN_log:
        factors(a, &w.term, x, true);
        go(a, x, w);
        return;
    case HC_FN_log1p:
        over(a, &w.term, text(a, "(1 + %s)", at));
        go(a, x, w);
        return;
    case HC_FN_tanh:
        go_times(a, x, w, 1, text(a, "(1 - tanh(%s) * tanh(%s))", at, at));
        return;
    case HC_FN_sin:
        go_times(a, x, w, 1, text(a, "cos(%s)", at));
        return;
    case HC_FN_cos:
        go_times(a, x, w, -1, text(a, "sin(%s)", at));
        return;
    case HC_FN_erf:
        go_times(a, x, w, 2, text(a, "exp(-(%s) * (%s)) / sqrt(pi)", at, at));
        return;
    case HC_FN_abs:
        go_times(a, x, w, 1, text(a, "select(%s >= 0, 1, -1)", inside(a, x, 4)));
        return;
    case HC_FN_min:
    case HC_FN_max: {
        const char *sign = e->function == HC_FN_max ? ">=" : "<=";
        const char *order = text(a, "%s %s %s", inside(a, x, 4), sign, inside(a, y, 4));
        go_times(a, x, w, 1, text(a, "select(%s, 1, 0)", order));
        go_times(a, y, w, 1, text(a, "select(%s, 0, 1)", order));
        return;
    }
    case HC_FN_select:
        put(a, w.condition, &w.conditions, at);
        put(a, other.condition, &other.conditions, text(a, "not (%s)", at));
        go(a, y, w);
        go(a, e->operand[2], other);
        return;
    case HC_FN_floor:
        return;
    default:
        (void)failed(a, HC_UNSUPPORTED, "its gradient needs a derivative that is not there");
    }
}

/* The number that a max or a min is: the equation's tensor, if it is its right side. The largest
   over several axes is one number, whose innermost part is `e`. */
static const char *extreme(struct adjoint *a, const struct hc_expression *e, const struct way *w)
{
    const struct hc_expression *whole = a->equation->value;
    while (whole != e && whole->kind == HC_EXPRESSION_OVER && whole->reduction == e->reduction)
        whole = whole->operand[0];
    if (whole == e && !a->equation->where)
        return with_axes(a, a->equation->name, a->equation);
    const char *of = print(a, e);
    const char *places = "";
    for (int i = 0; i < w->loops; i++)
        if (mentions(of, w->loop[i]) && !binds(of, w->loop[i]))
            places = text(a, "%s%s%s", places, *places ? "," : "", w->loop[i]);
    const char *name = unused_name(a, hc_reduction_names[e->reduction], a->equation->name);
    const char *element = *places ? text(a, "%s[%s]", name, places) : name;
    a->lines = text(a, "%s%s = %s\n", a->lines, element, of);
    return element;
}

static void go_over(struct adjoint *a, const struct hc_expression *e, struct way w)
{
    const char *axis = a->definition->axis[e->axis].name;
    const struct hc_expression *body = e->operand[0];
    const char *of = print(a, body);
    if (w.loops == MAX_LOOPS) {
        (void)failed(a, HC_UNSUPPORTED, "too many sums are nested for its gradient");
        return;
    }
    if (e->reduction == HC_OVER_MEAN) {
        struct hc_expression extent = {.kind = HC_EXPRESSION_EXTENT, .axis = e->axis};
        over(a, &w.term,
             e->operands > 1 ? text(a, "count(%s: %s)", axis, print(a, e->operand[1]))
                             : print(a, &extent));
    } else if (e->reduction == HC_OVER_PROD) {
        times(a, &w.term, print(a, e));
        factors(a, &w.term, body, true);
    } else if (e->reduction == HC_OVER_MAX || e->reduction == HC_OVER_MIN) {
        if (body->kind != HC_EXPRESSION_OVER || body->reduction != e->reduction)
            times(a, &w.term, text(a, "select(%s == %s, 1, 0)", of, extreme(a, e, &w)));
    }
    if (e->operands > 1)
        put(a, w.condition, &w.conditions, print(a, e->operand[1]));
    w.loop[w.loops++] = axis;
    go(a, body, w);
}

static void go(struct adjoint *a, const struct hc_expression *e, struct way w)
{
    if (a->failed || !reads(a->definition, e))
        return;
    switch (e->kind) {
    case HC_EXPRESSION_READ:
        arrive(a, e, &w);
        return;
    case HC_EXPRESSION_STORE: /* a rounding lets the gradient through */
        go(a, e->operand[0], w);
        return;
    case HC_EXPRESSION_OVER:
        go_over(a, e, w);
        return;
    case HC_EXPRESSION_APPLY:
        go_apply(a, e, w);
        return;
    default:
        return;
    }
}

/* Reads of numbers through which a gradient goes on. */
static int reads_of_numbers(const struct hc_definition *d, const struct hc_expression *e)
{
    int count =
        e->kind == HC_EXPRESSION_READ && !d->tensor[e->tensor].index && !d->tensor[e->tensor].shift;
    for (int i = 0; i < e->operands; i++)
        count += reads_of_numbers(d, e->operand[i]);
    return count;
}

/* A name for the gradient of a tensor: d and its name. */
static const char *gradient_name(struct adjoint *a, const char *prefix, const char *of)
{
    const char *name = text(a, "%s%s", prefix, of);
    while (!a->failed && (hc_definition_tensor(a->definition, name) >= 0 ||
                          hc_definition_option(a->definition, name) >= 0 ||
                          hc_definition_axis(a->definition, name) >= 0))
        name = text(a, "%s_", name);
    return name;
}

/* Gives the factors that have a sum in them an equation of their own: it is computed once for all
   places that use it. */
static void name_sums(struct adjoint *a, const struct hc_defined_tensor *t, struct term *whole)
{
    struct term sums = {.coefficient = 1};
    for (int i = 0; i < whole->above; i++)
        if (strstr(whole->numerator[i], "sum("))
            put(a, sums.numerator, &sums.above, whole->numerator[i]);
    if (sums.above == 0)
        return;
    for (int i = 0; i < sums.above; i++)
        (void)drop(whole->numerator, &whole->above, sums.numerator[i]);
    const char *name = with_axes(a, unused_name(a, "sum_", t->name), t);
    put(a, whole->numerator, &whole->above, name);
    a->lines = text(a, "%s%s = %s\n", a->lines, name, print_side(a, &sums));
}

/* Differentiates the equation of one tensor, whose gradient is complete. */
static void differentiate(struct adjoint *a, int tensor)
{
    const struct hc_definition *d = a->definition;
    const struct hc_defined_tensor *t = &d->tensor[tensor];
    struct way w = {.loops = 0};
    struct term whole = as_term(a, &a->of[tensor]);
    if (whole.coefficient == 0 || t->shift)
        return;
    if (t->scan >= 0) {
        (void)failed(a, HC_UNSUPPORTED, "the gradient of a scan is not there yet");
        return;
    }
    use_equations(a, &whole);
    name_sums(a, t, &whole);
    bool given =
        a->of[tensor].terms == 1 && whole.above == 1 && whole.below == 0 && whole.coefficient == 1;
    if (reads_of_numbers(d, t->value) > 1 && !given) {
        const char *name = with_axes(a, a->name[tensor], t);
        a->lines = text(a, "%s%s = %s\n", a->lines, name, print_side(a, &whole));
        whole = (struct term){.coefficient = 1, .above = 1, .numerator = {name}};
    }
    w.term = whole;
    for (int i = 0; i < t->rank; i++)
        w.loop[w.loops++] = d->axis[t->axis[i]].name;
    if (t->where)
        put(a, w.condition, &w.conditions, print(a, t->where));
    a->equation = t;
    go(a, t->value, w);
}

static const char *head(struct adjoint *a)
{
    const struct hc_definition *d = a->definition;
    const char *line = text(a, "op %s_grad(", d->name);
    for (int i = 0; i < d->inputs; i++) {
        const struct hc_defined_tensor *t = &d->tensor[i];
        line = text(a, "%s%s%s%s%s%s", line, i ? ", " : "", with_axes(a, t->name, t),
                    t->index ? ": index" : "", t->index_axis >= 0 ? " " : "",
                    t->index_axis >= 0 ? d->axis[t->index_axis].name : "");
    }
    for (int i = 0; i < d->results; i++) {
        const struct hc_defined_tensor *t = &d->tensor[d->result[i]];
        line = text(a, "%s, %s", line, with_axes(a, gradient_name(a, "d", t->name), t));
    }
    for (int i = 0; i < d->options; i++)
        line = text(a, "%s%s %s = %s", line, i ? "," : ";", d->option[i].name,
                    print(a, d->option[i].value));
    return text(a, "%s)\n", line);
}

/* Whether a gradient that is given has the axis. */
static bool of_result(const struct hc_definition *d, int axis)
{
    for (int r = 0; r < d->results; r++)
        for (int i = 0; i < d->tensor[d->result[r]].rank; i++)
            if (d->tensor[d->result[r]].axis[i] == axis)
                return true;
    return false;
}

static const char *write(struct adjoint *a)
{
    const struct hc_definition *d = a->definition;
    const char *forward = "";
    const char *results = "";
    for (int i = 0; i < d->axes; i++)
        if (d->axis[i].extent && !of_result(d, i))
            forward =
                text(a, "%saxis %s = %s\n", forward, d->axis[i].name, print(a, d->axis[i].extent));
    for (int i = d->inputs; i < d->tensors; i++)
        forward = text(a, "%s%.*s\n", forward, d->tensor[i].length, d->tensor[i].at);
    for (int i = 0; i < d->results; i++) {
        const struct hc_defined_tensor *t = &d->tensor[d->result[i]];
        struct term given = {.coefficient = 1,
                             .above = 1,
                             .numerator = {with_axes(a, gradient_name(a, "d", t->name), t)}};
        add_term(a, &a->of[d->result[i]], &given);
    }
    for (int i = 0; i < d->tensors; i++)
        a->name[i] = gradient_name(a, d->tensor[i].returned ? "g" : "d", d->tensor[i].name);
    for (int i = d->tensors - 1; i >= d->inputs && !a->failed; i--)
        differentiate(a, i);
    for (int i = 0; i < d->inputs && !a->failed; i++) {
        const struct hc_defined_tensor *t = &d->tensor[i];
        struct term whole = as_term(a, &a->of[i]);
        if (t->index)
            continue;
        use_equations(a, &whole);
        a->lines = text(a, "%s%s = %s\n", a->lines, with_axes(a, a->name[i], t),
                        whole.coefficient == 0 ? "0" : print_side(a, &whole));
        results = text(a, "%s%s%s", results, *results ? ", " : "", a->name[i]);
    }
    return text(a, "%s%s%s%sreturn %s\n", head(a), forward, a->axes, a->lines, results);
}

/* Takes away the equations that nothing reads, the last first, until all are read. */
static char *without_unused(char *whole)
{
    struct hc_formula_error error;
    struct hc_definition *d;
    while (!(d = hc_definition_read(whole, &error)) && strstr(error.what, " is not used")) {
        char *from = whole + error.at;
        while (from > whole && from[-1] != '\n')
            from--;
        /* An equation may take several lines. */
        char *to = strchr(whole + error.at + (from == whole ? 0 : error.length - 1), '\n');
        if (!to)
            return whole;
        if (from == whole) {
            from = whole + error.at;
            to = from + strcspn(from, ",;)");
            char *bracket = strchr(from, '[');
            to = bracket && bracket < to ? strchr(bracket, ']') + 1 : to;
            to += *to == ',' ? 1 : 0;
            to += *to == ' ' ? 0 : -1;
        }
        memmove(from, to + 1, strlen(to + 1) + 1);
    }
    hc_definition_free(d);
    return whole;
}

enum hc_status hc_adjoint_text(const struct hc_definition *definition, char **text_out)
{
    struct adjoint *a = calloc(1, sizeof *a);
    static char none[] = "";
    *text_out = NULL;
    if (!a)
        return hc_fail(HC_NO_MEMORY, "no memory for a gradient");
    a->definition = definition;
    a->axes = none;
    a->lines = "";
    const char *whole = write(a);
    enum hc_status status = a->failed ? a->status : HC_OK;
    if (status == HC_OK) {
        *text_out = strdup(whole);
        if (*text_out)
            *text_out = without_unused(*text_out);
        else
            status = hc_fail(HC_NO_MEMORY, "no memory for a gradient");
    }
    for (int i = 0; i < a->texts; i++)
        free(a->kept[i]);
    free(a);
    return status;
}
