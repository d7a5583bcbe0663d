/* The fast CPU backend: vectors and threads; gemm and convolutions by oneDNN where there is one. */
#include "backend.h"

#include <omp.h>
#include <pthread.h>
#include <stdlib.h>

#include "kernels/exact/double.h"
#include "kernels/exact/exact.h"
#include "kernels/host/host.h"
#include "kernels/host/onednn.h"
#include "kernels/tf32.h"
#include "kernels/memory.h"

static void *nothing(void *argument)
{
    return argument;
}

/* libgomp ends the program where it gets no thread. So one is tried first, and then the team is
   started, which stays. */
static enum hc_status start_team(int threads)
{
    pthread_t tried;
    for (int i = 1; i < threads; i++)
        if (pthread_create(&tried, NULL, nothing, NULL) != 0 || pthread_join(tried, NULL) != 0)
            return hc_fail(HC_NO_MEMORY, "host: no memory for %d threads", threads);
    int started = 0;
#pragma omp parallel num_threads(threads) reduction(+ : started)
    started++;
    return started > 0 ? HC_OK : HC_DEVICE;
}

static enum hc_status open_queue(struct hc_queue **queue, int threads)
{
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

static size_t scratch(struct hc_queue *queue, const struct hc_call *call)
{
    if (hc_is_double(call))
        return hc_host_double_scratch(call);
    if (hc_call_tf32(call)) {
        struct hc_call plain = hc_tf32_plain(call);
        return hc_tf32_bytes(call) + scratch(queue, &plain);
    }
    switch (call->op) {
    case HC_OP_bn_train:
    case HC_OP_bn_infer:
    case HC_OP_bn_bwd:
    case HC_OP_bn_leaky_train:
    case HC_OP_bn_leaky_infer:
    case HC_OP_bn_leaky_bwd:
        return hc_host_norm_scratch(queue, call);
#ifdef HC_ONEDNN
    case HC_OP_gemm:
        return hc_onednn_gemm_scratch(queue, call);
    case HC_OP_conv2d:
    case HC_OP_conv2d_bwd_data:
        return hc_onednn_conv_scratch(queue, call);
    case HC_OP_conv2d_bwd_filter:
        return hc_onednn_filter_scratch(queue, call);
#endif
    default:
        return hc_exact_scratch(queue, call);
    }
}

static void describe(struct hc_queue *queue, hc_tell *tell, void *context)
{
    if (queue)
        tell("loops", queue->loops->name, context);
}

const struct hc_backend hc_backend_host = {
    .abi = HC_BACKEND_ABI,
    .name = "host",
    .title = "fast CPU kernels",
    .accumulator = {.precision = 24, .block = 1, .extra_bits = 0, .truncates = false},
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
            [HC_OP_cast] = hc_host_cast,
            [HC_OP_add] = hc_host_add,
            [HC_OP_sub] = hc_host_sub,
            [HC_OP_mul] = hc_host_mul,
            [HC_OP_div] = hc_host_div,
            [HC_OP_sqrt] = hc_host_sqrt,
            [HC_OP_fma] = hc_host_fma,
            [HC_OP_axpy] = hc_host_axpy,
            [HC_OP_scale] = hc_host_scale,
            [HC_OP_unscale] = hc_host_unscale,
            [HC_OP_sum] = hc_host_sum,
            [HC_OP_dot] = hc_host_dot,
            [HC_OP_sum_squares] = hc_host_sum_squares,
#ifdef HC_ONEDNN
            [HC_OP_gemm] = hc_onednn_gemm,
            [HC_OP_conv2d] = hc_onednn_conv2d,
            [HC_OP_conv2d_bwd_data] = hc_onednn_conv2d_bwd_data,
            [HC_OP_conv2d_bwd_filter] = hc_onednn_conv2d_bwd_filter,
#else
            [HC_OP_gemm] = hc_exact_gemm,
            [HC_OP_conv2d] = hc_exact_conv2d,
            [HC_OP_conv2d_bwd_data] = hc_exact_conv2d_bwd_data,
            [HC_OP_conv2d_bwd_filter] = hc_exact_conv2d_bwd_filter,
#endif
            [HC_OP_bn_train] = hc_host_bn_train,
            [HC_OP_bn_infer] = hc_host_bn_infer,
            [HC_OP_bn_bwd] = hc_host_bn_bwd,
            [HC_OP_bn_leaky_train] = hc_host_bn_leaky_train,
            [HC_OP_bn_leaky_infer] = hc_host_bn_leaky_infer,
            [HC_OP_bn_leaky_bwd] = hc_host_bn_leaky_bwd,
            [HC_OP_leaky_relu] = hc_host_leaky_relu,
            [HC_OP_leaky_relu_bwd] = hc_host_leaky_relu_bwd,
            [HC_OP_avg_pool] = hc_host_avg_pool,
            [HC_OP_avg_pool_bwd] = hc_host_avg_pool_bwd,
            [HC_OP_xent] = hc_exact_xent,
            [HC_OP_xent_bwd] = hc_exact_xent_bwd,
            [HC_OP_sgd] = hc_host_sgd,
            [HC_OP_adam] = hc_host_adam,
            [HC_OP_adamw] = hc_host_adamw,
            [HC_OP_master_to_model] = hc_host_master_to_model,
            [HC_OP_augment] = hc_exact_augment,
            [HC_OP_scaler_update] = hc_exact_scaler_update,
            [HC_OP_overflow_verdict] = hc_exact_overflow_verdict,
            [HC_OP_rates] = hc_exact_rates,
            [HC_OP_step_log] = hc_exact_step_log,
            [HC_OP_clip] = hc_exact_clip,
        },
};
