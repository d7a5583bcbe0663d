/* The descriptors of op/optimizer.h. */
#include "op/optimizer.h"

#include <assert.h>

#include "num/stochastic.h"
#include "op/families.h"
#include "op/params.h"

static const struct hc_param sgd_params[] = {
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
#define ADAM_PARAMS                                                                                \
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

static const struct hc_param adam_params[] = {
    {"weight_decay", HC_PARAM_REAL, offsetof(union hc_params, adam.weight_decay), .usual = "0"},
    ADAM_PARAMS,
    {0}};

static const struct hc_param adamw_params[] = {
    {"weight_decay", HC_PARAM_REAL, offsetof(union hc_params, adam.weight_decay), .usual = "0.01"},
    ADAM_PARAMS,
    {0}};

const char *const hc_adam_order_names[HC_ORDER_COUNT + 1] = {"ours", "torch-fused", "torch-loop",
                                                             "apex", NULL};

const struct hc_optimizer_slots *hc_optimizer_slots(enum hc_op op)
{
    static const struct hc_optimizer_slots sgd = {
        .w = HC_SGD_W,
        .g = HC_SGD_G,
        .m = HC_SGD_MOMENTUM,
        .v = -1,
        .hyper = HC_SGD_HYPER,
        .found_inf = HC_SGD_FOUND_INF,
        .compensation = HC_SGD_COMPENSATION,
        .new_w = HC_SGD_NEW_W,
        .new_m = HC_SGD_NEW_MOMENTUM,
        .new_v = -1,
        .new_compensation = HC_SGD_NEW_COMPENSATION,
    };
    static const struct hc_optimizer_slots adam = {
        .w = HC_ADAM_W,
        .g = HC_ADAM_G,
        .m = HC_ADAM_M,
        .v = HC_ADAM_V,
        .hyper = HC_ADAM_HYPER,
        .found_inf = HC_ADAM_FOUND_INF,
        .compensation = HC_ADAM_COMPENSATION,
        .new_w = HC_ADAM_NEW_W,
        .new_m = HC_ADAM_NEW_M,
        .new_v = HC_ADAM_NEW_V,
        .new_compensation = HC_ADAM_NEW_COMPENSATION,
    };
    assert(op == HC_OP_sgd || op == HC_OP_adam || op == HC_OP_adamw);
    return op == HC_OP_sgd ? &sgd : &adam;
}

const struct hc_stochastic *hc_optimizer_stochastic(enum hc_op op, const union hc_params *params)
{
    if (hc_ops[op].class_ != HC_CLASS_OPTIMIZER)
        return NULL;
    return op == HC_OP_sgd ? &params->sgd.stochastic : &params->adam.stochastic;
}

enum hc_format *hc_optimizer_arithmetic(enum hc_op op, union hc_params *params)
{
    if (hc_ops[op].class_ != HC_CLASS_OPTIMIZER)
        return NULL;
    return op == HC_OP_sgd ? &params->sgd.arithmetic : &params->adam.arithmetic;
}

/* Which weights can be compensated, and in which arithmetic. */
static enum hc_status compensation_rule(const struct hc_call *call, enum hc_format arithmetic)
{
    const struct hc_optimizer_slots *s = hc_optimizer_slots(call->op);
    const char *op = hc_ops[call->op].name;
    enum hc_format w = call->in[s->w].format;
    bool given = call->in[s->compensation].data;
    if (given != (bool)call->out[s->new_compensation].data)
        return hc_fail(HC_INVALID, "%s: one of compensation and new_compensation is absent", op);
    if (given && w != HC_BF16 && w != HC_FP16)
        return hc_fail(HC_INVALID, "%s: compensates bf16 and fp16, not %s", op, hc_formats[w].name);
    if (given && arithmetic != HC_FP32 && arithmetic != w)
        return hc_fail(HC_INVALID, "%s: compensates %s in fp32 or %s, not %s", op,
                       hc_formats[w].name, hc_formats[w].name, hc_formats[arithmetic].name);
    return HC_OK;
}

static enum hc_status stochastic_rule(const struct hc_call *call, enum hc_format arithmetic,
                                      const struct hc_stochastic *p)
{
    const struct hc_optimizer_slots *s = hc_optimizer_slots(call->op);
    const char *op = hc_ops[call->op].name;
    if (!p->on)
        return HC_OK;
    if (call->in[s->w].format != HC_BF16 || arithmetic != HC_FP32)
        return hc_fail(HC_INVALID, "%s: rounds stochastically from fp32 into bf16 alone", op);
    if (p->first < 0 || p->first % HC_ROUND_BLOCK != 0)
        return hc_fail(HC_INVALID, "%s: the first element is %lld, not a multiple of %d", op,
                       (long long)p->first, (int)HC_ROUND_BLOCK);
    if (call->in[s->compensation].data)
        return hc_fail(HC_INVALID, "%s: either rounds stochastically or compensates", op);
    return HC_OK;
}

static enum hc_status arithmetic_rule(const struct hc_call *call, enum hc_format f)
{
    if (hc_call_fp64(call) ? f == HC_FP64 : f == HC_FP32 || f == HC_BF16 || f == HC_FP16)
        return compensation_rule(call, f);
    return hc_fail(HC_INVALID, "%s: arithmetic is not fp32, bf16 or fp16", hc_ops[call->op].name);
}

static enum hc_status sgd_rule(const struct hc_call *call)
{
    const struct hc_sgd *p = &call->params.sgd;
    enum hc_status status = arithmetic_rule(call, p->arithmetic);
    return status == HC_OK ? stochastic_rule(call, p->arithmetic, &p->stochastic) : status;
}

/* Orders that are not ours lack some of what ours has. */
static enum hc_status order_rule(const struct hc_call *call)
{
    const char *op = hc_ops[call->op].name;
    const struct hc_adam *p = &call->params.adam;
    if ((unsigned)p->order >= HC_ORDER_COUNT)
        return hc_fail(HC_INVALID, "%s: no order %d", op, (int)p->order);
    const char *name = hc_adam_order_names[p->order];
    if (p->order == HC_ORDER_OURS)
        return HC_OK;
    if (p->eps_inside || call->in[HC_ADAM_COMPENSATION].data)
        return hc_fail(HC_INVALID, "%s: the order %s has no %s", op, name,
                       p->eps_inside ? "eps inside the root" : "compensation");
    if (p->order != HC_ORDER_TORCH_LOOP && hc_formats[p->arithmetic].bytes == 2)
        return hc_fail(HC_INVALID, "%s: the order %s is one of fp32, not %s", op, name,
                       hc_formats[p->arithmetic].name);
    return HC_OK;
}

static enum hc_status adam_rule(const struct hc_call *call)
{
    const struct hc_adam *p = &call->params.adam;
    enum hc_status status = arithmetic_rule(call, p->arithmetic);
    if (status == HC_OK)
        status = order_rule(call);
    return status == HC_OK ? stochastic_rule(call, p->arithmetic, &p->stochastic) : status;
}

static const char *const hyper[HC_HYPER_COUNT] = {
    [HC_HYPER_LR] = "lr", [HC_HYPER_BETA1] = "beta1", [HC_HYPER_STEP] = "step"};

static const struct hc_descriptor sgd_descriptor = {
    .params = sgd_params,
    .in = {[HC_SGD_W] = {"w", HC_ALLOW_FLOAT, .values = HC_VALUES_DATA},
           [HC_SGD_G] = {"g", HC_ALLOW_FLOAT, .values = HC_VALUES_DATA},
           [HC_SGD_MOMENTUM] = {"momentum", HC_ALLOW_FLOAT, .values = HC_VALUES_DATA},
           [HC_SGD_HYPER] = {"hyper", HC_ALLOW_FP32, HC_SIZE_FIXED, HC_HYPER_COUNT,
                             .elements = hyper, .values = HC_VALUES_HYPER},
           [HC_SGD_FOUND_INF] = {"found_inf", HC_ALLOW_FP32, HC_SIZE_FIXED, 1, .optional = true,
                                 .values = HC_VALUES_FLAG},
           [HC_SGD_COMPENSATION] = {"compensation", HC_ALLOW_LIKE, .like = HC_SGD_W,
                                    .optional = true, .values = HC_VALUES_COMPENSATION}},
    .out = {[HC_SGD_NEW_W] = {"new_w", HC_ALLOW_LIKE, .like = HC_SGD_W, .in_place = true},
            [HC_SGD_NEW_MOMENTUM] = {"new_momentum", HC_ALLOW_LIKE, .like = HC_SGD_MOMENTUM,
                                     .in_place = true},
            [HC_SGD_NEW_COMPENSATION] = {"new_compensation", HC_ALLOW_LIKE,
                                         .like = HC_SGD_COMPENSATION, .in_place = true,
                                         .optional = true}},
    .fp64 = true,
    .rule = sgd_rule,
};

#define ADAM                                                                                       \
    .in = {[HC_ADAM_W] = {"w", HC_ALLOW_FLOAT, .values = HC_VALUES_DATA},                          \
           [HC_ADAM_G] = {"g", HC_ALLOW_FLOAT, .values = HC_VALUES_DATA},                          \
           [HC_ADAM_M] = {"m", HC_ALLOW_FLOAT, .values = HC_VALUES_DATA},                          \
           [HC_ADAM_V] = {"v", HC_ALLOW_FLOAT, .values = HC_VALUES_SECOND_MOMENT},                 \
           [HC_ADAM_HYPER] = {"hyper", HC_ALLOW_FP32, HC_SIZE_FIXED, HC_HYPER_COUNT,               \
                              .elements = hyper, .values = HC_VALUES_HYPER},                       \
           [HC_ADAM_FOUND_INF] = {"found_inf", HC_ALLOW_FP32, HC_SIZE_FIXED, 1, .optional = true,  \
                                  .values = HC_VALUES_FLAG},                                       \
           [HC_ADAM_COMPENSATION] = {"compensation", HC_ALLOW_LIKE, .like = HC_ADAM_W,             \
                                     .optional = true, .values = HC_VALUES_COMPENSATION}},         \
    .out = {[HC_ADAM_NEW_W] = {"new_w", HC_ALLOW_LIKE, .like = HC_ADAM_W, .in_place = true},       \
            [HC_ADAM_NEW_M] = {"new_m", HC_ALLOW_LIKE, .like = HC_ADAM_M, .in_place = true},       \
            [HC_ADAM_NEW_V] = {"new_v", HC_ALLOW_LIKE, .like = HC_ADAM_V, .in_place = true},       \
            [HC_ADAM_NEW_COMPENSATION] = {"new_compensation", HC_ALLOW_LIKE,                       \
                                          .like = HC_ADAM_COMPENSATION, .in_place = true,          \
                                          .optional = true}},                                      \
    .fp64 = true, .rule = adam_rule

static const struct hc_descriptor adam_descriptor = {ADAM, .params = adam_params};
static const struct hc_descriptor adamw_descriptor = {ADAM, .params = adamw_params};

const struct hc_descriptor *const hc_optimizer_ops[HC_OP_ROOM] = {
    [HC_OP_sgd] = &sgd_descriptor,
    [HC_OP_adam] = &adam_descriptor,
    [HC_OP_adamw] = &adamw_descriptor,
};
