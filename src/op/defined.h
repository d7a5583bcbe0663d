/* Ops of the table that are defined by a text: definitions/NAME.op is the contract, and
   src/define/value.h says how far a right implementation may be from it.

   Here are their numbers, the names of their slots in the order of the text, inputs and then
   results, and their options, which are read out of hc_params.later. Arithmetic is fp32, in any
   order; each result is rounded into its tensor's format at the end. Tensors are float, each of a
   format of its own; statistics that the forward pass has kept are fp32. If the first input is fp64
   everything is. An option is taken as it is given, rounded into the format of the arithmetic. */
#ifndef HC_OP_DEFINED_H
#define HC_OP_DEFINED_H

#include <math.h>
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
#define HC_OP_swiglu_backward     HC_OP_62
#define HC_OP_rms_norm_kept       HC_OP_63
#define HC_OP_layer_norm_kept     HC_OP_64
#define HC_OP_embedding           HC_OP_65
#define HC_OP_embedding_backward  HC_OP_66
#define HC_OP_rotary_halves       HC_OP_67
#define HC_OP_attention           HC_OP_68
#define HC_OP_attention_backward  HC_OP_69
#define HC_OP_swap_axes           HC_OP_70

#define HC_OP_attention_general              HC_OP_71
#define HC_OP_attention_general_backward     HC_OP_72
#define HC_OP_softmax_general                HC_OP_73
#define HC_OP_softmax_general_backward       HC_OP_74
#define HC_OP_log_softmax                    HC_OP_75
#define HC_OP_log_softmax_backward           HC_OP_76
#define HC_OP_cross_entropy_general          HC_OP_77
#define HC_OP_cross_entropy_general_backward HC_OP_78
#define HC_OP_dropout_bits                   HC_OP_79
#define HC_OP_attention_merge                HC_OP_80
#define HC_OP_attention_merge_backward       HC_OP_81
#define HC_OP_add_rms_norm                   HC_OP_82
#define HC_OP_add_rms_norm_backward          HC_OP_83
#define HC_OP_add_layer_norm_kept            HC_OP_84
#define HC_OP_add_layer_norm_backward        HC_OP_85
#define HC_OP_linear_cross_entropy           HC_OP_86
#define HC_OP_linear_cross_entropy_backward  HC_OP_87
#define HC_OP_gelu_tanh                      HC_OP_88
#define HC_OP_gelu_tanh_backward             HC_OP_89

/* What keeps statistics, or has options or the logarithm, has its op's slots, and theirs. */
enum { HC_RMS_X, HC_RMS_W, HC_RMS_Y = 0, HC_RMS_RSTD };
enum { HC_RMS_BWD_DY, HC_RMS_BWD_X, HC_RMS_BWD_W, HC_RMS_BWD_RSTD };
enum { HC_RMS_BWD_DX, HC_RMS_BWD_DW };
enum { HC_SOFTMAX_X, HC_SOFTMAX_MASK, HC_SOFTMAX_Y = 0 };
enum { HC_SOFTMAX_BWD_DY, HC_SOFTMAX_BWD_Y, HC_SOFTMAX_BWD_DX = 0 };
enum { HC_CE_Z, HC_CE_TARGET, HC_CE_W, HC_CE_LOSS = 0, HC_CE_ROWS, HC_CE_LSE };
enum { HC_CE_BWD_LSE = HC_CE_W + 1, HC_CE_BWD_DLOSS, HC_CE_BWD_DZ = 0 };
enum { HC_DROPOUT_X, HC_DROPOUT_BITS, HC_DROPOUT_Y = 0 };
enum { HC_MERGE_A, HC_MERGE_LA, HC_MERGE_B, HC_MERGE_LB, HC_MERGE_Y = 0, HC_MERGE_LSE };
enum { HC_MERGE_BWD_LSE = HC_MERGE_LB + 1, HC_MERGE_BWD_DY, HC_MERGE_BWD_DLSE };
enum { HC_MERGE_BWD_DA, HC_MERGE_BWD_DLA, HC_MERGE_BWD_DB, HC_MERGE_BWD_DLB };
enum { HC_ADD_X, HC_ADD_R, HC_ADD_W, HC_ADD_B };
enum { HC_ADD_Y, HC_ADD_S, HC_ADD_RSTD, HC_ADD_MU = HC_ADD_RSTD, HC_ADD_LN_RSTD };
enum { HC_ADD_BWD_DY, HC_ADD_BWD_DS, HC_ADD_BWD_S, HC_ADD_BWD_W, HC_ADD_BWD_RSTD };
enum { HC_ADD_BWD_MU = HC_ADD_BWD_RSTD, HC_ADD_BWD_LN_RSTD };
enum { HC_ADD_BWD_DX, HC_ADD_BWD_DW, HC_ADD_BWD_DB };
enum { HC_LCE_X, HC_LCE_W, HC_LCE_TARGET, HC_LCE_DLOSS, HC_LCE_LOSS = 0 };
enum { HC_LCE_DX, HC_LCE_DW };
enum { HC_GELU_X, HC_GELU_Y = 0 };
enum { HC_GELU_BWD_DY, HC_GELU_BWD_X, HC_GELU_BWD_DX = 0 };
enum { HC_LN_X, HC_LN_W, HC_LN_B, HC_LN_Y = 0, HC_LN_MU, HC_LN_RSTD };
enum { HC_LN_BWD_DY, HC_LN_BWD_X, HC_LN_BWD_W, HC_LN_BWD_MU, HC_LN_BWD_RSTD };
enum { HC_LN_BWD_DX, HC_LN_BWD_DW, HC_LN_BWD_DB };
enum { HC_SILU_X, HC_SILU_Y = 0 };
enum { HC_SILU_BWD_DY, HC_SILU_BWD_X, HC_SILU_BWD_DX = 0 };
enum { HC_SWIGLU_GATE, HC_SWIGLU_UP, HC_SWIGLU_Y = 0 };
enum { HC_SWIGLU_BWD_GATE, HC_SWIGLU_BWD_UP, HC_SWIGLU_BWD_DY };
enum { HC_SWIGLU_BWD_DGATE, HC_SWIGLU_BWD_DUP };
enum { HC_EMBEDDING_W, HC_EMBEDDING_ID, HC_EMBEDDING_Y = 0 };
enum { HC_EMBEDDING_BWD_DY, HC_EMBEDDING_BWD_ID, HC_EMBEDDING_BWD_DW = 0 };
enum { HC_ROTARY_X, HC_ROTARY_CO, HC_ROTARY_SI, HC_ROTARY_Y = 0 };
enum { HC_ATTENTION_Q, HC_ATTENTION_K, HC_ATTENTION_V, HC_ATTENTION_SINK };
enum { HC_ATTENTION_Y, HC_ATTENTION_LSE };
enum {
    HC_ATTENTION_BWD_Q,
    HC_ATTENTION_BWD_K,
    HC_ATTENTION_BWD_V,
    HC_ATTENTION_BWD_O,
    HC_ATTENTION_BWD_LSE,
    HC_ATTENTION_BWD_DY
};
enum { HC_SWAP_X, HC_SWAP_Y = 0 };
enum { HC_ATTENTION_BWD_DQ, HC_ATTENTION_BWD_DK, HC_ATTENTION_BWD_DV, HC_ATTENTION_BWD_DSINK };

/* The options of softmax_general, in order, and what a row is that sees nothing. */
enum { HC_SOFTMAX_SCALE, HC_SOFTMAX_CAUSAL, HC_SOFTMAX_DEAD };
enum { HC_SOFTMAX_DEAD_ZERO, HC_SOFTMAX_DEAD_NAN, HC_SOFTMAX_DEAD_UNIFORM };

enum { HC_DROPOUT_P, HC_DROPOUT_THRESHOLD };

/* The options of add_rms_norm and add_layer_norm_kept, and those of the former's gradient. */
enum { HC_ADD_EPS, HC_ADD_OFFSET, HC_ADD_CAST, HC_ADD_STORED, HC_ADD_LN_STORED = 1 };
enum { HC_ADD_BWD_OFFSET, HC_ADD_BWD_CAST };

/* The options of linear_cross_entropy, and more of its gradient's. */
enum { HC_LCE_IGNORE, HC_LCE_STORED, HC_LCE_CHUNK };

/* The options of cross_entropy_general, in order; its gradient has no HC_CE_EMPTY. */
enum {
    HC_CE_IGNORE,
    HC_CE_SMOOTHING,
    HC_CE_ZETA,
    HC_CE_CAP,
    HC_CE_REDUCTION,
    HC_CE_TOTAL,
    HC_CE_EMPTY
};
enum { HC_CE_MEAN, HC_CE_SUM, HC_CE_OVER_TOTAL };

/* Option k of the definition, which is a real number. Where its usual value is an expression of
   extents, NaN stands for that. */
static inline double hc_defined_real(const struct hc_call *call, int k)
{
    double value;
    memcpy(&value, call->params.later + (size_t)k * sizeof value, sizeof value);
    return value;
}

/* Option k, which is an integer, or true or false. */
static inline int64_t hc_defined_integer(const struct hc_call *call, int k)
{
    int64_t value;
    memcpy(&value, call->params.later + (size_t)k * sizeof value, sizeof value);
    return value;
}

static inline bool hc_defined_flag(const struct hc_call *call, int k)
{
    return call->params.later[(size_t)k * sizeof(double)] != 0;
}

/* The scale of an attention's scores: its first option, usually 1 / sqrt(D). */
static inline double hc_attention_scale(const struct hc_call *call)
{
    double scale = hc_defined_real(call, 0);
    return scale == scale ? scale : 1 / sqrt((double)call->in[HC_ATTENTION_Q].shape[2]);
}

/* "definitions/rms_norm.op". NULL for an op of another class. */
const char *hc_defined_text(enum hc_op op);

#endif
