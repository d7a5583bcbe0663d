/* Bytes are counted from operands, as often as a kernel reads or writes them. Whether a cache
   answers a second reading is not asked. */
#include "kernels/cuda/work.h"

#include "kernels/cuda/kernel/broadcast.h"
#include "kernels/cuda/kernel/conv_direct.h"
#include "kernels/cuda/kernel/norm.h"
#include "kernels/cuda/kernel/optimizer.h"
#include "kernels/cuda/kernel/reduction.h"

static double bytes_of(const struct hc_tensor *t)
{
    return t->data ? (double)hc_tensor_bytes(t) : 0;
}

static double bytes_in(const struct hc_tensor *t, int count)
{
    double bytes = 0;
    for (int i = 0; i < count; i++)
        bytes += bytes_of(&t[i]);
    return bytes;
}

static double operands(const struct hc_call *call)
{
    return bytes_in(call->in, hc_ops[call->op].inputs) +
           bytes_in(call->out, hc_ops[call->op].outputs);
}

/* One pass over the elements, reading and writing so many tensors of x's shape. The tensors of a
   channel are left out. */
static double pass_of(const struct hc_dk_norm *a, bool writes)
{
    double bytes = bytes_of(&a->call.in[HC_BN_X]) + bytes_of(&a->dy);
    if (a->y)
        bytes += bytes_of(&a->dy);
    return bytes + (writes ? bytes_of(&a->call.out[HC_BN_Y]) : 0);
}

static double norm_sums(const struct hc_dk_norm *a)
{
    return 2 * 2 * (double)sizeof *a->sums * (double)(a->tiling.slices * a->tiling.channels);
}

static double optimizer(const struct hc_dk_optimizer *a)
{
    const struct hc_tensor all[] = {a->g,     a->w,     a->m,     a->v,    a->c,
                                    a->new_w, a->new_m, a->new_v, a->new_c};
    return bytes_in(all, sizeof all / sizeof all[0]);
}

/* Of the data set it reads the images of the batch. */
static double augment(const struct hc_call *call)
{
    double bytes = bytes_of(&call->out[HC_AUGMENT_IMAGES]);
    return bytes + (double)hc_tensor_count(&call->out[HC_AUGMENT_IMAGES]);
}

static double conv_direct(const struct hc_dk_conv_direct *a)
{
    return bytes_of(&a->x) + bytes_of(&a->w) + bytes_of(&a->y);
}

static double bytes_of_launch(enum hc_device_kernel which, const void *args)
{
    const struct hc_dk_broadcast *broadcast = args;
    const struct hc_dk_whole_sum *sum = args;
    switch (which) {
    case HC_DK_bn_moments:
    case HC_DK_bn_bwd_sums:
        return pass_of(args, false) + norm_sums(args);
    case HC_DK_bn_statistics:
    case HC_DK_bn_bwd_means:
        return 0;
    case HC_DK_bn_normalize:
    case HC_DK_bn_bwd:
        return pass_of(args, true);
    case HC_DK_optimizer:
        return optimizer(args);
    case HC_DK_broadcast:
        return bytes_of(&broadcast->from) + bytes_of(&broadcast->to);
    case HC_DK_whole_sum:
        return (double)sum->n * (double)sizeof(float);
    case HC_DK_conv_direct:
        return conv_direct(args);
    case HC_DK_unscale_flag:
    case HC_DK_augment_count:
        return 0;
    case HC_DK_augment:
        return augment(args);
    default:
        return operands(args); /* the call comes first in the arguments */
    }
}

void hc_cuda_count_launch(struct hc_queue *queue, enum hc_device_kernel which, const void *args)
{
    queue->launched[which]++;
    queue->work.kernels++;
    queue->work.bytes += bytes_of_launch(which, args);
}

void hc_cuda_count_call(struct hc_queue *queue, const struct hc_call *call)
{
    queue->work.calls++;
    queue->work.bytes += operands(call);
}

struct hc_work hc_cuda_work(const struct hc_queue *queue)
{
    return queue->work;
}
