/* Ops of the table that are defined by a text: definitions/NAME.op is the contract, and
   src/define/value.h says how far a right implementation may be from it.

   Here are their numbers, the names of their slots in the order of the text, inputs and then
   results, and their options, which are read out of hc_params.later. Arithmetic is fp32, in any
   order; each result is rounded into its tensor's format at the end. Tensors are float, each of a
   format of its own; statistics that the forward pass has kept are fp32. If the first input is fp64
   everything is. An option is taken as it is given, rounded into the format of the arithmetic. */
#ifndef HC_OP_DEFINED_H
#define HC_OP_DEFINED_H

#include <string.h>

#include "op/call.h"

/* The class of these ops, which op.h keeps free. */
#define HC_CLASS_DEFINED HC_CLASS_ROW_NORM

#define HC_OP_rms_norm            HC_OP_51
#define HC_OP_rms_norm_backward   HC_OP_52
#define HC_OP_softmax             HC_OP_53
#define HC_OP_softmax_backward    HC_OP_54
#define HC_OP_gelu                HC_OP_55
#define HC_OP_gelu_backward       HC_OP_56
#define HC_OP_layer_norm          HC_OP_57
#define HC_OP_layer_norm_backward HC_OP_58
#define HC_OP_silu                HC_OP_59
#define HC_OP_silu_backward       HC_OP_60
#define HC_OP_swiglu              HC_OP_61

enum { HC_RMS_X, HC_RMS_W, HC_RMS_Y = 0 };
enum { HC_RMS_BWD_DY, HC_RMS_BWD_X, HC_RMS_BWD_W, HC_RMS_BWD_RSTD };
enum { HC_RMS_BWD_DX, HC_RMS_BWD_DW };
enum { HC_SOFTMAX_X, HC_SOFTMAX_Y = 0 };
enum { HC_SOFTMAX_BWD_DY, HC_SOFTMAX_BWD_Y, HC_SOFTMAX_BWD_DX = 0 };
enum { HC_GELU_X, HC_GELU_Y = 0 };
enum { HC_GELU_BWD_DY, HC_GELU_BWD_X, HC_GELU_BWD_DX = 0 };
enum { HC_LN_X, HC_LN_W, HC_LN_B, HC_LN_Y = 0 };
enum { HC_LN_BWD_DY, HC_LN_BWD_X, HC_LN_BWD_W, HC_LN_BWD_MU, HC_LN_BWD_RSTD };
enum { HC_LN_BWD_DX, HC_LN_BWD_DW, HC_LN_BWD_DB };
enum { HC_SILU_X, HC_SILU_Y = 0 };
enum { HC_SILU_BWD_DY, HC_SILU_BWD_X, HC_SILU_BWD_DX = 0 };
enum { HC_SWIGLU_GATE, HC_SWIGLU_UP, HC_SWIGLU_Y = 0 };

/* Option k of the definition, which is a real number. */
static inline double hc_defined_real(const struct hc_call *call, int k)
{
    double value;
    memcpy(&value, call->params.later + (size_t)k * sizeof value, sizeof value);
    return value;
}

/* "definitions/rms_norm.op". NULL for an op of another class. */
const char *hc_defined_text(enum hc_op op);

#endif
