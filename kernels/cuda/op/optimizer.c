/* SGD, Adam and AdamW. */
#include "kernels/cuda/kernel/optimizer.h"

#include "kernels/cuda/op/families.h"

enum hc_status hc_cuda_optimizer(struct hc_queue *queue, const struct hc_call *call)
{
    const struct hc_optimizer_slots *s = hc_optimizer_slots(call->op);
    const struct hc_tensor *in = call->in;
    const struct hc_tensor *out = call->out;
    int64_t n = hc_tensor_count(&in[s->w]);
    bool sgd = call->op == HC_OP_sgd;
    struct hc_dk_optimizer a = {
        .op = call->op,
        .stochastic = sgd ? call->params.sgd.stochastic : call->params.adam.stochastic,
        .hyper = in[s->hyper].data,
        .found_inf = in[s->found_inf].data,
        .g = in[s->g],
        .w = in[s->w],
        .m = in[s->m],
        .c = in[s->compensation],
        .new_w = out[s->new_w],
        .new_m = out[s->new_m],
        .new_c = out[s->new_compensation],
    };
    if (sgd) {
        a.params.sgd = call->params.sgd;
    } else {
        a.params.adam = call->params.adam;
        a.v = in[s->v];
        a.new_v = out[s->new_v];
    }
    return hc_launch(queue, HC_DK_optimizer, hc_blocks_for(n, HC_CUDA_THREADS, HC_CUDA_BLOCKS),
                     HC_CUDA_THREADS, sizeof(union hc_dk_step), &a, sizeof a);
}
