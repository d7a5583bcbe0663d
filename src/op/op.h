/* What an operation is: its number, its class, and the facts of ops.def. */
#ifndef HC_OP_OP_H
#define HC_OP_OP_H

#include <stdbool.h>

#define HC_MAX_IN  7
#define HC_MAX_OUT 5

/* The first input and the first output of any op: `call->in[HC_FIRST]`, `call->out[HC_FIRST]`. Code
   that is generic over ops of several families uses them; everybody else the family's names. */
enum { HC_FIRST };

/* The op's number: its row in ops.def, as op.c checks. Every file that sees a call includes
   these numbers, so one more would recompile the whole tree. An op that came later takes the
   next free number, HC_OP_51, and has its name in a header of its own (op/later.h) that few
   files include. */
enum hc_op {
    HC_OP_cast,
    HC_OP_add,
    HC_OP_sub,
    HC_OP_mul,
    HC_OP_div,
    HC_OP_sqrt,
    HC_OP_fma,
    HC_OP_axpy,
    HC_OP_scale,
    HC_OP_unscale,
    HC_OP_sum,
    HC_OP_dot,
    HC_OP_sum_squares,
    HC_OP_gemm,
    HC_OP_conv2d,
    HC_OP_conv2d_bwd_data,
    HC_OP_conv2d_bwd_filter,
    HC_OP_bn_train,
    HC_OP_bn_infer,
    HC_OP_bn_bwd,
    HC_OP_bn_leaky_train,
    HC_OP_bn_leaky_infer,
    HC_OP_bn_leaky_bwd,
    HC_OP_bn_moments,
    HC_OP_bn_combine,
    HC_OP_bn_bwd_sums,
    HC_OP_bn_bwd_apply,
    HC_OP_leaky_relu,
    HC_OP_leaky_relu_bwd,
    HC_OP_avg_pool,
    HC_OP_avg_pool_bwd,
    HC_OP_xent,
    HC_OP_xent_bwd,
    HC_OP_sgd,
    HC_OP_adam,
    HC_OP_adamw,
    HC_OP_master_to_model,
    HC_OP_scaler_update,
    HC_OP_overflow_verdict,
    HC_OP_rates,
    HC_OP_step_log,
    HC_OP_clip,
    HC_OP_augment,
    HC_OP_all_reduce,
    HC_OP_quantize,
    HC_OP_dequantize,
    HC_OP_delayed_scale,
    HC_OP_gemm_q,
    HC_OP_im2col,
    HC_OP_col2im,
    HC_OP_stochastic_cast,

    /* free */
    /* clang-format off */
    HC_OP_51, HC_OP_52, HC_OP_53, HC_OP_54, HC_OP_55, HC_OP_56, HC_OP_57, HC_OP_58, HC_OP_59,
    HC_OP_60, HC_OP_61, HC_OP_62, HC_OP_63, HC_OP_64, HC_OP_65, HC_OP_66, HC_OP_67, HC_OP_68,
    HC_OP_69, HC_OP_70, HC_OP_71, HC_OP_72, HC_OP_73, HC_OP_74, HC_OP_75, HC_OP_76, HC_OP_77,
    HC_OP_78, HC_OP_79, HC_OP_80, HC_OP_81, HC_OP_82, HC_OP_83, HC_OP_84, HC_OP_85, HC_OP_86,
    HC_OP_87, HC_OP_88, HC_OP_89, HC_OP_90, HC_OP_91, HC_OP_92, HC_OP_93, HC_OP_94, HC_OP_95,
    /* clang-format on */
    HC_OP_ROOM /* the length of an array by op */
};

/* How many ops there are: no constant, and no length of an array. */
int hc_op_count(void);
#define HC_OP_COUNT hc_op_count()

enum hc_op_class {
    HC_CLASS_ELEMENTWISE, /* vectors; the same bits on every backend */
    HC_CLASS_REDUCTION,   /* vectors to one element */
    HC_CLASS_GEMM,
    HC_CLASS_CONV,
    HC_CLASS_BATCH_NORM, /* along the channels, over a batch */
    HC_CLASS_ROW_NORM,   /* along each row */
    HC_CLASS_POOL,
    HC_CLASS_LOSS,
    HC_CLASS_OPTIMIZER,  /* vectors and scalars; the same bits on every backend */
    HC_CLASS_CONTROL,    /* what a training step counts and decides, and its batch; the same bits on
                           every backend */
    HC_CLASS_COLLECTIVE, /* the vectors of all ranks to one; the same bits on every backend */
    HC_CLASS_QUANT       /* codes below half, and what goes with them; the same bits everywhere */
};

struct hc_op_info {
    const char *name;
    const char *title;
    enum hc_op_class class_;
    int inputs;
    int outputs;
};

extern const struct hc_op_info hc_ops[HC_OP_ROOM];

/* Whether every backend gives the same bits: in the classes ELEMENTWISE, OPTIMIZER, CONTROL,
   COLLECTIVE and QUANT. */
bool hc_op_settled(enum hc_op op);

/* The op of that name, or HC_OP_COUNT. */
enum hc_op hc_op_by_name(const char *name);

#endif
