/* The fast CPU backend: vectors and threads; gemm and convolutions by oneDNN where there is one. */
#include "backend.h"

#include <omp.h>
#include <pthread.h>
#include <stdlib.h>

#include "kernels/exact/exact.h"
#include "kernels/factors.h"
#include "kernels/host/host.h"
#include "kernels/host/native/native.h"
#include "kernels/host/onednn/onednn.h"
#include "kernels/memory.h"
#include "op/later.h"

static void *do_nothing(void *argument)
{
    return argument;
}

/* libgomp ends the program if it cannot start a thread. So as many are tried first; then the team
   is started, which stays. */
static enum hc_status start_team(int threads)
{
    pthread_t thread;
    for (int i = 1; i < threads; i++)
        if (pthread_create(&thread, NULL, do_nothing, NULL) != 0 || pthread_join(thread, NULL) != 0)
            return hc_fail(HC_NO_MEMORY, "host: no memory for %d threads", threads);
    int started = 0;
#pragma omp parallel num_threads(threads) reduction(+ : started)
    started++;
    return started > 0 ? HC_OK : HC_DEVICE;
}

static enum hc_status open_queue(const struct hc_backend *backend, struct hc_queue **queue,
                                 int threads)
{
    (void)backend;
    *queue = malloc(sizeof **queue);
    if (!*queue)
        return hc_fail(HC_NO_MEMORY, "host: no memory for a queue");
    **queue = (struct hc_queue){.threads = threads > 0 ? threads : omp_get_num_procs(),
                                .loops = hc_host_loops_best()};
    enum hc_status status = start_team((*queue)->threads);
#ifdef HC_ONEDNN
    if (status == HC_OK)
        status = hc_onednn_open(&(*queue)->onednn, (*queue)->threads);
#endif
    if (status != HC_OK) {
        free(*queue);
        *queue = NULL;
    }
    return status;
}

static void close_queue(struct hc_queue *queue)
{
#ifdef HC_ONEDNN
    hc_onednn_close(queue->onednn);
#endif
    free(queue);
}

/* The kernels for tensors in fp32, bf16 and fp16, each with its query for scratch. An op without a
   line is exact's, and a kernel without a query needs no more scratch than exact's. */
struct host_op {
    hc_kernel *kernel;
    size_t (*scratch)(struct hc_queue *queue, const struct hc_call *call);
};

static const struct host_op ops_h[HC_OP_ROOM] = {
#define MAP(op, value) [HC_OP_##op] = {hc_host_map, NULL},
#include "kernels/element/maps.def"
#undef MAP
    [HC_OP_fma] = {hc_host_map, NULL},
    [HC_OP_unscale] = {hc_host_unscale, NULL},
    [HC_OP_cast] = {hc_host_cast, NULL},
    [HC_OP_master_to_model] = {hc_host_cast, NULL},
    [HC_OP_sum] = {hc_host_sum, NULL},
    [HC_OP_dot] = {hc_host_dot, NULL},
    [HC_OP_sum_squares] = {hc_host_sum_squares, NULL},
#ifdef HC_ONEDNN
    [HC_OP_gemm] = {hc_onednn_gemm, hc_onednn_gemm_scratch},
    [HC_OP_conv2d] = {hc_onednn_conv, hc_onednn_conv_scratch},
    [HC_OP_conv2d_bwd_data] = {hc_onednn_conv, hc_onednn_conv_scratch},
    [HC_OP_conv2d_bwd_filter] = {hc_onednn_filter, hc_onednn_filter_scratch},
#endif
    [HC_OP_bn_train] = {hc_host_norm, hc_host_norm_scratch},
    [HC_OP_bn_infer] = {hc_host_norm, hc_host_norm_scratch},
    [HC_OP_bn_bwd] = {hc_host_norm_bwd, hc_host_norm_scratch},
    [HC_OP_bn_leaky_train] = {hc_host_norm, hc_host_norm_scratch},
    [HC_OP_bn_leaky_infer] = {hc_host_norm, hc_host_norm_scratch},
    [HC_OP_bn_leaky_bwd] = {hc_host_norm_bwd, hc_host_norm_scratch},
    [HC_OP_bn_moments] = {hc_host_norm_moments, hc_host_norm_scratch},
    [HC_OP_bn_bwd_sums] = {hc_host_norm_bwd_sums, hc_host_norm_scratch},
    [HC_OP_bn_bwd_apply] = {hc_host_norm_bwd_apply, hc_host_norm_scratch},
    [HC_OP_avg_pool] = {hc_host_avg_pool, NULL},
    [HC_OP_avg_pool_bwd] = {hc_host_avg_pool_bwd, NULL},
    [HC_OP_im2col] = {hc_host_im2col, NULL},
    [HC_OP_col2im] = {hc_host_col2im, NULL},
    [HC_OP_sgd] = {hc_host_optimizer, NULL},
    [HC_OP_adam] = {hc_host_optimizer, NULL},
    [HC_OP_adamw] = {hc_host_optimizer, NULL},
    [HC_OP_all_reduce] = {hc_host_all_reduce, NULL},
    [HC_OP_quantize] = {hc_host_quantize, hc_host_quantize_scratch},
    [HC_OP_dequantize] = {hc_host_dequantize, NULL},
    [HC_OP_gemm_q] = {hc_host_gemm_q, hc_host_gemm_q_scratch},
    [HC_OP_stochastic_cast] = {hc_host_stochastic_cast, NULL},
    [HC_OP_rms_norm] = {hc_host_rms_norm, NULL},
    [HC_OP_rms_norm_backward] = {hc_host_rms_norm_backward, NULL},
    [HC_OP_softmax_backward] = {hc_host_softmax_backward, NULL},
    [HC_OP_swiglu] = {hc_host_swiglu, NULL},
    [HC_OP_swiglu_backward] = {hc_host_swiglu_backward, NULL},
    [HC_OP_rms_norm_kept] = {hc_host_rms_norm, NULL},
    [HC_OP_embedding] = {hc_host_embedding, NULL},
    [HC_OP_embedding_backward] = {hc_host_embedding_backward, hc_host_embedding_scratch},
    [HC_OP_rotary_halves] = {hc_host_rotary_halves, NULL},
    [HC_OP_attention] = {hc_host_attention, hc_host_attention_scratch},
    [HC_OP_attention_backward] = {hc_host_attention_backward, hc_host_attention_scratch},
};

/* The kernels for tensors in fp64. The other ops are fast enough as exact runs them. */
static const struct host_op ops_fp64[HC_OP_ROOM] = {
    [HC_OP_cast] = {hc_host_cast, NULL},
    [HC_OP_gemm] = {hc_host_gemm_fp64, hc_host_product_scratch},
    [HC_OP_conv2d] = {hc_host_conv_fp64, hc_host_product_scratch},
    [HC_OP_conv2d_bwd_data] = {hc_host_conv_fp64, hc_host_product_scratch},
    [HC_OP_conv2d_bwd_filter] = {hc_host_conv_fp64, hc_host_product_scratch},
};

static const struct host_op *op_of(const struct hc_call *call)
{
    return &(call->in[HC_FIRST].format == HC_FP64 ? ops_fp64 : ops_h)[call->op];
}

static enum hc_status run_or_exact(struct hc_queue *queue, const struct hc_call *call)
{
    hc_kernel *kernel = op_of(call)->kernel;
    if (hc_native_takes(call)) {
        enum hc_status status = hc_native_run(queue, call);
        if (status != HC_UNSUPPORTED)
            return status;
    }
    if (hc_factors_convert(call))
        return hc_factors_run(queue, call, run_or_exact);
    return (kernel ? kernel : hc_exact_run)(queue, call);
}

static size_t scratch(struct hc_queue *queue, const struct hc_call *call)
{
    const struct host_op *op = op_of(call);
    size_t native = hc_native_takes(call) ? hc_native_scratch(queue, call) : 0;
    if (native && call->in[HC_FIRST].format == HC_BF16)
        return native;
    if (hc_factors_convert(call))
        return hc_factors_scratch(queue, call, scratch);
    size_t other = op->scratch ? op->scratch(queue, call) : hc_exact_scratch(queue, call);
    return native > other ? native : other;
}

static void describe(struct hc_queue *queue, hc_tell *tell, void *context)
{
    const struct hc_native *native = hc_native();
    const char *fp16 = native ? native->fact_fp16 : NULL;
    tell("bf16 products", native ? native->fact : "in fp32", context);
    tell("fp16 products", fp16 ? fp16 : "in fp32", context);
    if (queue)
        tell("loops", queue->loops->name, context);
}

/* The unit that multiplies bf16 rounds every sum to nearest, as other products do, and flushes. */
static struct hc_accumulator accumulates(const struct hc_backend *backend,
                                         const struct hc_call *call)
{
    struct hc_accumulator sums = backend->accumulator;
    sums.flushes = hc_native_takes(call) && call->in[HC_FIRST].format == HC_BF16;
    return sums;
}

const struct hc_backend hc_backend_host = {
    .abi = HC_BACKEND_ABI,
    .name = "host",
    .title = "fast CPU kernels",
    .accumulator = {.precision = 24, .block = 1, .extra_bits = 0, .truncates = false},
    .accumulates = accumulates,
    .borders = hc_host_borders,
    .host_memory = true,
    .concurrent = true,
    .fp64 = true,
    .open = open_queue,
    .close = close_queue,
    .allocate = hc_memory_allocate,
    .release = hc_memory_release,
    .upload = hc_memory_copy,
    .download = hc_memory_copy,
    .scratch = scratch,
    .describe = describe,
    .kernel =
        {
#define HC_NO_DEFINED_OPS
#define HC_OP(name, class, inputs, outputs, title) [HC_OP_##name] = run_or_exact,
#include "op/ops.def"
#undef HC_OP
#define DEFINED(name) [HC_OP_##name] = run_or_exact,
#include "kernels/element/defined.def"
#undef DEFINED
        },
};
