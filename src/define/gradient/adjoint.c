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
#include "define/gradient/adjoint.h"

#include <assert.h>
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "define/gradient/term.h"

/* The end of a way: a read of a tensor, whose gradient gets a term. */

/* Another axis of the same extent. */
static const char *fresh_axis(struct hc_adjoint *a, const char *name)
{
    const char *made = hc_text_of(a, "%s_", name);
    while (!a->failed &&
           (hc_definition_axis(a->definition, made) >= 0 ||
            hc_definition_tensor(a->definition, made) >= 0 || hc_text_mentions(a->axes, made)))
        made = hc_text_of(a, "%s_", made);
    struct hc_expression extent = {.kind = HC_EXPRESSION_EXTENT,
                                   .axis = hc_definition_axis(a->definition, name)};
    a->axes = hc_text_of(a, "%saxis %s = %s\n", a->axes, made, hc_adjoint_print(a, &extent));
    return made;
}

static void rename_axis(struct hc_adjoint *a, struct hc_way *w, const char **indices, int rank,
                        const char *from, const char *to)
{
    for (int i = 0; i < w->term.above; i++)
        w->term.numerator[i] = hc_text_renamed(a, w->term.numerator[i], from, to);
    for (int i = 0; i < w->term.below; i++)
        w->term.denominator[i] = hc_text_renamed(a, w->term.denominator[i], from, to);
    for (int i = 0; i < w->conditions; i++)
        w->condition[i] = hc_text_renamed(a, w->condition[i], from, to);
    for (int i = 0; i < w->loops; i++)
        w->loop[i] = strcmp(w->loop[i], from) == 0 ? to : w->loop[i];
    for (int i = 0; i < rank; i++)
        indices[i] = hc_text_renamed(a, indices[i], from, to);
}

/* Whether this is a sum of what is left when a mean is taken off, which is 0. */
static bool is_deviation(struct hc_adjoint *a, const struct hc_way *w, const struct hc_term *within)
{
    const struct hc_definition *d = a->definition;
    if (w->conditions || within->above != 1 || within->below)
        return false;
    for (int i = d->inputs; i < d->tensors; i++) {
        const struct hc_expression *e = d->tensor[i].value;
        bool mean = e->mean || (e->kind == HC_EXPRESSION_OVER && e->reduction == HC_OVER_MEAN);
        int axes = 0;
        if (e->mean) /* over several axes: the quotient of a sum */
            e = e->operand[0];
        for (; mean && e->kind == HC_EXPRESSION_OVER; e = e->operand[0], axes++)
            mean = axes < w->loops && e->operands == 1 &&
                   strcmp(d->axis[e->axis].name, w->loop[axes]) == 0;
        if (!mean || axes != w->loops)
            continue;
        const char *deviation = hc_text_of(a, "(%s - %s)", hc_adjoint_print(a, e),
                                           hc_adjoint_element(a, d->tensor[i].name, &d->tensor[i]));
        if (strcmp(within->numerator[0], deviation) == 0)
            return true;
    }
    return false;
}

/* Sums the term over the axes that are left. */
static struct hc_term summed(struct hc_adjoint *a, const struct hc_way *w)
{
    struct hc_term whole = w->term;
    hc_term_use_equations(a, &whole);
    struct hc_term outside = {.coefficient = whole.coefficient};
    struct hc_term within = {.coefficient = 1};
    const char *conditions = "";
    const char *axes = "";
    for (int i = 0; i < w->conditions; i++)
        conditions = hc_text_of(a, "%s%s%s", conditions, i ? " and " : "",
                                w->conditions > 1 && strstr(w->condition[i], " or ")
                                    ? hc_text_of(a, "(%s)", w->condition[i])
                                    : w->condition[i]);
    for (int i = 0; i < w->loops; i++)
        axes = hc_text_of(a, "%s%s%s", axes, i ? ", " : "", w->loop[i]);
    for (int i = 0; i < whole.above + whole.below; i++) {
        bool above = i < whole.above;
        const char *factor = above ? whole.numerator[i] : whole.denominator[i - whole.above];
        bool depends = false;
        for (int k = 0; k < w->loops; k++)
            depends = depends || hc_text_mentions(factor, w->loop[k]);
        struct hc_term *to = depends ? &within : &outside;
        hc_term_put(a, above ? to->numerator : to->denominator, above ? &to->above : &to->below,
                    factor);
    }
    if (w->loops) {
        hc_term_use_equations(a, &within);
        if (is_deviation(a, w, &within))
            outside.coefficient = 0;
        hc_term_put(a, outside.numerator, &outside.above,
                    hc_text_of(a, w->conditions ? "sum(%s: %s where %s)" : "sum(%s: %s)", axes,
                               hc_term_product(a, &within), conditions));
    }
    hc_term_use_equations(a, &outside);
    if (w->loops == 0 && w->conditions) {
        /* All of it, so that nothing is multiplied by 0 that is no number. */
        outside = hc_term_chosen(a, outside.coefficient, conditions, hc_term_product(a, &outside));
    }
    return outside;
}

/* A factor or a condition with a sum over an axis that has another meaning here gets an equation of
   its own. The equation of a condition is 1 or 0. */
static const char *protected(struct hc_adjoint *a, const struct hc_way *w,
                             const struct hc_defined_tensor *x, const char *factor,
                             bool is_condition)
{
    const struct hc_definition *d = a->definition;
    const char *places = "";
    bool clash = false;
    for (int i = 0; i < w->loops; i++) {
        clash = clash || hc_text_binds(factor, w->loop[i]);
        if (hc_text_mentions(factor, w->loop[i]) && !hc_text_binds(factor, w->loop[i]))
            places = hc_text_of(a, "%s%s%s", places, *places ? "," : "", w->loop[i]);
    }
    for (int i = 0; i < x->rank; i++)
        clash = clash || hc_text_binds(factor, d->axis[x->axis[i]].name);
    if (!clash)
        return factor;
    const char *right = is_condition ? hc_text_of(a, "select(%s, 1, 0)", factor) : factor;
    const char *element = hc_adjoint_line(a, "sum_", places, right);
    return is_condition ? hc_text_of(a, "%s == 1", element) : element;
}

void hc_adjoint_arrive(struct hc_adjoint *a, const struct hc_expression *e,
                       const struct hc_way *from)
{
    const struct hc_definition *d = a->definition;
    const struct hc_defined_tensor *x = &d->tensor[e->tensor];
    const char *indices[HC_MAX_RANK] = {"", "", "", ""};
    bool matched[HC_MAX_RANK] = {false};
    struct hc_way way = *from;
    struct hc_way *w = &way;
    bool itself = x == a->equation;
    if (x->shift || itself != (a->before != NULL))
        return; /* a shift cancels; and a scan's own element before has its turn */
    for (int i = 0; i < e->operands; i++) {
        indices[i] = hc_adjoint_print(a, e->operand[i]);
        if (x->scan >= 0 && !itself && x->axis[i] == x->scan && hc_expression_reads(d, x->before) &&
            e->operand[i]->kind != HC_EXPRESSION_AXIS) {
            (void)hc_adjoint_fail(a, HC_UNSUPPORTED,
                                  "its gradient would need that of what a scan starts from, which "
                                  "is read outside of it");
            return;
        }
    }
    hc_term_use_equations(a, &w->term);
    for (int i = 0; i < w->term.above; i++)
        w->term.numerator[i] = protected(a, w, x, w->term.numerator[i], false);
    for (int i = 0; i < w->term.below; i++)
        w->term.denominator[i] = protected(a, w, x, w->term.denominator[i], false);
    for (int i = 0; i < w->conditions; i++)
        w->condition[i] = protected(a, w, x, w->condition[i], true);
    for (int i = 0; i < x->rank; i++) {
        const char *own = d->axis[x->axis[i]].name;
        int loop = 0;
        /* A scan reads its own element before, at the same place otherwise. */
        if (itself)
            indices[i] = own;
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
        hc_term_put(a, w->condition, &w->conditions, hc_text_of(a, "%s == %s", own, indices[i]));
    }
    struct hc_term t = summed(a, w);
    hc_gradient_add(a, a->before ? a->before : &a->of[e->tensor], &t);
}

/* Gives the factors that have a sum in them an equation of their own: it is computed once for all
   places that use it. If there are no others it is the gradient. */
static void name_sums(struct hc_adjoint *a, int tensor, struct hc_term *whole)
{
    const struct hc_defined_tensor *t = &a->definition->tensor[tensor];
    struct hc_term sums = {.coefficient = 1};
    for (int i = 0; i < whole->above; i++)
        if (strstr(whole->numerator[i], "sum("))
            hc_term_put(a, sums.numerator, &sums.above, whole->numerator[i]);
    if (sums.above == 0)
        return;
    for (int i = 0; i < sums.above; i++)
        (void)hc_term_drop(whole->numerator, &whole->above, sums.numerator[i]);
    bool all = whole->above + whole->below == 0 && whole->coefficient == 1;
    const char *name = all ? a->name[tensor] : hc_adjoint_new_name(a, "sum_", t->name);
    name = hc_adjoint_element(a, name, t);
    hc_term_put(a, whole->numerator, &whole->above, name);
    a->lines = hc_text_of(a, "%s%s = %s\n", a->lines, name, hc_term_side(a, &sums));
}

/* A term at another place along the scan's axis. */
static struct hc_term at_place(struct hc_adjoint *a, struct hc_term t, const char *axis,
                               const char *place)
{
    for (int i = 0; i < t.above; i++)
        t.numerator[i] = hc_text_renamed(a, t.numerator[i], axis, place);
    for (int i = 0; i < t.below; i++)
        t.denominator[i] = hc_text_renamed(a, t.denominator[i], axis, place);
    return t;
}

/* The gradient of h[t] is what comes from outside, and what h[t+1] passes on: its derivative by
   h[t], D[t+1], times its own. So it is a scan from the last place to the first; written over
   places that count from the end, as `back`, it runs forwards:

     back[-1] = 0
     scan t: back[t] = dh[T-1-t] + D[T-t] back[t-1]

   and the gradient of h[t] is back[T-1-t]. What the scan starts from gets D[0] back[T-1]. */
static void differentiate_scan(struct hc_adjoint *a, int tensor, struct hc_term outside)
{
    const struct hc_definition *d = a->definition;
    const struct hc_defined_tensor *t = &d->tensor[tensor];
    const char *axis = d->axis[t->scan].name;
    const char *extent =
        hc_adjoint_print(a, &(struct hc_expression){.kind = HC_EXPRESSION_EXTENT, .axis = t->scan});
    const char *from_end = hc_text_of(a, "(%s - 1 - %s)", extent, axis);
    struct hc_gradient passed = {.terms = 0};
    struct hc_way w = {.term = {.coefficient = 1}};
    if (t->where) {
        (void)hc_adjoint_fail(a, HC_UNSUPPORTED,
                              "the gradient of a scan with `where` is not there");
        return;
    }
    for (int i = 0; i < t->rank; i++)
        w.loop[w.loops++] = d->axis[t->axis[i]].name;
    a->equation = t;
    a->before = &passed;
    hc_adjoint_go(a, t->value, w);
    a->before = NULL;
    const char *name = hc_adjoint_new_name(a, "back_", t->name);
    const char *element = hc_adjoint_element(a, name, t);
    const char *start = hc_text_renamed(a, element, axis, "-1");
    struct hc_term here = at_place(a, outside, axis, from_end);
    struct hc_term slope = hc_gradient_term(a, &passed);
    struct hc_term next = at_place(a, slope, axis, hc_text_of(a, "(%s - %s)", extent, axis));
    hc_term_times(a, &next, hc_text_renamed(a, element, axis, hc_text_of(a, "%s - 1", axis)));
    const char *sum = hc_term_print(a, "", &here);
    if (slope.coefficient != 0)
        sum = hc_text_of(a, "%s + select(%s > 0, %s, 0)", sum, axis, hc_term_print(a, "", &next));
    a->lines = hc_text_of(a, "%s%s = 0\nscan %s: %s = %s\n", a->lines, start, axis, element, sum);
    w.term = (struct hc_term){
        .coefficient = 1, .above = 1, .numerator = {hc_text_renamed(a, element, axis, from_end)}};
    hc_adjoint_go(a, t->value, w);
    w.term = at_place(a, slope, axis, "0");
    hc_term_times(a, &w.term, hc_text_renamed(a, element, axis, hc_text_of(a, "%s - 1", extent)));
    w.loops = 0;
    for (int i = 0; i < t->rank; i++)
        if (t->axis[i] != t->scan)
            w.loop[w.loops++] = d->axis[t->axis[i]].name;
    if (slope.coefficient != 0)
        hc_adjoint_go(a, t->before, w);
}

/* Whether a factor is an element, or a number, which needs no other name. */
static bool is_element(const char *factor)
{
    while (isalnum((unsigned char)*factor) || *factor == '_')
        factor++;
    return *factor == '\0' || *factor == '[';
}

/* Differentiates the equation of one tensor, whose gradient is complete. */
static void differentiate(struct hc_adjoint *a, int tensor)
{
    const struct hc_definition *d = a->definition;
    const struct hc_defined_tensor *t = &d->tensor[tensor];
    struct hc_way w = {.loops = 0};
    struct hc_term whole = hc_gradient_term(a, &a->of[tensor]);
    if (whole.coefficient == 0 || t->shift)
        return;
    if (t->scan >= 0) {
        differentiate_scan(a, tensor, whole);
        return;
    }
    hc_term_use_equations(a, &whole);
    name_sums(a, tensor, &whole);
    bool given = whole.above == 1 && whole.below == 0 && whole.coefficient == 1 &&
                 is_element(whole.numerator[0]);
    if (hc_expression_reads_numbers(d, t->value) > 1 && !given) {
        const char *name = hc_adjoint_element(a, a->name[tensor], t);
        a->lines = hc_text_of(a, "%s%s = %s\n", a->lines, name, hc_term_side(a, &whole));
        whole = (struct hc_term){.coefficient = 1, .above = 1, .numerator = {name}};
    }
    w.term = whole;
    for (int i = 0; i < t->rank; i++)
        w.loop[w.loops++] = d->axis[t->axis[i]].name;
    if (t->where)
        hc_term_put(a, w.condition, &w.conditions, hc_adjoint_print(a, t->where));
    a->equation = t;
    hc_adjoint_go(a, t->value, w);
}

static const char *head(struct hc_adjoint *a)
{
    const struct hc_definition *d = a->definition;
    const char *line = hc_text_of(a, "op %s_grad(", d->name);
    for (int i = 0; i < d->inputs; i++) {
        const struct hc_defined_tensor *t = &d->tensor[i];
        line = hc_text_of(a, "%s%s%s%s%s%s", line, i ? ", " : "", hc_adjoint_element(a, t->name, t),
                          t->index ? ": index" : "", t->index_axis >= 0 ? " " : "",
                          t->index_axis >= 0 ? d->axis[t->index_axis].name : "");
    }
    for (int i = 0; i < d->results; i++)
        line = hc_text_of(a, "%s, %s: gradient", line, a->given[i]);
    for (int i = 0; i < d->options; i++)
        line = hc_text_of(a, "%s%s %s = %s", line, i ? "," : ";", d->option[i].name,
                          hc_adjoint_print(a, d->option[i].value));
    return hc_text_of(a, "%s)\n", line);
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

static const char *write(struct hc_adjoint *a)
{
    const struct hc_definition *d = a->definition;
    const char *forward = "";
    const char *results = "";
    for (int i = 0; i < d->axes; i++)
        if (d->axis[i].extent && !of_result(d, i))
            forward = hc_text_of(a, "%saxis %s = %s\n", forward, d->axis[i].name,
                                 hc_adjoint_print(a, d->axis[i].extent));
    for (int i = d->inputs; i < d->tensors; i++)
        forward = hc_text_of(a, "%s%.*s\n", forward, d->tensor[i].length, d->tensor[i].at);
    for (int i = 0; i < d->results; i++) {
        const struct hc_defined_tensor *t = &d->tensor[d->result[i]];
        a->given[i] = hc_adjoint_element(a, hc_adjoint_new_name(a, "d", t->name), t);
        struct hc_term given = {.coefficient = 1, .above = 1, .numerator = {a->given[i]}};
        hc_gradient_add(a, &a->of[d->result[i]], &given);
    }
    for (int i = 0; i < d->tensors; i++)
        a->name[i] = hc_adjoint_new_name(a, d->tensor[i].returned ? "g" : "d", d->tensor[i].name);
    for (int i = d->tensors - 1; i >= d->inputs && !a->failed; i--)
        differentiate(a, i);
    for (int i = 0; i < d->inputs && !a->failed; i++) {
        const struct hc_defined_tensor *t = &d->tensor[i];
        struct hc_term whole = hc_gradient_term(a, &a->of[i]);
        if (t->index)
            continue;
        hc_term_use_equations(a, &whole);
        a->lines = hc_text_of(a, "%s%s = %s\n", a->lines, hc_adjoint_element(a, a->name[i], t),
                              whole.coefficient == 0 ? "0" : hc_term_side(a, &whole));
        results = hc_text_of(a, "%s%s%s", results, *results ? ", " : "", a->name[i]);
    }
    return hc_text_of(a, "%s%s%s%sreturn %s\n", head(a), forward, a->axes, a->lines, results);
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
            to += strcspn(to, ",;)");                                  /* what stands behind ":" */
            while (*to != ',' && (from[-1] == ' ' || from[-1] == ',')) /* the last input */
                from--;
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
    struct hc_adjoint *a = calloc(1, sizeof *a);
    *text_out = NULL;
    for (int i = 0; a && i < definition->expressions; i++)
        if (definition->expression[i]->kind == HC_EXPRESSION_OVER &&
            definition->expression[i]->reduction == HC_OVER_ARGMAX) {
            free(a);
            return hc_fail(HC_UNSUPPORTED, "%s: argmax has no gradient", definition->name);
        }
    if (!a)
        return hc_fail(HC_NO_MEMORY, "no memory for a gradient");
    a->definition = definition;
    a->axes = a->lines = "";
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
