/* The ops of the table that definitions say: their rows are what the texts say, and what the texts'
   evaluator gives is what was computed elsewhere. */
#include "define/op.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "define/testing.h"
#include "op/descriptor.h"
#include "op/later.h"
#include "op/params.h"

/* "[T, D]" for the axes t and d. */
static void shape_of(const struct hc_definition *d, const struct hc_defined_tensor *t, char *text,
                     size_t size)
{
    size_t used = (size_t)snprintf(text, size, "[");
    for (int i = 0; i < t->rank; i++)
        used += (size_t)snprintf(text + used, size - used, "%s%c", i ? ", " : "",
                                 toupper((unsigned char)d->axis[t->axis[i]].name[0]));
    (void)snprintf(text + used, size - used, "]");
}

static void compare_slot(enum hc_op op, int slot, const struct hc_definition *d, int tensor)
{
    const struct hc_slot *s = hc_slot(op, slot);
    const struct hc_defined_tensor *t = &d->tensor[tensor];
    char shape[64];
    shape_of(d, t, shape, sizeof shape);
    cr_expect_str_eq(s->name, t->name, "%s", hc_ops[op].name);
    cr_expect_str_eq(s->shape, shape, "%s: %s", hc_ops[op].name, t->name);
    cr_expect_eq(s->format == HC_ALLOW_I32, t->index, "%s: %s", hc_ops[op].name, t->name);
}

/* An option that is the extent of a result's axis: the call has it as a shape. */
static bool is_extent(const struct hc_definition *d, int option)
{
    for (int i = 0; i < d->axes; i++) {
        const struct hc_expression *e = d->axis[i].extent;
        if (e && e->kind == HC_EXPRESSION_OPTION && e->option == option)
            return true;
    }
    return false;
}

/* NaN stands for an expression of extents. */
static void compare_usual(const char *op, const struct hc_param *p,
                          const struct hc_expression *value)
{
    bool number = value->kind == HC_EXPRESSION_NUMBER || p->kind != HC_PARAM_REAL;
    if (number)
        cr_expect_eq(strncmp(p->usual, value->at, (size_t)value->length), 0, "%s: %s is %s", op,
                     p->name, p->usual);
    else
        cr_expect_str_eq(p->usual, "nan", "%s: %s", op, p->name);
    char note[64];
    (void)snprintf(note, sizeof note, "nan stands for %.*s", value->length, value->at);
    cr_expect(number ? !p->note : p->note && strcmp(p->note, note) == 0, "%s: %s", op, p->name);
}

Test(op, the_row_of_an_op_is_what_its_definition_says)
{
    int seen = 0;
    for (int i = 0; i < HC_OP_COUNT; i++) {
        enum hc_op op = (enum hc_op)i;
        const struct hc_definition *d = hc_defined_op(op);
        if (hc_ops[op].class_ != HC_CLASS_DEFINED)
            continue;
        seen++;
        cr_assert_not_null(d, "%s", hc_ops[op].name);
        cr_expect_str_eq(d->name, hc_ops[op].name);
        cr_assert_eq(d->inputs, hc_ops[op].inputs, "%s", d->name);
        cr_assert_eq(d->results, hc_ops[op].outputs, "%s", d->name);
        for (int k = 0; k < d->inputs; k++)
            compare_slot(op, k, d, k);
        for (int k = 0; k < d->results; k++)
            compare_slot(op, d->inputs + k, d, d->result[k]);
        const struct hc_param *p = hc_op_params(op);
        for (int k = 0; k < d->options; k++) {
            const struct hc_expression *value = d->option[k].value;
            if (is_extent(d, k)) {
                cr_expect_null(hc_op_param(op, d->option[k].name), "%s: %s", d->name,
                               d->option[k].name);
                continue;
            }
            cr_assert_not_null(p->name, "%s: %s", d->name, d->option[k].name);
            cr_expect_str_eq(p->name, d->option[k].name);
            compare_usual(d->name, p++, value);
        }
        cr_expect_null(p->name, "%s has more parameters than options", d->name);
    }
    cr_expect_gt(seen, 0);
}

/* A call of rms_norm of 2 x 3, by hand: of 3, 4 and 0 with eps = 1/3 the mean square and eps make
   26/3 = 8 2/3. */
static struct hc_call by_hand(float *x, float *w, float *y)
{
    struct hc_call call = {.op = HC_OP_rms_norm};
    double eps = 1 / 3.0;
    memcpy(call.params.later, &eps, sizeof eps);
    call.in[HC_RMS_X] = hc_tensor2(HC_FP32, 2, 3, x);
    call.in[HC_RMS_W] = hc_tensor1(HC_FP32, 3, w);
    call.out[HC_RMS_Y] = hc_tensor2(HC_FP32, 2, 3, y);
    return call;
}

Test(op, a_call_has_the_value_of_its_definition)
{
    float x[] = {3, 4, 0, 0, 0, 0};
    float w[] = {1, 2, 3};
    float y[6];
    struct hc_call call = by_hand(x, w, y);
    cr_assert_eq(hc_call_check(&call), HC_OK, "%s", hc_message());
    for (int promised = 0; promised < 2; promised++) {
        if (promised)
            hc_reference_begin(&call);
        double rad = hc_defined_op_radius(&(struct hc_element){&call, HC_RMS_Y, 1});
        cr_expect_float_eq(hc_reference_value(&call, HC_RMS_Y, 1).hi, 8 / sqrt(26 / 3.0), 1e-14);
        cr_expect(rad > 0x1p-24 && rad < 0x1p-19, "%g", rad);
        cr_expect_eq(hc_reference_value(&call, HC_RMS_Y, 2).hi, 0);
    }
    hc_reference_end();
    x[0] = 0; /* no promise holds: it is looked at again */
    double now = hc_reference_value(&call, HC_RMS_Y, 1).hi;
    cr_expect_float_eq(now, 8 / sqrt(17 / 3.0), 1e-14);
}

/* A promise of another call, or a later one, does not bring back what was kept. */
Test(op, what_is_kept_ends_with_its_promise)
{
    float x[] = {3, 4, 0, 0, 0, 0};
    float w[] = {1, 2, 3};
    float y[6];
    struct hc_call call = by_hand(x, w, y);
    hc_reference_begin(&call);
    (void)hc_reference_value(&call, HC_RMS_Y, 1);
    x[0] = 0;
    hc_reference_begin(&call);
    cr_expect_float_eq(hc_reference_value(&call, HC_RMS_Y, 1).hi, 8 / sqrt(17 / 3.0), 1e-14);
    hc_reference_end();
}

Test(op, shapes_that_do_not_belong_together_are_refused_with_the_axis)
{
    float x[6] = {0};
    float y[6];
    struct hc_call call = by_hand(x, x, y);
    call.in[HC_RMS_W].shape[0] = 2;
    cr_expect_eq(hc_call_check(&call), HC_INVALID);
    cr_expect_str_eq(hc_message(), "rms_norm: w has shape [2], and D is 3 in x");
    call.in[HC_RMS_W].rank = 2;
    cr_expect_eq(hc_call_check(&call), HC_INVALID);
    call = by_hand(x, x, y);
    call.in[HC_RMS_X].rank = 1;
    cr_expect_eq(hc_call_check(&call), HC_INVALID);
    cr_expect_str_eq(hc_message(), "rms_norm: x has shape [2], not [T, D]");
}

Test(op, along_a_placeless_axis_equal_operands_give_equal_results)
{
    cr_expect(hc_defined_is_placeless(HC_OP_rms_norm, 'T'));
    cr_expect(hc_defined_is_placeless(HC_OP_rms_norm, 'D'));
    cr_expect(hc_defined_is_placeless(HC_OP_softmax, 'C'));
    cr_expect(hc_defined_is_placeless(HC_OP_gelu_backward, 'I'));
    cr_expect(!hc_defined_is_placeless(HC_OP_softmax, 'D'), "it has no such axis");
    cr_expect(!hc_defined_is_placeless(HC_OP_add, 'T'));
}

Test(op, what_a_mask_an_index_or_a_neighbour_asks_for_is_a_place)
{
    cr_expect(!hc_defined_is_placeless(HC_OP_attention, 'T'));
    cr_expect(!hc_defined_is_placeless(HC_OP_attention_backward, 'U'));
    cr_expect(hc_defined_is_placeless(HC_OP_attention_backward, 'H'));
    cr_expect(hc_defined_is_placeless(HC_OP_attention, 'E'));
    cr_expect(!hc_defined_is_placeless(HC_OP_embedding, 'V'));
    cr_expect(!hc_defined_is_placeless(HC_OP_embedding_backward, 'V'));
    cr_expect(hc_defined_is_placeless(HC_OP_embedding, 'N'));
    cr_expect(!hc_defined_is_placeless(HC_OP_rotary_halves, 'D'));
    cr_expect(hc_defined_is_placeless(HC_OP_rotary_halves, 'T'));
}
