/* The format-exact backend: portable C, one thread, stated order. */
#include "backend.h"

#include "kernels/exact/exact.h"
#include "kernels/exact/block.h"
#include "kernels/exact/tile.h"
#include "kernels/memory.h"

/* Elements that stand side by side: in sums of products, in leaky ReLU and in batch norm. */
static const struct hc_border borders[] = {
    {HC_EXTENT_VECTOR, HC_ELEMENT_BLOCK},        {HC_EXTENT_GEMM_N, HC_TILE},
    {HC_EXTENT_CONV_CHANNELS, HC_TILE},          {HC_EXTENT_CONV_FILTERS, HC_TILE},
    {HC_EXTENT_NORM_CHANNELS, HC_CHANNEL_BLOCK}, {HC_EXTENT_COUNT, 0},
};

const struct hc_backend hc_backend_exact = {
    .abi = HC_BACKEND_ABI,
    .name = "exact",
    .title = "portable C, format-exact, one thread, stated order",
    .accumulator = {.precision = 24, .block = 1, .extra_bits = 0, .truncates = false},
    .borders = borders,
    .host_memory = true,
    .concurrent = true,
    .fp64 = true,
    .open = hc_memory_open,
    .close = hc_memory_close,
    .allocate = hc_memory_allocate,
    .release = hc_memory_release,
    .upload = hc_memory_copy,
    .download = hc_memory_copy,
    .scratch = hc_exact_scratch,
    .kernel =
        {
#define HC_OP(name, class, inputs, outputs, title) [HC_OP_##name] = hc_exact_##name,
#include "op/ops.def"
#undef HC_OP
        },
};
