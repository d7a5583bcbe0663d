/* Bytes are counted from operands, as often as a kernel reads or writes them. Whether a cache
   answers a second reading is not asked. */
#include "kernels/cuda/work.h"

#include "kernels/cuda/kernel/arguments.h"
#include "kernels/cuda/kernel/defined.h"
#include "kernels/cuda/kernel/norm.h"
#include "kernels/cuda/kernel/optimizer.h"
#include "kernels/cuda/kernel/quant.h"

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

/* Batch norm's sums, and its pass over the elements, which a tile of one slice makes in the same
   launch. The tensors of a channel are left out. */
static double norm(const struct hc_dk_norm *a, bool sums)
{
    double elements = bytes_of(&a->call.in[HC_BN_X]) + bytes_of(&a->dy);
    double bits = a->y ? (double)hc_tensor_count(&a->dy) / 8 : 0;
    double y = a->y ? bytes_of(&a->dy) : 0;
    double skip = a->skip ? 2 * bytes_of(&a->call.out[HC_BN_Y]) : 0;
    double addends = a->addends[0] ? 2 * bytes_of(&a->dy) : 0;
    bool keeps = a->tiling.wide > 1; /* bits in the place of y */
    double second = elements + (keeps ? bits : y) + bytes_of(&a->call.out[HC_BN_Y]) + skip;
    if (!sums)
        return second;
    double slices = (double)(a->tiling.slices * a->tiling.channels) * 2 * sizeof(double);
    double first = elements + addends + y + (keeps ? bits : 0) + 2 * slices;
    return first + (a->tiling.slices == 1 && !a->parts ? second : 0);
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

/* Of the four launches two read x, one writes the codes and one the scales. A number of scratch for
   each block is set, raised, replaced and read. What holds one number is left out. */
static double quantize(const struct hc_dk_quantize *a, enum hc_device_kernel which)
{
    double blocks = (double)a->matrix.blocks * sizeof(float);
    double x = bytes_of(&a->call.in[HC_QUANTIZE_X]);
    switch (which) {
    case HC_DK_quant_amax:
        return x + 2 * blocks;
    case HC_DK_quant_scales:
        return 2 * blocks + bytes_of(&a->call.out[HC_QUANTIZE_SCALES]);
    case HC_DK_quant_codes:
        return x + blocks + bytes_of(&a->call.out[HC_QUANTIZE_CODES]);
    default:
        return blocks;
    }
}

/* Weights of rows and keys are written and read in scratch: one each forward, two backward. */
static double attention(const struct hc_dk_attention *a, int matrices)
{
    double weights = (double)(a->is.heads * a->is.rows * a->is.keys) * sizeof(float);
    return operands(&a->call) + 2 * matrices * weights;
}

/* A product's logits lie in scratch. */
static double loss(const struct hc_dk_row_loss *a)
{
    double logits = a->logits ? (double)(a->rows * a->classes) * sizeof(float) : 0;
    return operands(&a->call) + logits;
}

static double bytes_of_launch(enum hc_device_kernel which, const void *args)
{
    const struct hc_dk_broadcast *broadcast = args;
    switch (which) {
    case HC_DK_bn_moments:
    case HC_DK_bn_bwd_sums:
        return norm(args, true);
    case HC_DK_bn_normalize:
    case HC_DK_bn_bwd:
        return norm(args, false);
    case HC_DK_optimizer:
        return optimizer(args);
    case HC_DK_broadcast:
        return bytes_of(&broadcast->from) + bytes_of(&broadcast->to);
    case HC_DK_conv_direct:
        return conv_direct(args);
    case HC_DK_augment:
        return augment(args);
    case HC_DK_quant_begin:
    case HC_DK_quant_amax:
    case HC_DK_quant_scales:
    case HC_DK_quant_codes:
        return quantize(args, which);
    case HC_DK_attention:
        return attention(args, 1);
    case HC_DK_attention_bwd_rows:
    case HC_DK_attention_bwd_keys:
        return attention(args, 2);
    case HC_DK_loss_rows:
    case HC_DK_linear_logits:
    case HC_DK_linear_gradients:
    case HC_DK_linear_bwd:
        return loss(args);
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
