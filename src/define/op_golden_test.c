/* The references of ops that definitions say, against exact values that another program computed
   (vectors/transformer.txt: mpmath at 300 bits). Calls are in fp64, which has all operands. Where a
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

enum { MOST_TENSORS = 12 };

struct vectors {
    char op[32];
    char eps[32]; /* "" where there is none */
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
    (void)strtok_r(NULL, " ", &save);
    struct hc_tensor *t = &v->tensor[k].t;
    *t = (struct hc_tensor){.format = HC_FP64};
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

/* A row of elements that stand alone is a vector, or the only row of a matrix. */
static struct hc_tensor as_slot(struct hc_tensor t, const struct hc_slot *slot)
{
    if (strcmp(slot->shape, "[T, D]") == 0 && t.rank == 1)
        return hc_tensor2(HC_FP64, 1, t.shape[0], t.data);
    return t;
}

/* `names` are those of the op's slots in the file, in order. An evaluator finds as many digits as
   its radius asks for, where they cancel. */
static void compare(const struct vectors *v, enum hc_op op, const char *const *names, double within)
{
    struct hc_call call = {.op = op};
    int inputs = hc_ops[op].inputs;
    hc_params_usual(op, &call.params);
    if (v->eps[0] && hc_op_param(op, "eps"))
        cr_assert_eq(hc_param_read(op, &call.params, "eps", v->eps), HC_OK);
    for (int s = 0; s < hc_slot_count(op); s++)
        *hc_slot_tensor(&call, s) = as_slot(v->tensor[named(v, names[s])].t, hc_slot(op, s));
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
            cr_expect(apart <= within * size + own, "%s, %s[%d]: want %.17g, got %.17g",
                      hc_ops[op].name, names[inputs + o], (int)i, want[i].hi, got.hi);
        }
    }
    hc_reference_end();
}

static void compare_ops(const struct vectors *v)
{
    static const double all = 0x1p-95;
    static const double kept = 0x1p-48; /* from statistics in fp64 */
    if (strcmp(v->op, "softmax") == 0) {
        compare(v, HC_OP_softmax, (const char *[]){"x", "y"}, all);
        compare(v, HC_OP_softmax_backward, (const char *[]){"dy", "y", "dx"}, kept);
    } else if (strcmp(v->op, "rms_norm") == 0) {
        compare(v, HC_OP_rms_norm, (const char *[]){"x", "weight", "y"}, all);
        compare(v, HC_OP_rms_norm_backward,
                (const char *[]){"dy", "x", "weight", "rstd", "dx", "dweight"}, kept);
    } else if (strcmp(v->op, "layer_norm") == 0) {
        compare(v, HC_OP_layer_norm, (const char *[]){"x", "weight", "bias", "y"}, all);
        compare(v, HC_OP_layer_norm_backward,
                (const char *[]){"dy", "x", "weight", "mean", "rstd", "dx", "dweight", "dbias"},
                kept);
    } else if (strcmp(v->op, "gelu_erf") == 0) {
        compare(v, HC_OP_gelu, (const char *[]){"x", "y"}, all);
        compare(v, HC_OP_gelu_backward, (const char *[]){"dy", "x", "dx"}, all);
    } else if (strcmp(v->op, "silu") == 0) {
        compare(v, HC_OP_silu, (const char *[]){"x", "y"}, all);
        compare(v, HC_OP_silu_backward, (const char *[]){"dy", "x", "dx"}, all);
    } else {
        cr_assert_str_eq(v->op, "swiglu");
        compare(v, HC_OP_swiglu, (const char *[]){"gate", "up", "y"}, all);
    }
}

static void begin(struct vectors *v, const char *line)
{
    const char *eps = strstr(line, "eps=");
    *v = (struct vectors){.tensors = 0};
    cr_assert_eq(sscanf(line, "case %*d %31s", v->op), 1);
    if (eps)
        cr_assert_eq(sscanf(eps, "eps=%31s", v->eps), 1);
}

Test(op_golden, references_by_definition_have_the_digits_that_another_program_computed)
{
    static char line[1 << 16];
    struct vectors v = {.tensors = 0};
    int cases = 0;
    FILE *file = fopen(HC_SOURCE "/src/define/vectors/transformer.txt", "r");
    cr_assert_not_null(file);
    while (fgets(line, sizeof line, file)) {
        if (strncmp(line, "case ", 5) == 0)
            begin(&v, line);
        else if (strncmp(line, "in ", 3) == 0 || strncmp(line, "out ", 4) == 0)
            read_tensor(&v, line);
        else if (strncmp(line, "end", 3) == 0) {
            compare_ops(&v);
            cases++;
            for (int k = 0; k < v.tensors; k++) {
                free(v.tensor[k].t.data);
                free(v.tensor[k].value);
            }
        }
    }
    (void)fclose(file);
    cr_expect_eq(cases, 29);
}
