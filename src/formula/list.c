/* Lists, and the terms of sum(n, f), tree(n, f), distinct(n, f) and so on.

   A term that contains no list of its own is computed for a block of i at once, element by element:
   an op is called once for the block. Otherwise it is computed for one i after the other. Both are
   the same operations. Blocks keep the memory of a long sum's terms small. */
#include <stdlib.h>

#include "formula/evaluation.h"

enum { BLOCK = 4096 };

struct hc_value *hc_list_of(struct hc_evaluation *e, const struct hc_node *node)
{
    int n = node->operands;
    const struct hc_node *const *of = (const struct hc_node *const *)node->operand;
    struct hc_value **x = calloc((size_t)n + 1, sizeof(struct hc_value *));
    struct hc_value *y = NULL;
    if (!x)
        return hc_lack(e, hc_fail(HC_NO_MEMORY, "no memory for a list of %d", n));
    bool done = true;
    for (int k = 0; done && k < n; k++) {
        x[k] = hc_walk(e, of[k]);
        done = x[k] != NULL;
        if (done && x[k]->list)
            done = hc_wrong(e, of[k], "an element of a list is a number, and this is a list");
    }
    if (done && hc_unite(e, node, of, x, n) && (y = hc_new_value(e, true, n)) != NULL)
        hc_value_like(y, x[0]);
    for (int k = 0; y && k < n; k++)
        hc_value_copy(y, k, x[k], 0);
    free(x);
    return y;
}

struct hc_value *hc_list_at(struct hc_evaluation *e, const struct hc_node *node)
{
    const struct hc_value *x = hc_walk(e, node->operand[0]);
    const struct hc_value *k = x ? hc_walk(e, node->operand[1]) : NULL;
    if (!k)
        return NULL;
    if (!x->list)
        return hc_wrong(e, node->operand[0], "this is a number, and not a list");
    struct hc_value *y = hc_new_value(e, k->list, k->n);
    if (!y)
        return NULL;
    hc_value_like(y, x);
    for (int64_t i = 0; i < k->n; i++) {
        int64_t j;
        if (!hc_integer_of(e, node->operand[1], k, i, 0, x->n - 1, &j))
            return NULL;
        hc_value_copy(y, i, x, j);
    }
    return y;
}

static bool folds_list(const struct hc_node *node)
{
    enum hc_function f = node->function;
    return hc_functions[f].kind == HC_FUNCTION_LIST || hc_functions[f].kind == HC_FUNCTION_SCALE ||
           ((f == HC_FN_min || f == HC_FN_max) && node->operands == 1);
}

/* Whether a term can be computed for all i at once: the only lists in it are those that x[...]
   takes a number from. */
static bool is_flat(const struct hc_evaluation *e, const struct hc_node *node)
{
    bool applies = node->kind == HC_NODE_APPLY;
    if (node->kind == HC_NODE_LIST || node->kind == HC_NODE_OVER)
        return false;
    if (node->kind == HC_NODE_NAME)
        return !e->name[node->name].read || !e->name[node->name].read->list;
    if (node->kind == HC_NODE_AT)
        return node->operand[0]->kind == HC_NODE_NAME && is_flat(e, node->operand[1]);
    if (applies && node->function == HC_FN_len)
        return node->operand[0]->kind == HC_NODE_NAME;
    bool flat = !applies || !folds_list(node);
    for (int k = 0; flat && k < node->operands; k++)
        flat = is_flat(e, node->operand[k]);
    return flat;
}

/* The term for i = first, first + 1, ..., one element each; of a single i it is a scalar. */
static struct hc_value *some_terms(struct hc_evaluation *e, const struct hc_node *node,
                                   int64_t first, int64_t n)
{
    struct hc_named before = e->name[node->name];
    struct hc_value *index = hc_new_value(e, n > 1, n);
    if (!index)
        return NULL;
    index->constant = true;
    for (int64_t i = 0; i < n; i++) {
        hc_real_set(index->real[i], (double)(first + i));
        index->real_rad[i] = 0;
    }
    e->name[node->name] = (struct hc_named){index, index};
    struct hc_value *v = hc_walk(e, node->operand[1]);
    e->name[node->name] = before;
    return v;
}

/* All terms; a scalar if a flat term does not depend on i. */
static struct hc_value *all_terms(struct hc_evaluation *e, const struct hc_node *node, int64_t n)
{
    bool flat = is_flat(e, node->operand[1]);
    int64_t most = flat ? BLOCK : 1;
    if (flat && n <= BLOCK)
        return some_terms(e, node, 0, n);
    struct hc_value *terms = hc_new_value(e, true, n);
    int mark = e->values.count;
    for (int64_t first = 0; terms && first < n; first += most) {
        int64_t some = n - first < most ? n - first : most;
        struct hc_value *v = some_terms(e, node, first, some);
        if (!v || (flat && !v->list && some > 1))
            return v;
        if (!flat && v->list)
            return hc_wrong(e, node->operand[1], "a term is a number, and this is a list");
        hc_value_like(terms, v);
        for (int64_t i = 0; i < some; i++)
            hc_value_copy(terms, first + i, v, i);
        hc_values_release(&e->values, mark, NULL);
    }
    return terms;
}

struct hc_value *hc_over(struct hc_evaluation *e, const struct hc_node *node)
{
    int64_t n;
    const struct hc_value *terms = hc_walk(e, node->operand[0]);
    if (!terms || !hc_integer_of(e, node->operand[0], terms, 0, 1, HC_MAX_TERMS, &n))
        return NULL;
    e->terms += n;
    if (e->terms > HC_MAX_STEP_TERMS)
        return hc_wrong(e, node, "the sums of one step have more than %d terms", HC_MAX_STEP_TERMS);
    const struct hc_node *term = node->operand[1];
    struct hc_value *v = all_terms(e, node, n);
    return v ? hc_fold(e, node, term, v, n) : NULL;
}

struct hc_value *hc_of_list(struct hc_evaluation *e, const struct hc_node *node)
{
    const struct hc_node *of = node->operand[0];
    struct hc_value *v = hc_walk(e, of);
    if (!v)
        return NULL;
    if (!v->list)
        return hc_wrong(e, of, "%s of one operand takes a list, and this is a number",
                        hc_functions[node->function].spelling);
    return node->function == HC_FN_len ? hc_integer(e, v->n) : hc_fold(e, node, of, v, v->n);
}
