/* The ops that definitions say: what their kernels take is read out of slots and options here. */
#include "kernels/cuda/kernel/defined.h"

#include <math.h>

#include "kernels/cuda/op/families.h"

/* Threads of a block that takes a row of n at a time: a warp where that is short. */
static int row_threads(int64_t n)
{
    return n <= HC_CUDA_THREADS ? HC_WARP : HC_CUDA_THREADS;
}

static enum hc_status launch_rows(struct hc_queue *queue, enum hc_device_kernel kernel,
                                  int64_t rows, int64_t n, const void *args, size_t size)
{
    int threads = row_threads(n);
    return hc_launch(queue, kernel, hc_blocks_for(rows, 1, HC_CUDA_BLOCKS), threads,
                     (size_t)(threads / HC_WARP) * sizeof(float), args, size);
}

static float real(const struct hc_call *call, int option)
{
    return (float)hc_defined_real(call, option);
}

static enum hc_status alone(struct hc_queue *queue, const struct hc_call *call)
{
    return hc_launch_elements(queue, HC_DK_defined_alone, hc_tensor_count(&call->out[HC_FIRST]),
                              call, sizeof *call);
}

static enum hc_status dropout_bits(struct hc_queue *queue, const struct hc_call *call)
{
    struct hc_dk_dropout_bits a = {*call, hc_defined_integer(call, HC_DROPOUT_THRESHOLD),
                                   1 - real(call, HC_DROPOUT_P)};
    return hc_launch_elements(queue, HC_DK_dropout_bits, hc_tensor_count(&call->out[HC_FIRST]), &a,
                              sizeof a);
}

static enum hc_status embedding_backward(struct hc_queue *queue, const struct hc_call *call)
{
    struct hc_dk_embedding_bwd a = {*call, hc_defined_integer(call, 0)};
    return hc_launch_elements(queue, HC_DK_embedding_bwd, hc_tensor_count(&call->out[HC_FIRST]), &a,
                              sizeof a);
}

static enum hc_status row_norm(struct hc_queue *queue, const struct hc_call *call)
{
    bool of_sum = call->op == HC_OP_add_rms_norm || call->op == HC_OP_add_layer_norm_kept;
    bool kept = call->op == HC_OP_rms_norm_kept || call->op == HC_OP_layer_norm_kept;
    struct hc_dk_row_norm a = {.call = *call, .x = call->in[HC_RMS_X], .y = call->out[HC_RMS_Y]};
    a.eps = real(call, HC_ADD_EPS);
    a.centred = call->op == HC_OP_layer_norm || call->op == HC_OP_layer_norm_kept ||
                call->op == HC_OP_add_layer_norm_kept;
    a.w = call->in[of_sum ? HC_ADD_W : HC_RMS_W];
    if (a.centred)
        a.b = call->in[of_sum ? HC_ADD_B : HC_LN_B];
    if (of_sum) {
        a.r = call->in[HC_ADD_R];
        a.s = call->out[HC_ADD_S];
        a.stored = hc_defined_flag(call, a.centred ? HC_ADD_LN_STORED : HC_ADD_STORED);
    }
    if (call->op == HC_OP_add_rms_norm) {
        a.offset = real(call, HC_ADD_OFFSET);
        a.cast = hc_defined_integer(call, HC_ADD_CAST) == 1;
    }
    if (a.centred && (kept || of_sum))
        a.mu = call->out[kept ? HC_LN_MU : HC_ADD_MU];
    if (a.centred && (kept || of_sum))
        a.rstd = call->out[kept ? HC_LN_RSTD : HC_ADD_LN_RSTD];
    else if (kept || of_sum)
        a.rstd = call->out[kept ? HC_RMS_RSTD : HC_ADD_RSTD];
    return launch_rows(queue, HC_DK_row_norm, a.x.shape[0], a.x.shape[1], &a, sizeof a);
}

/* Behind the sum's gradient, all slots of the norms of a sum stand where those of the norms do. */
static enum hc_status row_norm_backward(struct hc_queue *queue, const struct hc_call *call)
{
    bool centred =
        call->op == HC_OP_layer_norm_backward || call->op == HC_OP_add_layer_norm_backward;
    int more = call->op == HC_OP_add_rms_norm_backward || call->op == HC_OP_add_layer_norm_backward;
    struct hc_dk_row_norm_bwd a = {.call = *call,
                                   .dy = call->in[HC_LN_BWD_DY],
                                   .x = call->in[HC_LN_BWD_X + more],
                                   .w = call->in[HC_LN_BWD_W + more],
                                   .dx = call->out[HC_LN_BWD_DX],
                                   .dw = call->out[HC_LN_BWD_DW]};
    a.rstd = call->in[(centred ? HC_LN_BWD_RSTD : HC_RMS_BWD_RSTD) + more];
    if (more)
        a.ds = call->in[HC_ADD_BWD_DS];
    if (centred) {
        a.mu = call->in[HC_LN_BWD_MU + more];
        a.db = call->out[HC_LN_BWD_DB];
    }
    if (call->op == HC_OP_add_rms_norm_backward) {
        a.offset = real(call, HC_ADD_BWD_OFFSET);
        a.cast = hc_defined_integer(call, HC_ADD_BWD_CAST) == 1;
    }
    enum hc_status status =
        launch_rows(queue, HC_DK_row_norm_bwd, a.x.shape[0], a.x.shape[1], &a, sizeof a);
    if (status != HC_OK)
        return status;
    return hc_launch_elements(queue, HC_DK_row_norm_weights, a.x.shape[1], &a, sizeof a);
}

/* A softmax without options gives NaN where a row is -inf. */
static enum hc_status row_softmax(struct hc_queue *queue, const struct hc_call *call)
{
    const struct hc_tensor *x = &call->in[HC_SOFTMAX_X];
    int64_t n = x->shape[x->rank - 1];
    struct hc_dk_row_softmax a = {.call = *call, .x = *x, .y = call->out[HC_SOFTMAX_Y], .n = n};
    a.rows = x->rank == 3 ? x->shape[0] * x->shape[1] : x->shape[0];
    a.turn = x->shape[x->rank - 2];
    a.scale = 1;
    a.without = NAN;
    a.log = call->op == HC_OP_log_softmax;
    if (call->op == HC_OP_softmax_general) {
        int64_t dead = hc_defined_integer(call, HC_SOFTMAX_DEAD);
        a.mask = call->in[HC_SOFTMAX_MASK];
        a.scale = real(call, HC_SOFTMAX_SCALE);
        a.causal = hc_defined_flag(call, HC_SOFTMAX_CAUSAL);
        a.without = dead == HC_SOFTMAX_DEAD_UNIFORM ? 1 / (float)n
                    : dead == HC_SOFTMAX_DEAD_NAN   ? NAN
                                                    : 0;
    }
    return launch_rows(queue, HC_DK_row_softmax, a.rows, n, &a, sizeof a);
}

static enum hc_status row_softmax_backward(struct hc_queue *queue, const struct hc_call *call)
{
    const struct hc_tensor *y = &call->in[HC_SOFTMAX_BWD_Y];
    struct hc_dk_row_softmax_bwd a = {.call = *call,
                                      .dy = call->in[HC_SOFTMAX_BWD_DY],
                                      .y = *y,
                                      .dx = call->out[HC_SOFTMAX_BWD_DX],
                                      .n = y->shape[y->rank - 1]};
    a.rows = y->rank == 3 ? y->shape[0] * y->shape[1] : y->shape[0];
    a.log = call->op == HC_OP_log_softmax_backward;
    a.scale = call->op == HC_OP_softmax_general_backward ? real(call, HC_SOFTMAX_SCALE) : 1;
    return launch_rows(queue, HC_DK_row_softmax_bwd, a.rows, a.n, &a, sizeof a);
}

static enum hc_status attention_merge(struct hc_queue *queue, const struct hc_call *call)
{
    const int64_t *a = call->in[HC_MERGE_A].shape;
    bool back = call->op == HC_OP_attention_merge_backward;
    return launch_rows(queue, back ? HC_DK_attention_merge_bwd : HC_DK_attention_merge, a[0] * a[1],
                       a[2], call, sizeof *call);
}

/* What both losses have. Scratch begins with the sums. */
static struct hc_dk_row_loss loss_of(const struct hc_call *call)
{
    bool linear =
        call->op == HC_OP_linear_cross_entropy || call->op == HC_OP_linear_cross_entropy_backward;
    struct hc_dk_row_loss a = {.call = *call,
                               .target = call->in[linear ? HC_LCE_TARGET : HC_CE_TARGET],
                               .rows = call->in[HC_FIRST].shape[0],
                               .classes = call->in[HC_LCE_W].shape[0],
                               .ignore = hc_defined_integer(call, HC_CE_IGNORE),
                               .reduction = HC_CE_MEAN,
                               .sums = call->scratch};
    if (linear) {
        a.losses = a.sums + HC_DK_LOSS_SUMS;
        a.logits = a.losses + a.rows;
        return a;
    }
    a.w = call->in[HC_CE_W];
    a.classes = call->in[HC_CE_Z].shape[1];
    a.losses = call->out[HC_CE_ROWS].data;
    a.smoothing = real(call, HC_CE_SMOOTHING);
    a.zeta = real(call, HC_CE_ZETA);
    a.cap = real(call, HC_CE_CAP);
    a.reduction = hc_defined_integer(call, HC_CE_REDUCTION);
    a.total = real(call, HC_CE_TOTAL);
    return a;
}

static enum hc_status cross_entropy(struct hc_queue *queue, const struct hc_call *call)
{
    struct hc_dk_row_loss a = loss_of(call);
    a.empty_is_zero =
        call->op == HC_OP_cross_entropy_general && hc_defined_integer(call, HC_CE_EMPTY) == 1;
    enum hc_status status = launch_rows(queue, HC_DK_loss_sums, 1, a.rows, &a, sizeof a);
    if (status == HC_OK && a.logits)
        status = hc_launch_elements(queue, HC_DK_linear_logits, a.rows * a.classes, &a, sizeof a);
    if (status == HC_OK)
        status = launch_rows(queue, HC_DK_loss_rows, a.rows, a.classes, &a, sizeof a);
    if (status == HC_OK)
        status = launch_rows(queue, HC_DK_loss_total, 1, a.rows, &a, sizeof a);
    return status;
}

static enum hc_status cross_entropy_backward(struct hc_queue *queue, const struct hc_call *call)
{
    struct hc_dk_row_loss a = loss_of(call);
    int64_t logits = a.rows * a.classes;
    enum hc_status status = launch_rows(queue, HC_DK_loss_sums, 1, a.rows, &a, sizeof a);
    if (status != HC_OK)
        return status;
    if (!a.logits)
        return hc_launch_elements(queue, HC_DK_loss_bwd, logits, &a, sizeof a);
    int64_t elements =
        hc_tensor_count(&call->out[HC_LCE_DX]) + hc_tensor_count(&call->out[HC_LCE_DW]);
    a.stored = hc_defined_flag(call, HC_LCE_STORED);
    a.chunk = hc_defined_integer(call, HC_LCE_CHUNK);
    status = hc_launch_elements(queue, HC_DK_linear_logits, logits, &a, sizeof a);
    if (status == HC_OK)
        status = launch_rows(queue, HC_DK_linear_gradients, a.rows, a.classes, &a, sizeof a);
    if (status == HC_OK)
        status = hc_launch_elements(queue, HC_DK_linear_bwd, elements, &a, sizeof a);
    return status;
}

static struct hc_dk_attention attention_of(const struct hc_call *call)
{
    struct hc_dk_attention a = {.call = *call,
                                .is = hc_attention_of(call),
                                .e4m3 = hc_formats[HC_E4M3],
                                .weights = call->scratch};
    if (a.is.sink)
        a.sink = *a.is.sink;
    a.o = *a.is.o;
    a.lse = *a.is.lse;
    a.dy = *a.is.dy;
    return a;
}

static enum hc_status attention(struct hc_queue *queue, const struct hc_call *call)
{
    struct hc_dk_attention a = attention_of(call);
    return launch_rows(queue, HC_DK_attention, a.is.heads * a.is.rows, a.is.keys, &a, sizeof a);
}

static enum hc_status attention_backward(struct hc_queue *queue, const struct hc_call *call)
{
    struct hc_dk_attention a = attention_of(call);
    int64_t elements =
        a.is.key_heads * a.is.keys * (a.is.depth + a.is.width) + (a.sink.data ? a.is.heads : 0);
    enum hc_status status = launch_rows(queue, HC_DK_attention_bwd_rows, a.is.heads * a.is.rows,
                                        a.is.keys, &a, sizeof a);
    if (status != HC_OK)
        return status;
    return hc_launch_elements(queue, HC_DK_attention_bwd_keys, elements, &a, sizeof a);
}

static hc_kernel *const kernels[HC_OP_ROOM] = {
    [HC_OP_rms_norm] = row_norm,
    [HC_OP_rms_norm_kept] = row_norm,
    [HC_OP_rms_norm_backward] = row_norm_backward,
    [HC_OP_layer_norm] = row_norm,
    [HC_OP_layer_norm_kept] = row_norm,
    [HC_OP_layer_norm_backward] = row_norm_backward,
    [HC_OP_add_rms_norm] = row_norm,
    [HC_OP_add_rms_norm_backward] = row_norm_backward,
    [HC_OP_add_layer_norm_kept] = row_norm,
    [HC_OP_add_layer_norm_backward] = row_norm_backward,
    [HC_OP_softmax] = row_softmax,
    [HC_OP_softmax_backward] = row_softmax_backward,
    [HC_OP_softmax_general] = row_softmax,
    [HC_OP_softmax_general_backward] = row_softmax_backward,
    [HC_OP_log_softmax] = row_softmax,
    [HC_OP_log_softmax_backward] = row_softmax_backward,
    [HC_OP_cross_entropy_general] = cross_entropy,
    [HC_OP_cross_entropy_general_backward] = cross_entropy_backward,
    [HC_OP_linear_cross_entropy] = cross_entropy,
    [HC_OP_linear_cross_entropy_backward] = cross_entropy_backward,
    [HC_OP_gelu] = alone,
    [HC_OP_gelu_backward] = alone,
    [HC_OP_gelu_tanh] = alone,
    [HC_OP_gelu_tanh_backward] = alone,
    [HC_OP_silu] = alone,
    [HC_OP_silu_backward] = alone,
    [HC_OP_swiglu] = alone,
    [HC_OP_swiglu_backward] = alone,
    [HC_OP_embedding] = alone,
    [HC_OP_embedding_backward] = embedding_backward,
    [HC_OP_rotary_halves] = alone,
    [HC_OP_swap_axes] = alone,
    [HC_OP_dropout_bits] = dropout_bits,
    [HC_OP_attention] = attention,
    [HC_OP_attention_backward] = attention_backward,
    [HC_OP_attention_general] = attention,
    [HC_OP_attention_general_backward] = attention_backward,
    [HC_OP_attention_merge] = attention_merge,
    [HC_OP_attention_merge_backward] = attention_merge,
};

enum hc_status hc_cuda_defined(struct hc_queue *queue, const struct hc_call *call)
{
    return kernels[call->op](queue, call);
}

size_t hc_cuda_defined_scratch(const struct hc_call *call)
{
    struct hc_dk_row_loss loss;
    struct hc_attention is;
    switch (call->op) {
    case HC_OP_cross_entropy_general:
    case HC_OP_cross_entropy_general_backward:
        return HC_DK_LOSS_SUMS * sizeof(float);
    case HC_OP_linear_cross_entropy:
    case HC_OP_linear_cross_entropy_backward:
        loss = loss_of(call);
        return (size_t)(HC_DK_LOSS_SUMS + loss.rows + loss.rows * loss.classes) * sizeof(float);
    case HC_OP_attention:
    case HC_OP_attention_general:
        is = hc_attention_of(call);
        return (size_t)(is.heads * is.rows * is.keys) * sizeof(float);
    case HC_OP_attention_backward:
    case HC_OP_attention_general_backward:
        is = hc_attention_of(call);
        return (size_t)(is.heads * is.rows * (2 * is.keys + 1)) * sizeof(float);
    default:
        return 0;
    }
}
