/* The backend cuda-half: the device's own instructions for fp16 and bf16, one op at a time, so that
   they can be compared with the reference. */
#include "kernels/cuda/device/half.h"

#include "kernels/cuda/device/device.h"
#include "kernels/cuda/op/families.h"

#define HC_HALF(name, op, format, direction, in, out, result) void hc_half_##name##_entry(void);
#include "kernels/cuda/device/half_kernels.def"
#undef HC_HALF

static const struct half_kernel {
    const char *name;
    enum hc_op op;
    enum hc_format format;
    enum hc_direction direction;
    void (*entry)(void);
} kernels[] = {
#define HC_HALF(name, op, format, direction, in, out, result)                                      \
    {#name, HC_OP_##op, format, direction, hc_half_##name##_entry},
#include "kernels/cuda/device/half_kernels.def"
#undef HC_HALF
};

static const struct half_kernel *find(const struct hc_call *call)
{
    bool cast = call->op == HC_OP_cast;
    if (cast && call->in[HC_X].format != HC_FP32)
        return NULL;
    for (size_t i = 0; i < sizeof kernels / sizeof kernels[0]; i++)
        if (kernels[i].op == call->op && kernels[i].format == call->out[HC_OUT].format &&
            (!cast || kernels[i].direction == call->params.cast.direction))
            return &kernels[i];
    return NULL;
}

static enum hc_status run(struct hc_queue *queue, const struct hc_call *call)
{
    const struct half_kernel *kernel = find(call);
    int inputs = hc_ops[call->op].inputs;
    struct hc_half a = {.x = call->in[HC_X].data,
                        .y = call->in[inputs > 1 ? HC_Y : HC_X].data,
                        .z = call->in[inputs > 2 ? HC_Z : HC_X].data,
                        .out = call->out[HC_OUT].data,
                        .n = hc_tensor_count(&call->out[HC_OUT])};
    if (!kernel)
        return hc_fail(HC_UNSUPPORTED, "cuda-half: no %s from %s into %s", hc_ops[call->op].name,
                       hc_formats[call->in[HC_X].format].name,
                       hc_formats[call->out[HC_OUT].format].name);
    return hc_cuda_launch(queue, kernel->name, kernel->entry,
                          hc_blocks_for(a.n, HC_CUDA_THREADS, HC_CUDA_BLOCKS), HC_CUDA_THREADS, 0,
                          &a);
}

const struct hc_backend hc_cuda_half = {
    .abi = HC_BACKEND_ABI,
    .name = "cuda-half",
    .title = "half and bfloat16 arithmetic of the GPU, a few ops",
    .borders = hc_cuda_borders,
    .accumulator = {.precision = 11, .block = 1, .extra_bits = 0, .truncates = false},
    .partial = true,
    .unavailable = hc_cuda_no_device,
    .open = hc_cuda_open_without_libraries,
    .close = hc_cuda_close,
    .allocate = hc_cuda_allocate,
    .release = hc_cuda_release,
    .upload = hc_cuda_upload,
    .download = hc_cuda_download,
    .clear = hc_cuda_clear,
    .capture = hc_cuda_capture,
    .captured = hc_cuda_captured,
    .replay = hc_cuda_replay,
    .forget = hc_cuda_forget,
    .describe = hc_cuda_describe,
    .operands = hc_cuda_operands,
    .judge = hc_cuda_judge,
    .kernel =
        {
            [HC_OP_cast] = run,
            [HC_OP_add] = run,
            [HC_OP_sub] = run,
            [HC_OP_mul] = run,
            [HC_OP_div] = run,
            [HC_OP_sqrt] = run,
            [HC_OP_fma] = run,
        },
};
