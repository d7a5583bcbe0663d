/* Lists and sums: what is made of many terms, and how they are folded. */
#include <math.h>
#include <stdlib.h>

#include "formula/evaluation.h"

/* What a function makes of n terms. sum and prod take them in order, each addition a call of one
   element; tree adds neighbours, each level a call. distinct and count look at all of them. */

/* Element i of n elements; all are the same one if v is a scalar. */
static struct hc_operand elements(const struct hc_value *v, int64_t at, int64_t stride)
{
    return (struct hc_operand){v, v->list ? at : 0, v->list ? stride : 0};
}

static struct hc_operation operation_of(const struct hc_node *node, enum hc_function f,
                                        const struct hc_value *v)
{
    enum hc_format format = v->format == HC_FORMAT_COUNT ? HC_FP64 : v->format;
    return (struct hc_operation){node, f, format, HC_NEAREST, false, false};
}

static struct hc_value *in_order(struct hc_evaluation *e, const struct hc_node *node,
                                 enum hc_function f, const struct hc_value *v, int64_t n)
{
    struct hc_operation operation = operation_of(node, f, v);
    struct hc_value *y = hc_new_value(e, false, 1);
    if (!y)
        return NULL;
    hc_value_like(y, v);
    hc_value_copy(y, 0, v, 0);
    for (int64_t i = 1; i < n; i++) {
        struct hc_operand x[2] = {{y, 0, 0}, elements(v, i, 0)};
        if (!hc_operate(e, &operation, x, y, 0, 1))
            return NULL;
    }
    return y;
}

static struct hc_value *pairwise(struct hc_evaluation *e, const struct hc_node *node,
                                 const struct hc_value *v, int64_t n)
{
    struct hc_operation operation = operation_of(node, HC_FN_add, v);
    int mark = e->values.count;
    if (n == 1)
        return in_order(e, node, HC_FN_add, v, 1);
    for (; n > 1; n = (n + 1) / 2) {
        struct hc_value *y = hc_new_value(e, true, (n + 1) / 2);
        if (!y)
            return NULL;
        hc_value_like(y, v);
        struct hc_operand x[2] = {elements(v, 0, 2), elements(v, 1, 2)};
        if (!hc_operate(e, &operation, x, y, 0, n / 2))
            return NULL;
        if (n % 2)
            hc_value_copy(y, n / 2, v, v->list ? n - 1 : 0);
        hc_values_release(&e->values, mark, y);
        v = y;
    }
    struct hc_value *y = hc_new_value(e, false, 1);
    if (y) {
        hc_value_like(y, v);
        hc_value_copy(y, 0, v, 0);
    }
    return y;
}

/* NaN stands behind all numbers and is equal to itself, as a result; -0 is equal to +0. */
static int compare_numbers(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;
    if (isnan(x) || isnan(y))
        return isnan(x) - isnan(y);
    return (x > y) - (x < y);
}

static int compare_reals(const void *a, const void *b)
{
    const struct hc_real *x = *(struct hc_real *const *)a;
    const struct hc_real *y = *(struct hc_real *const *)b;
    if (hc_real_is_nan(x) || hc_real_is_nan(y))
        return hc_real_is_nan(x) - hc_real_is_nan(y);
    return hc_real_compare(x, y);
}

/* The number of different elements, which are sorted. */
static int64_t count_distinct(void *element, int64_t n, size_t size,
                              int (*order)(const void *, const void *))
{
    char *at = element;
    int64_t different = 1;
    qsort(element, (size_t)n, size, order);
    for (int64_t i = 1; i < n; i++)
        different += order(at + (size_t)(i - 1) * size, at + (size_t)i * size) != 0;
    return different;
}

static int64_t count_numbers(enum hc_function f, double *x, int64_t n)
{
    if (f == HC_FN_distinct)
        return count_distinct(x, n, sizeof *x, compare_numbers);
    int64_t count = 0;
    for (int64_t i = 0; i < n; i++)
        count += isnan(x[i]) || x[i] != 0;
    return count;
}

static int64_t count_reals(struct hc_evaluation *e, enum hc_function f, struct hc_real **x,
                           int64_t n)
{
    if (f == HC_FN_distinct)
        return count_distinct(x, n, sizeof(struct hc_real *), compare_reals);
    int64_t count = 0;
    for (int64_t i = 0; i < n; i++)
        count += hc_real_is_nan(x[i]) || hc_real_compare(x[i], e->scratch.zero) != 0;
    return count;
}

/* distinct and count of the n elements of v. `memory` has room for n of any kind. */
static void count_elements(struct hc_evaluation *e, enum hc_function f, const struct hc_value *v,
                           int64_t n, struct hc_value *y, struct hc_disc *memory)
{
    double *number = (double *)memory;
    struct hc_real **real = (struct hc_real **)memory;
    bool certain = true;
    for (int64_t i = 0; i < n; i++) {
        real[i] = v->real[i];
        certain &= v->real_rad[i] == 0;
    }
    hc_real_set(y->real[0], (double)count_reals(e, f, real, n));
    for (int64_t i = 0; i < n && !certain; i++)
        memory[i] = hc_real_disc(v->real[i], v->real_rad[i]);
    y->real_rad[0] = certain ? 0 : hc_radius_list(f, memory, (long)n);
    if (y->constant)
        return;
    for (int64_t i = 0; i < n; i++)
        number[i] = v->want[i];
    y->want[0] = (double)count_numbers(f, number, n);
    for (int64_t i = 0; i < n; i++)
        number[i] = v->got[i];
    y->got[0] = (double)count_numbers(f, number, n);
    for (int64_t i = 0; i < n; i++)
        memory[i] = (struct hc_disc){v->want[i], v->rad[i]};
    y->rad[0] = hc_radius_list(f, memory, (long)n);
}

static struct hc_value *count_terms(struct hc_evaluation *e, enum hc_function f,
                                    const struct hc_value *v, int64_t n)
{
    struct hc_value *y = hc_new_value(e, false, 1);
    struct hc_disc *memory = y ? malloc((size_t)n * sizeof *memory) : NULL;
    if (!memory)
        return hc_lack(e, hc_fail(HC_NO_MEMORY, "no memory to count %lld values", (long long)n));
    y->constant = v->constant;
    y->format = HC_FORMAT_COUNT;
    count_elements(e, f, v, n, y, memory);
    free(memory);
    return y;
}

/* n times the same. */
static struct hc_value *repeat(struct hc_evaluation *e, const struct hc_value *v, int64_t n)
{
    struct hc_value *y = hc_new_value(e, true, n);
    if (!y)
        return NULL;
    hc_value_like(y, v);
    for (int64_t i = 0; i < n; i++)
        hc_value_copy(y, i, v, 0);
    return y;
}

/* The sum in order, divided by the number of terms in its format. */
static struct hc_value *mean(struct hc_evaluation *e, const struct hc_node *node,
                             const struct hc_value *v, int64_t n)
{
    struct hc_operation operation = operation_of(node, HC_FN_div, v);
    struct hc_value *y = in_order(e, node, HC_FN_add, v, n);
    struct hc_value *count = y ? hc_integer(e, n) : NULL;
    if (count && !y->constant)
        count = hc_meet(e, node, count, v->format);
    if (!count)
        return NULL;
    struct hc_operand x[2] = {{y, 0, 0}, {count, 0, 0}};
    return hc_operate(e, &operation, x, y, 0, 1) ? y : NULL;
}

/* exp(v - max(v)) / sum(exp(v - max(v))), each operation rounded, as torch's definition has it. */
static struct hc_value *softmax(struct hc_evaluation *e, const struct hc_node *node,
                                struct hc_value *v, int64_t n)
{
    struct hc_operation operation = operation_of(node, HC_FN_sub, v);
    const struct hc_value *largest = in_order(e, node, HC_FN_max, v, n);
    struct hc_value *y = largest ? hc_new_value(e, true, n) : NULL;
    if (!y)
        return NULL;
    hc_value_like(y, v);
    struct hc_operand x[2] = {elements(v, 0, 1), {largest, 0, 0}};
    if (!hc_operate(e, &operation, x, y, 0, n))
        return NULL;
    operation.function = HC_FN_exp;
    x[0] = elements(y, 0, 1);
    struct hc_value *power = hc_new_value(e, true, n);
    if (!power)
        return NULL;
    hc_value_like(power, v);
    if (!hc_operate(e, &operation, x, power, 0, n))
        return NULL;
    const struct hc_value *sum = in_order(e, node, HC_FN_add, power, n);
    operation.function = HC_FN_div;
    x[0] = elements(power, 0, 1);
    x[1] = (struct hc_operand){sum, 0, 0};
    return sum && hc_operate(e, &operation, x, y, 0, n) ? y : NULL;
}

/* What the function of `node` makes of the n elements of v, or of n times the scalar v,
   which is what the node `of` comes to. */
static struct hc_value *fold(struct hc_evaluation *e, const struct hc_node *node,
                             const struct hc_node *of, struct hc_value *v, int64_t n)
{
    enum hc_function f = node->function;
    bool chooses = hc_function_chooses(f);
    bool counts = f == HC_FN_distinct || f == HC_FN_count;
    if (f == HC_FN_list)
        return v->list ? v : repeat(e, v, n);
    if (v->format == HC_FORMAT_COUNT && !chooses && !e->constants)
        v = hc_meet(e, of, v, e->arm.arithmetic);
    if (v && counts && !v->list)
        v = repeat(e, v, n);
    if (!v)
        return NULL;
    if (counts)
        return count_terms(e, f, v, n);
    if (v->format != HC_FORMAT_COUNT && hc_formats[v->format].bytes == 1)
        return hc_no_arithmetic(e, of, v->format);
    if (f == HC_FN_tree)
        return pairwise(e, node, v, n);
    if (f == HC_FN_mean)
        return mean(e, node, v, n);
    if (f == HC_FN_softmax)
        return softmax(e, node, v, n);
    return in_order(e, node, f == HC_FN_sum ? HC_FN_add : f == HC_FN_prod ? HC_FN_mul : f, v, n);
}

/* Lists, and the terms of sum(n, f), tree(n, f), distinct(n, f) and so on.

   A term that contains no list of its own is computed for a block of i at once, element by element:
   an op is called once for the block. Otherwise it is computed for one i after the other. Both are
   the same operations. Blocks keep the memory of a long sum's terms small. */

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
           (hc_function_chooses(f) && node->operands == 1);
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
    return v ? fold(e, node, term, v, n) : NULL;
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
    return node->function == HC_FN_len ? hc_integer(e, v->n) : fold(e, node, of, v, v->n);
}
