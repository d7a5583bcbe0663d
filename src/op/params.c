#include "op/params.h"
#include "op/later.h"

#include <stdint.h>
#include <string.h>

const char *const hc_param_kinds[HC_PARAM_KIND_COUNT] = {
    [HC_PARAM_REAL] = "real",     [HC_PARAM_SINGLE] = "real", [HC_PARAM_INTEGER] = "integer",
    [HC_PARAM_LONG] = "integer",  [HC_PARAM_FLAG] = "flag",   [HC_PARAM_WORD] = "word",
    [HC_PARAM_FORMAT] = "format", [HC_PARAM_SEED] = "seed",
};

static const struct hc_param cast[] = {
    {"direction", HC_PARAM_WORD, offsetof(union hc_params, cast.direction), .usual = "nearest",
     .words = hc_direction_names, .word_count = HC_DIRECTION_COUNT},
    {"saturate", HC_PARAM_FLAG, offsetof(union hc_params, cast.saturate), .usual = "false"},
    {0},
};

static const struct hc_param axpy[] = {
    {"alpha", HC_PARAM_REAL, offsetof(union hc_params, axpy.alpha), .usual = "1"},
    {0},
};

static const struct hc_param unscale[] = {
    {"reciprocal", HC_PARAM_FLAG, offsetof(union hc_params, unscale.reciprocal), .usual = "false"},
    {0},
};

static const struct hc_param reduce[] = {
    {"accumulator", HC_PARAM_FORMAT, offsetof(union hc_params, reduce.accumulator),
     .usual = "fp32"},
    {0},
};

static const struct hc_param gemm[] = {
    {"transpose_a", HC_PARAM_FLAG, offsetof(union hc_params, gemm.transpose_a), .usual = "false"},
    {"transpose_b", HC_PARAM_FLAG, offsetof(union hc_params, gemm.transpose_b), .usual = "false"},
    {"alpha", HC_PARAM_REAL, offsetof(union hc_params, gemm.alpha), .usual = "1"},
    {"beta", HC_PARAM_REAL, offsetof(union hc_params, gemm.beta), .usual = "0"},
    {"tf32", HC_PARAM_FLAG, offsetof(union hc_params, gemm.tf32), .usual = "false"},
    {"half_accumulator", HC_PARAM_FLAG, offsetof(union hc_params, gemm.half_accumulator),
     .usual = "false"},
    {0},
};

static const struct hc_param conv[] = {
    {"stride", HC_PARAM_INTEGER, offsetof(union hc_params, conv.stride), .usual = "1"},
    {"pad", HC_PARAM_INTEGER, offsetof(union hc_params, conv.pad), .usual = "0"},
    {"tf32", HC_PARAM_FLAG, offsetof(union hc_params, conv.tf32), .usual = "false"},
    {0},
};

static const struct hc_param pool[] = {
    {"window", HC_PARAM_INTEGER, offsetof(union hc_params, pool.window), .usual = "2"},
    {0},
};

static const struct hc_param columns[] = {
    {"kernel", HC_PARAM_INTEGER, offsetof(union hc_params, columns.kernel), .usual = "3"},
    {"stride", HC_PARAM_INTEGER, offsetof(union hc_params, columns.stride), .usual = "1"},
    {"pad", HC_PARAM_INTEGER, offsetof(union hc_params, columns.pad), .usual = "1"},
    {0},
};

/* Batch norm without leaky ReLU begins behind the slope. */
static const struct hc_param bn_leaky_train[] = {
    {"slope", HC_PARAM_REAL, offsetof(union hc_params, bn.slope), .usual = "0.01"},
    {"eps", HC_PARAM_REAL, offsetof(union hc_params, bn.eps), .usual = "1e-5"},
    {"momentum", HC_PARAM_REAL, offsetof(union hc_params, bn.momentum), .usual = "0.1"},
    {0},
};

/* The backward pass has 1 / sqrt(variance + eps) from training; libraries take eps all the same. */
static const struct hc_param bn_leaky[] = {
    {"slope", HC_PARAM_REAL, offsetof(union hc_params, bn.slope), .usual = "0.01"},
    {"eps", HC_PARAM_REAL, offsetof(union hc_params, bn.eps), .usual = "1e-5"},
    {0},
};

static const struct hc_param leaky[] = {
    {"slope", HC_PARAM_REAL, offsetof(union hc_params, leaky.slope), .usual = "0.01"},
    {0},
};

static const struct hc_param xent[] = {
    {"sum", HC_PARAM_FLAG, offsetof(union hc_params, xent.sum), .usual = "false"},
    {0},
};

static const struct hc_param sgd[] = {
    {"weight_decay", HC_PARAM_REAL, offsetof(union hc_params, sgd.weight_decay), .usual = "0"},
    {"decoupled", HC_PARAM_FLAG, offsetof(union hc_params, sgd.decoupled), .usual = "false"},
    {"nesterov", HC_PARAM_FLAG, offsetof(union hc_params, sgd.nesterov), .usual = "false"},
    {"rate_inside", HC_PARAM_FLAG, offsetof(union hc_params, sgd.rate_inside), .usual = "false"},
    {"arithmetic", HC_PARAM_FORMAT, offsetof(union hc_params, sgd.arithmetic), .usual = "fp32"},
    {"stochastic", HC_PARAM_FLAG, offsetof(union hc_params, sgd.stochastic.on), .usual = "false"},
    {"seed", HC_PARAM_SEED, offsetof(union hc_params, sgd.stochastic.seed), .usual = "0"},
    {"first", HC_PARAM_LONG, offsetof(union hc_params, sgd.stochastic.first), .usual = "0"},
    {0},
};

/* What follows weight_decay, which PyTorch has in adamw alone unless it is asked for. */
#define ADAM                                                                                       \
    {"beta2", HC_PARAM_REAL, offsetof(union hc_params, adam.beta2), .usual = "0.999"},             \
        {"eps", HC_PARAM_REAL, offsetof(union hc_params, adam.eps), .usual = "1e-8"},              \
        {"eps_inside", HC_PARAM_FLAG, offsetof(union hc_params, adam.eps_inside),                  \
         .usual = "false"},                                                                        \
        {"order",                                                                                  \
         HC_PARAM_WORD,                                                                            \
         offsetof(union hc_params, adam.order),                                                    \
         .usual = "ours",                                                                          \
         .words = hc_adam_order_names,                                                             \
         .word_count = HC_ORDER_COUNT},                                                            \
        {"arithmetic", HC_PARAM_FORMAT, offsetof(union hc_params, adam.arithmetic),                \
         .usual = "fp32"},                                                                         \
        {"stochastic", HC_PARAM_FLAG, offsetof(union hc_params, adam.stochastic.on),               \
         .usual = "false"},                                                                        \
        {"seed", HC_PARAM_SEED, offsetof(union hc_params, adam.stochastic.seed), .usual = "0"},    \
    {                                                                                              \
        "first", HC_PARAM_LONG, offsetof(union hc_params, adam.stochastic.first), .usual = "0"     \
    }

static const struct hc_param adam[] = {
    {"weight_decay", HC_PARAM_REAL, offsetof(union hc_params, adam.weight_decay), .usual = "0"},
    ADAM,
    {0}};

static const struct hc_param adamw[] = {
    {"weight_decay", HC_PARAM_REAL, offsetof(union hc_params, adam.weight_decay), .usual = "0.01"},
    ADAM,
    {0}};

static const char *const caps[] = {
    [HC_CAP_NONE] = "none",
    [HC_CAP_BELOW] = "below",
    [HC_CAP_CLAMP] = "clamp",
    [HC_CAP_FINITE] = "finite",
};

static const char *const growths[] = {
    [HC_WHEN_EQUAL] = "equal", [HC_WHEN_REACHED] = "reached", [HC_WHEN_MULTIPLE] = "multiple"};

/* torch.amp.GradScaler's. */
static const struct hc_param scaler[] = {
    {"growth", HC_PARAM_SINGLE, offsetof(union hc_params, scaler.growth), .usual = "2"},
    {"backoff", HC_PARAM_SINGLE, offsetof(union hc_params, scaler.backoff), .usual = "0.5"},
    {"min_checked_scale", HC_PARAM_SINGLE, offsetof(union hc_params, scaler.min_checked_scale),
     .usual = "-1"},
    {"floor", HC_PARAM_SINGLE, offsetof(union hc_params, scaler.floor), .usual = "0"},
    {"max_scale", HC_PARAM_SINGLE, offsetof(union hc_params, scaler.max_scale), .usual = "inf"},
    {"cap", HC_PARAM_WORD, offsetof(union hc_params, scaler.cap), .usual = "finite", .words = caps,
     .word_count = HC_CAP_FINITE + 1},
    {"when", HC_PARAM_WORD, offsetof(union hc_params, scaler.when), .usual = "equal",
     .words = growths, .word_count = HC_WHEN_MULTIPLE + 1},
    {"interval", HC_PARAM_INTEGER, offsetof(union hc_params, scaler.interval), .usual = "2000"},
    {"delay", HC_PARAM_INTEGER, offsetof(union hc_params, scaler.delay), .usual = "0"},
    {"hysteresis", HC_PARAM_INTEGER, offsetof(union hc_params, scaler.hysteresis), .usual = "0"},
    {"skip_on_overflow", HC_PARAM_FLAG, offsetof(union hc_params, scaler.skip_on_overflow),
     .usual = "true"},
    {"wait_for_first_step", HC_PARAM_FLAG, offsetof(union hc_params, scaler.wait_for_first_step),
     .usual = "false"},
    {"keep_clean", HC_PARAM_FLAG, offsetof(union hc_params, scaler.keep_clean), .usual = "false"},
    {"error_at_floor", HC_PARAM_FLAG, offsetof(union hc_params, scaler.error_at_floor),
     .usual = "false"},
    {"refill_hysteresis", HC_PARAM_FLAG, offsetof(union hc_params, scaler.refill_hysteresis),
     .usual = "false"},
    {0},
};

static const struct hc_param clip[] = {
    {"max_norm", HC_PARAM_REAL, offsetof(union hc_params, clip.max_norm), .usual = "1"},
    {0},
};

static const struct hc_param augment[] = {
    {"seed", HC_PARAM_SEED, offsetof(union hc_params, augment.seed), .usual = "0"},
    {"batches", HC_PARAM_LONG, offsetof(union hc_params, augment.batches), .usual = "1"},
    {"pad", HC_PARAM_INTEGER, offsetof(union hc_params, augment.pad), .usual = "4"},
    {"crops", HC_PARAM_FLAG, offsetof(union hc_params, augment.crops), .usual = "false"},
    {"mean", HC_PARAM_REAL, offsetof(union hc_params, augment.mean), .usual = "0,0,0", .count = 3},
    {"deviation", HC_PARAM_REAL, offsetof(union hc_params, augment.deviation), .usual = "1,1,1",
     .count = 3},
    {0},
};

static const struct hc_param all_reduce[] = {
    {"algorithm", HC_PARAM_WORD, offsetof(union hc_params, all_reduce.algorithm), .usual = "tree",
     .words = hc_collective_names, .word_count = HC_COLLECTIVE_LIBRARY},
    {"sum", HC_PARAM_FORMAT, offsetof(union hc_params, all_reduce.sum), .usual = "fp32"},
    {"before", HC_PARAM_REAL, offsetof(union hc_params, all_reduce.before), .usual = "1"},
    {"after", HC_PARAM_REAL, offsetof(union hc_params, all_reduce.after), .usual = "1"},
    {"multiplies", HC_PARAM_FLAG, offsetof(union hc_params, all_reduce.multiplies),
     .usual = "false"},
    {0},
};

static const struct hc_param quantize[] = {
    {"rule", HC_PARAM_WORD, offsetof(union hc_params, quantize.rule), .usual = "te-current",
     .words = hc_scale_rule_names, .word_count = HC_SCALE_RULE_COUNT},
    {"rows", HC_PARAM_LONG, offsetof(union hc_params, quantize.rows), .usual = "0",
     .note = "the rows of a block, 0 for all"},
    {"columns", HC_PARAM_LONG, offsetof(union hc_params, quantize.columns), .usual = "0",
     .note = "the columns of a block, 0 for all"},
    {"transpose", HC_PARAM_FLAG, offsetof(union hc_params, quantize.transpose), .usual = "false",
     .note = "the codes are those of x's transpose"},
    {"hadamard", HC_PARAM_FLAG, offsetof(union hc_params, quantize.hadamard), .usual = "false",
     .note = "rows go through the signed 16x16 matrix first"},
    {"random_bits", HC_PARAM_INTEGER, offsetof(union hc_params, quantize.random_bits), .usual = "0",
     .note = "k of stochastic rounding, 0 for rounding to nearest"},
    {"seed", HC_PARAM_SEED, offsetof(union hc_params, quantize.seed), .usual = "0"},
    {"step", HC_PARAM_LONG, offsetof(union hc_params, quantize.step), .usual = "0"},
    {0},
};

static const struct hc_param dequantize[] = {
    {"rows", HC_PARAM_LONG, offsetof(union hc_params, dequantize.rows), .usual = "0",
     .note = "the rows of a block, 0 for all"},
    {"columns", HC_PARAM_LONG, offsetof(union hc_params, dequantize.columns), .usual = "0",
     .note = "the columns of a block, 0 for all"},
    {0},
};

static const struct hc_param delayed_scale[] = {
    {"rule", HC_PARAM_WORD, offsetof(union hc_params, delayed_scale.rule), .usual = "te-delayed",
     .words = hc_delayed_rule_names, .word_count = HC_DELAYED_RULE_COUNT},
    {"codes", HC_PARAM_FORMAT, offsetof(union hc_params, delayed_scale.codes), .usual = "e4m3",
     .note = "whose largest number the scale leads to"},
    {"margin", HC_PARAM_INTEGER, offsetof(union hc_params, delayed_scale.margin), .usual = "0",
     .note = "scales are 2^-margin times as large"},
    {"most_recent", HC_PARAM_FLAG, offsetof(union hc_params, delayed_scale.most_recent),
     .usual = "false", .note = "the last amax, not the largest of the history"},
    {0},
};

static const struct hc_param gemm_q[] = {
    {"a_rows", HC_PARAM_LONG, offsetof(union hc_params, gemm_q.a_rows), .usual = "0",
     .note = "the size of a block of a, 0 for all"},
    {"a_columns", HC_PARAM_LONG, offsetof(union hc_params, gemm_q.a_columns), .usual = "0",
     .note = "the size of a block of a, 0 for all"},
    {"b_rows", HC_PARAM_LONG, offsetof(union hc_params, gemm_q.b_rows), .usual = "0",
     .note = "the size of a block of b, 0 for all"},
    {"b_columns", HC_PARAM_LONG, offsetof(union hc_params, gemm_q.b_columns), .usual = "0",
     .note = "the size of a block of b, 0 for all"},
    {"promote", HC_PARAM_LONG, offsetof(union hc_params, gemm_q.promote), .usual = "0",
     .note = "the longest sum in the unit's own accumulator, 0 for any"},
    {0},
};

static const struct hc_param stochastic_cast[] = {
    {"bits", HC_PARAM_INTEGER, offsetof(union hc_params, stochastic_cast.bits), .usual = "8",
     .note = "k, 1 to 24"},
    {"saturate", HC_PARAM_FLAG, offsetof(union hc_params, stochastic_cast.saturate),
     .usual = "false"},
    {0},
};

static const struct hc_param *const by_op[HC_OP_ROOM] = {
    [HC_OP_cast] = cast,
    [HC_OP_axpy] = axpy,
    [HC_OP_unscale] = unscale,
    [HC_OP_sum] = reduce,
    [HC_OP_dot] = reduce,
    [HC_OP_sum_squares] = reduce,
    [HC_OP_gemm] = gemm,
    [HC_OP_conv2d] = conv,
    [HC_OP_conv2d_bwd_data] = conv,
    [HC_OP_conv2d_bwd_filter] = conv,
    [HC_OP_bn_train] = bn_leaky_train + 1,
    [HC_OP_bn_infer] = bn_leaky + 1,
    [HC_OP_bn_bwd] = bn_leaky + 1,
    [HC_OP_bn_leaky_train] = bn_leaky_train,
    [HC_OP_bn_leaky_infer] = bn_leaky,
    [HC_OP_bn_leaky_bwd] = bn_leaky,
    [HC_OP_bn_combine] = bn_leaky_train + 1,
    [HC_OP_leaky_relu] = leaky,
    [HC_OP_leaky_relu_bwd] = leaky,
    [HC_OP_avg_pool] = pool,
    [HC_OP_avg_pool_bwd] = pool,
    [HC_OP_im2col] = columns,
    [HC_OP_col2im] = columns,
    [HC_OP_xent] = xent,
    [HC_OP_xent_bwd] = xent,
    [HC_OP_sgd] = sgd,
    [HC_OP_adam] = adam,
    [HC_OP_adamw] = adamw,
    [HC_OP_scaler_update] = scaler,
    [HC_OP_overflow_verdict] = scaler,
    [HC_OP_clip] = clip,
    [HC_OP_augment] = augment,
    [HC_OP_all_reduce] = all_reduce,
    [HC_OP_quantize] = quantize,
    [HC_OP_dequantize] = dequantize,
    [HC_OP_delayed_scale] = delayed_scale,
    [HC_OP_gemm_q] = gemm_q,
    [HC_OP_stochastic_cast] = stochastic_cast,
};

const struct hc_param *hc_op_params(enum hc_op op)
{
    static const struct hc_param none[] = {{0}};
    return by_op[op] ? by_op[op] : none;
}

const struct hc_param *hc_op_param(enum hc_op op, const char *name)
{
    const struct hc_param *p = hc_op_params(op);
    while (p->name && strcmp(p->name, name) != 0)
        p++;
    return p->name ? p : NULL;
}

size_t hc_param_size(const struct hc_param *param)
{
    static const size_t sizes[HC_PARAM_KIND_COUNT] = {
        [HC_PARAM_REAL] = sizeof(double), [HC_PARAM_SINGLE] = sizeof(float),
        [HC_PARAM_INTEGER] = sizeof(int), [HC_PARAM_LONG] = sizeof(int64_t),
        [HC_PARAM_FLAG] = sizeof(bool),   [HC_PARAM_WORD] = sizeof(int),
        [HC_PARAM_FORMAT] = sizeof(int),  [HC_PARAM_SEED] = sizeof(uint64_t),
    };
    return sizes[param->kind];
}

const char *hc_param_choice(const struct hc_param *param, int choice)
{
    if (param->kind == HC_PARAM_FORMAT)
        return choice >= 0 && choice < HC_FORMAT_COUNT ? hc_formats[choice].name : NULL;
    return choice >= 0 && choice < param->word_count ? param->words[choice] : NULL;
}
