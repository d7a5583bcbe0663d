/* Two backends of one's own: `mine` scales a tensor rightly, `mine-flush` flushes the
   subnormals of fp16 to zero. */
#include <halfcheck/backend.h>
#include <halfcheck/memory.h>
#include <math.h>

/* scale: out = x * s, computed in fp32 and rounded once into the output's format. */
static enum hc_status scale(const struct hc_call *call, bool flush)
{
    const struct hc_tensor *x = &call->in[HC_SCALE_X];
    const struct hc_tensor *out = &call->out[HC_SCALE_OUT];
    float s = (float)hc_tensor_get(&call->in[HC_SCALE_S], 0);
    for (int64_t i = 0; i < hc_tensor_count(out); i++) {
        float product = (float)hc_tensor_get(x, i) * s;
        if (flush && out->format == HC_FP16 && fabsf(product) < 0x1p-14f)
            product = copysignf(0, product);
        hc_tensor_set(out, i, (double)product);
    }
    return HC_OK;
}

static enum hc_status scale_rightly(struct hc_queue *queue, const struct hc_call *call)
{
    (void)queue;
    return scale(call, false);
}

static enum hc_status scale_and_flush(struct hc_queue *queue, const struct hc_call *call)
{
    (void)queue;
    return scale(call, true);
}

/* What both have: their kernels work in the caller's memory, and other ops are left out. */
#define IN_MEMORY                                                                                  \
    .abi = HC_BACKEND_ABI, .accumulator = {.precision = 24, .block = 1}, .partial = true,          \
    .free_order = true, .host_memory = true, .open = hc_memory_open, .close = hc_memory_close,     \
    .allocate = hc_memory_allocate, .release = hc_memory_release, .upload = hc_memory_copy,        \
    .download = hc_memory_copy

static const struct hc_backend mine = {
    IN_MEMORY,
    .name = "mine",
    .title = "a kernel of mine",
    .kernel = {[HC_OP_scale] = scale_rightly},
};

static const struct hc_backend mine_flush = {
    IN_MEMORY,
    .name = "mine-flush",
    .title = "the same, with subnormals flushed to zero",
    .kernel = {[HC_OP_scale] = scale_and_flush},
};

static const struct hc_backend *const backends[] = {&mine, &mine_flush};
static const struct hc_plugin plugin = {HC_BACKEND_ABI, 2, backends};

hc_plugin_entry hc_plugin;
const struct hc_plugin *hc_plugin(hc_fail_function *fail)
{
    (void)fail; /* hc_fail itself can be called */
    return &plugin;
}
