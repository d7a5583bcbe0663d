/* The references of ops that definitions say, against exact values that another program computed
   (vectors/: mpmath at 300 bits). Calls are in fp64, which has all operands. Where a
   gradient is taken from statistics that the forward pass has kept, these are rounded to fp64
   first, and the gradient agrees as far as that goes. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "define/op.h"
#include "op/descriptor.h"
#include "op/later.h"
#include "op/params.h"

enum { MOST_TENSORS = 14 };

struct vectors {
    char op[32];
    char line[256]; /* "case N OP PARAM=VALUE ..." */
    int tensors;
    struct {
        char name[16];
        struct hc_tensor t;     /* rounded to fp64 */
        struct hc_exact *value; /* as they stand there */
    } tensor[MOST_TENSORS];
};

/* Reads "in NAME FORMAT [A,B] VALUES", whose line ends at `end`. */
static void read_tensor(struct vectors *v, char *line)
{
    char *save = NULL;
    (void)strtok_r(line, " ", &save);
    int k = v->tensors++;
    cr_assert_lt(k, MOST_TENSORS);
    (void)snprintf(v->tensor[k].name, sizeof v->tensor[k].name, "%s", strtok_r(NULL, " ", &save));
    bool integers = strcmp(strtok_r(NULL, " ", &save), "i32") == 0;
    struct hc_tensor *t = &v->tensor[k].t;
    *t = (struct hc_tensor){.format = integers ? HC_I32 : HC_FP64};
    for (char *c = strtok_r(NULL, " ", &save); c && *c && *c != ']';)
        t->shape[t->rank++] = strtoll(c + 1, &c, 10);
    int64_t n = hc_tensor_count(t);
    t->data = calloc((size_t)n + 1, sizeof(double));
    v->tensor[k].value = calloc((size_t)n + 1, sizeof(struct hc_exact));
    cr_assert(t->data && v->tensor[k].value);
    struct hc_real *x = hc_real_new(0);
    for (int64_t i = 0; i < n; i++) {
        char *text = strtok_r(NULL, " \n", &save);
        cr_assert_not_null(text, "%s of %s ends early", v->tensor[k].name, v->op);
        cr_assert(hc_real_read(x, text, NULL), "%s", text);
        v->tensor[k].value[i] = hc_real_exact(x);
        hc_tensor_set(t, i, v->tensor[k].value[i].hi);
    }
    hc_real_free(x);
}

static int named(const struct vectors *v, const char *name)
{
    for (int k = 0; k < v->tensors; k++)
        if (strcmp(v->tensor[k].name, name) == 0)
            return k;
    cr_assert(false, "%s has no %s", v->op, name);
    return -1;
}

/* The parameter of the case that stands as NAME=VALUE; false if there is none. */
static bool parameter(const struct vectors *v, const char *name, char value[32])
{
    char with[32];
    (void)snprintf(with, sizeof with, " %s=", name);
    const char *at = strstr(v->line, with);
    return at && sscanf(at + strlen(with), "%31s", value) == 1;
}

/* A row of elements that stand alone is a vector, or the only row of a matrix. Heads of q may share
   one of k and v, which are then read once for each. */
static struct hc_tensor as_slot(const struct vectors *v, struct hc_tensor t,
                                const struct hc_slot *slot)
{
    int rank = 0;
    for (const char *c = slot->shape; *c; c++)
        rank += (*c == '[' && c[1] != ']') || *c == ',';
    t.rank -= rank == 0; /* a list of one number */
    for (; t.rank < rank; t.rank++) {
        memmove(t.shape + 1, t.shape, sizeof t.shape[0] * (size_t)t.rank);
        t.shape[0] = 1;
    }
    bool one_for_each = slot->shape[1] == 'H';
    if (one_for_each && rank == 3 && t.shape[0] == 1 && v->tensor[0].t.rank == 3 &&
        v->tensor[0].t.shape[0] == 2) {
        size_t bytes = hc_tensor_bytes(&t);
        t.data = realloc(t.data, 2 * bytes);
        cr_assert_not_null(t.data);
        memcpy((char *)t.data + bytes, t.data, bytes);
        t.shape[0] = 2;
    }
    return t;
}

static const char *name_in_file(const struct vectors *v, const char *option)
{
    char value[32];
    static const char *const others[][2] = {{"padding", "padding_idx"},
                                            {"ignore", "ignore_index"},
                                            {"zeta", "z_loss"},
                                            {"cap", "softcap"}};
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        if (strcmp(option, others[i][0]) == 0 && !parameter(v, option, value))
            return others[i][1];
    return option;
}

/* `names` are those of the op's slots in the file, in order. An evaluator finds as many digits as
   its radius asks for, where they cancel. */
static void compare(struct vectors *v, enum hc_op op, const char *const *names, double within)
{
    struct hc_call call = {.op = op};
    int inputs = hc_ops[op].inputs;
    hc_params_usual(op, &call.params);
    for (const struct hc_param *p = hc_op_params(op); p->name; p++) {
        char value[32];
        if (parameter(v, name_in_file(v, p->name), value) && strcmp(value, "mean") != 0)
            cr_assert_eq(
                hc_param_read(op, &call.params, p->name, strcmp(value, "sum") == 0 ? "1" : value),
                HC_OK);
        if (parameter(v, "mask", value) && strcmp(p->name, "causal") == 0)
            cr_assert_eq(hc_param_read(op, &call.params, p->name,
                                       strcmp(value, "none") == 0 ? "false" : "true"),
                         HC_OK);
        if (parameter(v, "mask", value) && strcmp(p->name, "top_left") == 0)
            cr_assert_eq(hc_param_read(op, &call.params, p->name,
                                       strcmp(value, "causal") == 0 ? "true" : "false"),
                         HC_OK);
    }
    for (int s = 0; s < hc_slot_count(op); s++) {
        struct hc_tensor *t = &v->tensor[named(v, names[s])].t;
        *t = as_slot(v, *t, hc_slot(op, s));
        *hc_slot_tensor(&call, s) = *t;
    }
    cr_assert_eq(hc_call_check(&call), HC_OK, "%s", hc_message());
    hc_reference_begin(&call);
    for (int o = 0; o < hc_ops[op].outputs; o++) {
        const struct hc_exact *want = v->tensor[named(v, names[inputs + o])].value;
        double largest = 0; /* of the results, and of dy, from which they may cancel */
        for (int64_t i = 0; i < hc_tensor_count(&call.in[HC_FIRST]); i++)
            largest = fmax(largest, fabs(hc_tensor_get(&call.in[HC_FIRST], i)));
        for (int64_t i = 0; i < hc_tensor_count(&call.out[o]); i++)
            largest = fmax(largest, fabs(want[i].hi));
        for (int64_t i = 0; i < hc_tensor_count(&call.out[o]); i++) {
            struct hc_exact got = hc_reference_value(&call, o, i);
            double apart = fabs((got.hi - want[i].hi) + (got.lo - want[i].lo));
            double size = within > 0x1p-60 ? largest : fabs(want[i].hi);
            double own = 0x1p-40 * hc_defined_op_radius(&(struct hc_element){&call, o, i});
            cr_expect(apart <= within * size + own || (isinf(want[i].hi) && got.hi == want[i].hi),
                      "%s, %s[%d]: want %.17g, got %.17g", hc_ops[op].name, names[inputs + o],
                      (int)i, want[i].hi, got.hi);
        }
    }
    hc_reference_end();
}

/* Neighbours that are turned as a pair go to where halves have their pairs: from 2 i and 2 i + 1 to
   i and n / 2 + i. */
static void part_neighbours(struct vectors *v, const char *name)
{
    struct hc_tensor *t = &v->tensor[named(v, name)].t;
    struct hc_exact *value = v->tensor[named(v, name)].value;
    int64_t n = t->shape[t->rank - 1];
    struct hc_exact row[64];
    cr_assert_leq(n, 64);
    for (int64_t from = 0; from < hc_tensor_count(t); from += n) {
        memcpy(row, value + from, (size_t)n * sizeof *row);
        for (int64_t i = 0; i < n; i++) {
            value[from + i % 2 * (n / 2) + i / 2] = row[i];
            hc_tensor_set(t, from + i % 2 * (n / 2) + i / 2, row[i].hi);
        }
    }
}

/* The table of the second half of a row is that of the first. In the gradient the angles are
   negative. */
static void compare_rope(struct vectors *v, double within)
{
    char layout[32];
    if (parameter(v, "layout", layout) && strcmp(layout, "interleaved") == 0)
        for (int k = 0; k < 4; k++)
            part_neighbours(v, ((const char *[]){"x", "y", "dy", "dx"})[k]);
    int co = named(v, "cos");
    int si = named(v, "sin");
    struct hc_tensor turned = hc_tensor1(HC_FP64, 2 * v->tensor[si].t.shape[0], NULL);
    turned.data = calloc((size_t)hc_tensor_count(&turned), sizeof(double));
    for (int k = co; k >= 0; k = k == co ? si : -1) {
        struct hc_tensor *t = &v->tensor[k].t;
        int64_t n = t->shape[0];
        t->data = realloc(t->data, 2 * (size_t)n * sizeof(double));
        memcpy((double *)t->data + n, t->data, (size_t)n * sizeof(double));
        t->shape[0] = 2 * n;
    }
    for (int64_t i = 0; i < turned.shape[0]; i++)
        hc_tensor_set(&turned, i, -hc_tensor_get(&v->tensor[si].t, i));
    compare(v, HC_OP_rotary_halves, (const char *[]){"x", "cos", "sin", "y"}, within);
    turned.rank = v->tensor[si].t.rank;
    memcpy(turned.shape, v->tensor[si].t.shape, sizeof turned.shape);
    free(v->tensor[si].t.data);
    v->tensor[si].t = turned;
    compare(v, HC_OP_rotary_halves, (const char *[]){"dy", "cos", "sin", "dx"}, within);
}

/* One number a head that the file does not have. */
static void add_numbers(struct vectors *v, const char *name, double x)
{
    int64_t heads = v->tensor[named(v, "q")].t.shape[0];
    int k = v->tensors++;
    cr_assert_lt(k, MOST_TENSORS);
    (void)snprintf(v->tensor[k].name, sizeof v->tensor[k].name, "%s", name);
    v->tensor[k].t = hc_tensor1(HC_FP64, heads, calloc((size_t)heads, sizeof(double)));
    v->tensor[k].value = calloc((size_t)heads, sizeof(struct hc_exact));
    cr_assert(v->tensor[k].t.data && v->tensor[k].value);
    for (int64_t h = 0; h < heads; h++) {
        hc_tensor_set(&v->tensor[k].t, h, x);
        v->tensor[k].value[h].hi = x;
    }
}

/* The file's window leaves its first two rows without keys, which no window does. What is left has
   them on the diagonal that ends at the last row and key. */
static void drop_rows(struct vectors *v)
{
    static const char *const of_rows[] = {"q", "do", "o", "lse", "dq"};
    for (size_t i = 0; i < sizeof of_rows / sizeof of_rows[0]; i++) {
        int k = named(v, of_rows[i]);
        struct hc_tensor *t = &v->tensor[k].t;
        int64_t n = 2 * (t->rank == 3 ? t->shape[2] : 1);
        cr_assert_eq(t->shape[0], 1, "one head");
        t->shape[1] -= 2;
        memmove(t->data, (double *)t->data + n, hc_tensor_bytes(t));
        memmove(v->tensor[k].value, v->tensor[k].value + n,
                (size_t)hc_tensor_count(t) * sizeof *v->tensor[k].value);
    }
    size_t used = strlen(v->line);
    (void)snprintf(v->line + used, sizeof v->line - used, " before=2 after=-1");
}

static void compare_general(struct vectors *v, double all, double kept)
{
    compare(v, HC_OP_attention_general, (const char *[]){"q", "k", "v", "sink", "o", "lse"}, all);
    compare(v, HC_OP_attention_general_backward,
            (const char *[]){"q", "k", "v", "sink", "o", "lse", "do", "dq", "dk", "dv", "dsink"},
            kept);
}

/* What two heads of q give to one key is a result of attention_general alone. A window is an option
   of it, and so is a diagonal that begins at the first row and key. */
static void compare_attention(struct vectors *v, double all, double kept)
{
    char mask[32];
    bool window = parameter(v, "mask", mask) && strcmp(mask, "window") == 0;
    if (window)
        drop_rows(v);
    add_numbers(v, "sink", -(double)INFINITY);
    add_numbers(v, "dsink", 0);
    compare_general(v, all, kept);
    bool other_corner = parameter(v, "mask", mask) && strcmp(mask, "causal") == 0 &&
                        v->tensor[named(v, "q")].t.shape[1] != v->tensor[named(v, "k")].t.shape[1];
    if (window || other_corner)
        return;
    bool shared = v->tensor[named(v, "k")].t.shape[0] != v->tensor[named(v, "q")].t.shape[0];
    compare(v, HC_OP_attention, (const char *[]){"q", "k", "v", "o", "lse"}, all);
    if (!shared)
        compare(v, HC_OP_attention_backward,
                (const char *[]){"q", "k", "v", "o", "lse", "do", "dq", "dk", "dv"}, kept);
}

/* A tensor of the shape of `like` that the file does not have, of equal numbers. */
static void add_tensor(struct vectors *v, const char *name, const char *like, double x)
{
    struct hc_tensor t = v->tensor[named(v, like)].t;
    int64_t n = hc_tensor_count(&t);
    int k = v->tensors++;
    cr_assert_lt(k, MOST_TENSORS);
    (void)snprintf(v->tensor[k].name, sizeof v->tensor[k].name, "%s", name);
    t.data = calloc((size_t)n + 1, sizeof(double));
    v->tensor[k].t = t;
    v->tensor[k].value = calloc((size_t)n + 1, sizeof(struct hc_exact));
    cr_assert(t.data && v->tensor[k].value);
    for (int64_t i = 0; i < n; i++) {
        hc_tensor_set(&t, i, x);
        v->tensor[k].value[i].hi = x;
    }
}

static void copy_tensor(struct vectors *v, const char *to, const char *from)
{
    int k = named(v, from);
    int64_t n = hc_tensor_count(&v->tensor[k].t);
    memcpy(v->tensor[named(v, to)].t.data, v->tensor[k].t.data, (size_t)n * sizeof(double));
    memcpy(v->tensor[named(v, to)].value, v->tensor[k].value, (size_t)n * sizeof(struct hc_exact));
}

/* A norm is that of a sum with 0. */
static void compare_sum_rms_norm(struct vectors *v, double all, double kept)
{
    add_tensor(v, "zero", "x", 0);
    add_tensor(v, "sum", "x", 0);
    copy_tensor(v, "sum", "x");
    compare(v, HC_OP_add_rms_norm, (const char *[]){"x", "zero", "weight", "y", "sum", "rstd"},
            all);
    compare(v, HC_OP_add_rms_norm_backward,
            (const char *[]){"dy", "zero", "x", "weight", "rstd", "dx", "dweight"}, kept);
}

/* As far as a log-sum is rounded, the exponential of a difference with it is off. */
static double largest_of(const struct vectors *v, const char *name)
{
    const struct hc_tensor *t = &v->tensor[named(v, name)].t;
    double largest = 0;
    for (int64_t i = 0; i < hc_tensor_count(t); i++)
        if (isfinite(hc_tensor_get(t, i)))
            largest = fmax(largest, fabs(hc_tensor_get(t, i)));
    return largest;
}

/* Classes of one weight, which the file does not have. */
static void add_weights(struct vectors *v)
{
    add_tensor(v, "weights", "logits", 1);
    struct hc_tensor *w = &v->tensor[named(v, "weights")].t;
    w->shape[0] = w->shape[1];
    w->rank = 1;
}

/* What has a scale of 1 is the softmax without options, too. */
static void compare_softmax(struct vectors *v, double all, double kept)
{
    char scale[32];
    if (!parameter(v, "scale", scale) || strtod(scale, NULL) == 1) {
        compare(v, HC_OP_softmax, (const char *[]){"x", "y"}, all);
        compare(v, HC_OP_softmax_backward, (const char *[]){"dy", "y", "dx"}, kept);
    }
    add_tensor(v, "mask", "x", 0);
    compare(v, HC_OP_softmax_general, (const char *[]){"x", "mask", "y"}, all);
    compare(v, HC_OP_softmax_general_backward, (const char *[]){"dy", "y", "dx"}, kept);
}

static void compare_rms_norm(struct vectors *v, double all, double kept)
{
    char offset[32];
    compare_sum_rms_norm(v, all, kept);
    if (parameter(v, "offset", offset) && strcmp(offset, "0") != 0)
        return;
    compare(v, HC_OP_rms_norm, (const char *[]){"x", "weight", "y"}, all);
    compare(v, HC_OP_rms_norm_backward,
            (const char *[]){"dy", "x", "weight", "rstd", "dx", "dweight"}, kept);
    compare(v, HC_OP_rms_norm_kept, (const char *[]){"x", "weight", "y", "rstd"}, all);
}

/* Gradients see x and its mean in x - mean alone, so that both may lose one number: the mean as
   fp32, where that costs x nothing. What is left of the mean is 2^-24 of it or less, and its
   rounding to fp64 is far below that of rstd. The mean itself, where it is 400 deviations large, is
   rounded by 400 2^-53 of a deviation, which is more than what is allowed. */
static void subtract_means(struct vectors *v)
{
    struct hc_tensor *x = &v->tensor[named(v, "x")].t;
    struct hc_tensor *mean = &v->tensor[named(v, "mean")].t;
    const struct hc_exact *exact = v->tensor[named(v, "mean")].value;
    int64_t n = x->shape[1];
    for (int64_t t = 0; t < x->shape[0]; t++) {
        double lost = (float)exact[t].hi;
        for (int64_t i = t * n; i < (t + 1) * n; i++)
            if ((hc_tensor_get(x, i) - lost) + lost != hc_tensor_get(x, i) ||
                hc_tensor_get(x, i) - (hc_tensor_get(x, i) - lost) != lost)
                lost = 0;
        for (int64_t i = t * n; i < (t + 1) * n; i++)
            hc_tensor_set(x, i, hc_tensor_get(x, i) - lost);
        hc_tensor_set(mean, t, (exact[t].hi - lost) + exact[t].lo);
    }
}

static void compare_layer_norm(struct vectors *v, double all, double kept)
{
    compare(v, HC_OP_layer_norm_kept, (const char *[]){"x", "weight", "bias", "y", "mean", "rstd"},
            all);
    compare(v, HC_OP_layer_norm, (const char *[]){"x", "weight", "bias", "y"}, all);
    add_tensor(v, "zero", "x", 0);
    add_tensor(v, "sum", "x", 0);
    copy_tensor(v, "sum", "x");
    compare(v, HC_OP_add_layer_norm_kept,
            (const char *[]){"x", "zero", "weight", "bias", "y", "sum", "mean", "rstd"}, all);
    subtract_means(v);
    compare(v, HC_OP_layer_norm_backward,
            (const char *[]){"dy", "x", "weight", "mean", "rstd", "dx", "dweight", "dbias"}, kept);
    compare(v, HC_OP_add_layer_norm_backward,
            (const char *[]){"dy", "zero", "x", "weight", "mean", "rstd", "dx", "dweight", "dbias"},
            kept);
}

/* False if no op of the table is the one that the case is about. */
static bool compare_ops(struct vectors *v)
{
    static const double all = 0x1p-95;
    static const double kept = 0x1p-48; /* from statistics in fp64 */
    if (strcmp(v->op, "softmax") == 0) {
        compare_softmax(v, all, kept);
    } else if (strcmp(v->op, "rms_norm") == 0) {
        compare_rms_norm(v, all, kept);
    } else if (strcmp(v->op, "layer_norm") == 0) {
        compare_layer_norm(v, all, kept);
    } else if (strcmp(v->op, "gelu_erf") == 0) {
        compare(v, HC_OP_gelu, (const char *[]){"x", "y"}, all);
        compare(v, HC_OP_gelu_backward, (const char *[]){"dy", "x", "dx"}, all);
    } else if (strcmp(v->op, "gelu_tanh") == 0) {
        compare(v, HC_OP_gelu_tanh, (const char *[]){"x", "y"}, all);
        compare(v, HC_OP_gelu_tanh_backward, (const char *[]){"dy", "x", "dx"}, all);
    } else if (strcmp(v->op, "silu") == 0) {
        compare(v, HC_OP_silu, (const char *[]){"x", "y"}, all);
        compare(v, HC_OP_silu_backward, (const char *[]){"dy", "x", "dx"}, all);
    } else if (strcmp(v->op, "swiglu") == 0) {
        compare(v, HC_OP_swiglu, (const char *[]){"gate", "up", "y"}, all);
        compare(v, HC_OP_swiglu_backward, (const char *[]){"gate", "up", "dy", "dgate", "dup"},
                all);
    } else if (strcmp(v->op, "attention") == 0) {
        compare_attention(v, all, kept);
    } else if (strcmp(v->op, "attention_general") == 0) {
        compare_general(v, all, kept);
    } else if (strcmp(v->op, "rope") == 0) {
        compare_rope(v, all);
    } else if (strcmp(v->op, "attention_merge") == 0) {
        compare(v, HC_OP_attention_merge, (const char *[]){"a", "la", "b", "lb", "y", "lse"}, all);
        compare(
            v, HC_OP_attention_merge_backward,
            (const char *[]){"a", "la", "b", "lb", "lse", "dy", "dlse", "da", "dla", "db", "dlb"},
            kept * fmax(1, largest_of(v, "la")));
    } else if (strcmp(v->op, "linear_cross_entropy") == 0) {
        add_tensor(v, "one", "loss", 1);
        compare(v, HC_OP_linear_cross_entropy, (const char *[]){"x", "weight", "labels", "loss"},
                all);
        compare(v, HC_OP_linear_cross_entropy_backward,
                (const char *[]){"x", "weight", "labels", "one", "dx", "dweight"}, all);
    } else if (strcmp(v->op, "cross_entropy") == 0) {
        add_weights(v);
        compare(v, HC_OP_cross_entropy_general,
                (const char *[]){"logits", "labels", "weights", "loss", "rows", "lse"}, all);
        compare(v, HC_OP_cross_entropy_general_backward,
                (const char *[]){"logits", "labels", "weights", "lse", "upstream", "dlogits"},
                kept * fmax(1, largest_of(v, "lse")));
    } else if (strcmp(v->op, "embedding_bwd") == 0) {
        compare(v, HC_OP_embedding_backward, (const char *[]){"dy", "tokens", "dweight"}, all);
    } else {
        return false;
    }
    return true;
}

static void begin(struct vectors *v, const char *line)
{
    *v = (struct vectors){.tensors = 0};
    (void)snprintf(v->line, sizeof v->line, "%s", line);
    cr_assert_eq(sscanf(line, "case %*d %31s", v->op), 1);
}

/* Compares all cases of a file, and returns how many there are. */
static int compare_file(const char *path)
{
    static char line[1 << 16];
    struct vectors v = {.tensors = 0};
    int cases = 0;
    FILE *file = fopen(path, "r");
    cr_assert_not_null(file);
    while (fgets(line, sizeof line, file)) {
        if (strncmp(line, "case ", 5) == 0)
            begin(&v, line);
        else if (strncmp(line, "in ", 3) == 0 || strncmp(line, "out ", 4) == 0)
            read_tensor(&v, line);
        else if (strncmp(line, "end", 3) == 0) {
            cases += compare_ops(&v);
            for (int k = 0; k < v.tensors; k++) {
                free(v.tensor[k].t.data);
                free(v.tensor[k].value);
            }
        }
    }
    (void)fclose(file);
    return cases;
}

Test(op_golden, references_by_definition_have_the_digits_that_another_program_computed)
{
    cr_expect_eq(compare_file(HC_SOURCE "/src/define/vectors/transformer.txt"), 32);
}

Test(op_golden, so_have_those_of_attention_and_what_stands_around_it)
{
    cr_expect_eq(compare_file(HC_SOURCE "/src/define/vectors/attention.txt"), 22);
}

Test(op_golden, so_have_those_of_attention_with_options)
{
    cr_expect_eq(compare_file(HC_SOURCE "/src/define/vectors/attention_general.txt"), 7);
}

Test(op_golden, so_have_those_of_ops_with_options)
{
    cr_expect_eq(compare_file(HC_SOURCE "/src/define/vectors/options.txt"), 37);
}

/* The files that these were taken from have three hundred cases more. Who has them names them. */
Test(op_golden, so_has_a_file_that_is_named)
{
    const char *path = getenv("HALFCHECK_VECTORS");
    if (path)
        cr_expect_gt(compare_file(path), 0);
}
