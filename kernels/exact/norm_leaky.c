/* Batch norm and leaky ReLU in one op: the two ops one after the other, as the contract says. */
#include "kernels/exact/exact.h"

/* `op` on the call's tensors, then leaky ReLU in place on its output. */
static enum hc_status then_leaky(struct hc_queue *queue, const struct hc_call *call, enum hc_op op)
{
    struct hc_call norm = *call;
    norm.op = op;
    struct hc_call leaky = {.op = HC_OP_leaky_relu,
                            .in = {[HC_LEAKY_X] = call->out[HC_BN_Y]},
                            .out = {[HC_LEAKY_Y] = call->out[HC_BN_Y]},
                            .params.leaky = {call->params.bn.slope}};
    enum hc_status status = hc_exact_run(queue, &norm);
    return status == HC_OK ? hc_exact_run(queue, &leaky) : status;
}

enum hc_status hc_exact_bn_leaky_train(struct hc_queue *queue, const struct hc_call *call)
{
    return then_leaky(queue, call, HC_OP_bn_train);
}

enum hc_status hc_exact_bn_leaky_infer(struct hc_queue *queue, const struct hc_call *call)
{
    return then_leaky(queue, call, HC_OP_bn_infer);
}

/* dz lies in the scratch. */
enum hc_status hc_exact_bn_leaky_bwd(struct hc_queue *queue, const struct hc_call *call)
{
    struct hc_tensor dz = call->in[HC_BN_LEAKY_BWD_DY];
    dz.data = call->scratch;
    struct hc_call leaky = {.op = HC_OP_leaky_relu_bwd,
                            .in = {[HC_LEAKY_BWD_Y] = call->in[HC_BN_LEAKY_BWD_Y],
                                   [HC_LEAKY_BWD_DY] = call->in[HC_BN_LEAKY_BWD_DY]},
                            .out = {[HC_LEAKY_BWD_DX] = dz},
                            .params.leaky = {call->params.bn.slope}};
    struct hc_call norm = {.op = HC_OP_bn_bwd,
                           .in = {[HC_BN_BWD_X] = call->in[HC_BN_LEAKY_BWD_X],
                                  [HC_BN_BWD_DY] = dz,
                                  [HC_BN_BWD_GAMMA] = call->in[HC_BN_LEAKY_BWD_GAMMA],
                                  [HC_BN_BWD_MEAN] = call->in[HC_BN_LEAKY_BWD_MEAN],
                                  [HC_BN_BWD_INVSTD] = call->in[HC_BN_LEAKY_BWD_INVSTD]},
                           .out = {[HC_BN_BWD_DX] = call->out[HC_BN_BWD_DX],
                                   [HC_BN_BWD_DGAMMA] = call->out[HC_BN_BWD_DGAMMA],
                                   [HC_BN_BWD_DBETA] = call->out[HC_BN_BWD_DBETA]},
                           .params.bn = call->params.bn};
    enum hc_status status = hc_exact_run(queue, &leaky);
    return status == HC_OK ? hc_exact_run(queue, &norm) : status;
}
