/* The contracts of op/call.h as data: formats, counts of elements, and what shapes belong together. */
#ifndef HC_OP_CONTRACT_H
#define HC_OP_CONTRACT_H

#include "op/call.h"

/* One letter a slot, inputs then outputs.
   Formats: a any but u8, w H or fp64, h H, f fp32, i i32, u u8, a digit: that of this input; o fp32 or
   absent, j i32 or absent, c that of in0 or absent. Where in0 has d, H or fp64, a call is all fp64 or not at all: e is then
   fp64, else H; g fp64, else fp32; b and q are e and g, or absent.
   Counts of elements: n as many as in0, c its last extent, a digit: this many, . left to `shapes`,
   which may be NULL and returns HC_OK, or HC_INVALID with a line. */
struct hc_contract {
    const char *formats;
    const char *counts;
    enum hc_status (*shapes)(const struct hc_call *call);
};

/* Whether a slot of that format may be absent. */
static inline bool hc_slot_optional(char format)
{
    return format == 'o' || format == 'b' || format == 'j' || format == 'q' || format == 'c';
}

extern const struct hc_contract hc_contracts[HC_OP_COUNT];

enum hc_status hc_shapes_gemm(const struct hc_call *call);
enum hc_status hc_shapes_conv(const struct hc_call *call);
enum hc_status hc_shapes_batch(const struct hc_call *call);
enum hc_status hc_shapes_pool(const struct hc_call *call);
enum hc_status hc_shapes_loss(const struct hc_call *call);
enum hc_status hc_shapes_table(const struct hc_call *call);
enum hc_status hc_shapes_augment(const struct hc_call *call);

#define HC_SHAPE_TEXT 96

/* "[2, 3]" */
const char *hc_shape_text(const struct hc_tensor *t, char text[HC_SHAPE_TEXT]);

#endif
