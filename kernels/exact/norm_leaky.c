/* Batch norm and leaky ReLU: the one op after the other, as the contract says. */
#include "kernels/exact/exact.h"

static struct hc_call leaky_on(const struct hc_call *call)
{
    return (struct hc_call){.op = HC_OP_leaky_relu,
                            .in = {call->out[0]},
                            .out = {call->out[0]},
                            .params.leaky = {call->params.bn.slope}};
}

enum hc_status hc_exact_bn_leaky_train(struct hc_queue *queue, const struct hc_call *call)
{
    struct hc_call leaky = leaky_on(call);
    enum hc_status status = hc_exact_bn_train(queue, call);
    return status == HC_OK ? hc_exact_leaky_relu(queue, &leaky) : status;
}

enum hc_status hc_exact_bn_leaky_infer(struct hc_queue *queue, const struct hc_call *call)
{
    struct hc_call leaky = leaky_on(call);
    enum hc_status status = hc_exact_bn_infer(queue, call);
    return status == HC_OK ? hc_exact_leaky_relu(queue, &leaky) : status;
}

/* dz lies in the scratch. */
enum hc_status hc_exact_bn_leaky_bwd(struct hc_queue *queue, const struct hc_call *call)
{
    struct hc_tensor dz = call->in[2];
    dz.data = call->scratch;
    struct hc_call leaky = {.op = HC_OP_leaky_relu_bwd,
                            .in = {call->in[1], call->in[2]},
                            .out = {dz},
                            .params.leaky = {call->params.bn.slope}};
    struct hc_call norm = {.op = HC_OP_bn_bwd,
                           .in = {call->in[0], dz, call->in[3], call->in[4], call->in[5]},
                           .out = {call->out[0], call->out[1], call->out[2]},
                           .params.bn = call->params.bn};
    enum hc_status status = hc_exact_leaky_relu_bwd(queue, &leaky);
    return status == HC_OK ? hc_exact_bn_bwd(queue, &norm) : status;
}
