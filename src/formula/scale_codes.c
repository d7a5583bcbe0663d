/* What a scale rule makes of numbers: codes, and what these are worth. As a real number that is the
   number itself, as it is of what is cast. */
#include "formula/scale.h"

/* fl(x * by), and that as codes or as fp32, each an operation as any other. */
static struct hc_value *times(struct hc_evaluation *e, const struct hc_node *node,
                              struct hc_value *x, struct hc_value *by)
{
    struct hc_operation mul = {node, HC_FN_mul, HC_FP32, HC_NEAREST, true, false};
    struct hc_operand operand[2] = {{x, 0, x->list ? 1 : 0}, {by, 0, 0}};
    struct hc_value *y = hc_new_value(e, x->list, x->n);
    if (!y || !hc_operate(e, &mul, operand, y, 0, x->n))
        return NULL;
    y->format = HC_FP32;
    return y;
}

struct hc_value *hc_scale_codes(struct hc_evaluation *e, const struct hc_node *node,
                                struct hc_value *x, const struct hc_value *tensor)
{
    struct hc_node part = *node;
    part.function = HC_FN_encode_scale;
    struct hc_operation cast = {node, HC_FN_cast, node->format, HC_NEAREST, true, true};
    struct hc_value *scale = hc_scale_of_block(e, &part, x, tensor);
    struct hc_value *wide = scale ? hc_meet(e, node->operand[0], x, HC_FP32) : NULL;
    struct hc_value *product = wide ? times(e, node, wide, scale) : NULL;
    return product ? hc_cast_value(e, &cast, product) : NULL;
}

/* fl(fl(code * d) * t). */
struct hc_value *hc_scale_decoded(struct hc_evaluation *e, const struct hc_node *node,
                                  struct hc_value *x, struct hc_value *tensor)
{
    struct hc_node part = *node;
    part.function = HC_FN_decode_scale;
    struct hc_value *y = hc_scale_codes(e, node, x, tensor);
    struct hc_value *scale = y ? hc_scale_of_block(e, &part, x, tensor) : NULL;
    y = scale ? hc_meet(e, node, y, HC_FP32) : NULL;
    y = y ? times(e, node, y, scale) : NULL;
    part.function = HC_FN_tensor_scale;
    scale = y && tensor ? hc_scale_of_block(e, &part, tensor, NULL) : NULL;
    if (y && tensor)
        y = scale ? times(e, node, y, scale) : NULL;
    for (int64_t i = 0; y && i < y->n; i++) {
        (void)hc_real_copy(y->real[i], x->real[i]);
        y->real_rad[i] = x->real_rad[i];
        y->rad[i] = hc_scale_distance(e, y->want[i], y->real[i], y->real_rad[i]);
    }
    return y;
}
