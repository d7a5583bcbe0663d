/* The shapes that belong together in a call: HC_OK, or HC_INVALID with a line. */
#ifndef HC_OP_SHAPES_H
#define HC_OP_SHAPES_H

#include "op/call.h"

enum hc_status hc_shapes_gemm(const struct hc_call *call);
enum hc_status hc_shapes_conv(const struct hc_call *call);
enum hc_status hc_shapes_batch(const struct hc_call *call);
enum hc_status hc_shapes_pool(const struct hc_call *call);
enum hc_status hc_shapes_loss(const struct hc_call *call);

#define HC_SHAPE_TEXT 96

/* "[2, 3]" */
const char *hc_shape_text(const struct hc_tensor *t, char text[HC_SHAPE_TEXT]);

#endif
