#include "kernels/cuda/norm.h"

#include "kernels/cuda/families.h"
#include "kernels/cuda/norm_bwd.h"
#include "kernels/cuda/wrapper.h"

/* Fewest rows of a slice, four for each warp of a block, and the most slices: what a kernel that
   needs whole sums adds up first. Slices depend on the shape alone. */
enum { FEWEST = 4 * HC_CUDA_THREADS / HC_WARP, MOST = 128 };

/* Shared memory of the kernels that sum. */
enum { ROOM = HC_CUDA_THREADS * (int)sizeof(float) };

static struct hc_dk_rows rows_of(const struct hc_call *call)
{
    const struct hc_tensor *x = &call->in[0];
    struct hc_dk_rows r = {.channels = x->shape[x->rank - 1]};
    if (r.channels == 0)
        return r;
    r.rows = hc_tensor_count(x) / r.channels;
    r.tiles = (int)((r.channels + HC_WARP - 1) / HC_WARP);
    int most = HC_CUDA_BLOCKS / r.tiles;
    int slices = hc_blocks_for(r.rows, FEWEST, most < 1 ? 1 : most < MOST ? most : MOST);
    if (slices == 0)
        return r;
    r.chunk = (r.rows + slices - 1) / slices;
    r.slices = (int)((r.rows + r.chunk - 1) / r.chunk);
    return r;
}

static int64_t sums_of(const struct hc_dk_rows *r)
{
    return r->slices * r->channels;
}

/* Two sums for each channel and slice. */
size_t hc_cuda_norm_scratch(const struct hc_call *call)
{
    struct hc_dk_rows r = rows_of(call);
    return (size_t)sums_of(&r) * 2 * sizeof(float);
}

static enum hc_status launch(struct hc_queue *queue, enum hc_device_kernel which,
                             const struct hc_dk_rows *r, size_t shared, const void *args,
                             size_t args_size)
{
    return hc_launch(queue, which, r->tiles * r->slices, HC_CUDA_THREADS, shared, args, args_size);
}

static struct hc_dk_affine affine(const struct hc_call *call)
{
    struct hc_dk_affine t = {.x = hc_dk_view_of(&call->in[0]),
                             .gamma = hc_dk_view_of(&call->in[1]),
                             .beta = hc_dk_view_of(&call->in[2]),
                             .y = hc_dk_view_of(&call->out[0])};
    return t;
}

enum hc_status hc_cuda_bn_train(struct hc_queue *queue, const struct hc_call *call)
{
    struct hc_dk_rows r = rows_of(call);
    float *scratch = call->scratch;
    struct hc_dk_bn_sums sums = {.rows = r, .x = hc_dk_view_of(&call->in[0]), .sums = scratch};
    struct hc_dk_bn_squares squares = {
        .rows = r, .x = sums.x, .sums = scratch, .squares = scratch ? scratch + sums_of(&r) : NULL};
    struct hc_dk_bn_train train = {.rows = r,
                                   .tensors = affine(call),
                                   .mean_in = hc_dk_view_of(&call->in[3]),
                                   .variance_in = hc_dk_view_of(&call->in[4]),
                                   .mean_out = hc_dk_view_of(&call->out[3]),
                                   .variance_out = hc_dk_view_of(&call->out[4]),
                                   .saved_mean = call->out[1].data,
                                   .saved_invstd = call->out[2].data,
                                   .sums = sums.sums,
                                   .squares = squares.squares,
                                   .eps = (float)call->params.bn.eps,
                                   .momentum = (float)call->params.bn.momentum};
    enum hc_status status = launch(queue, HC_DK_bn_sums, &r, ROOM, &sums, sizeof sums);
    if (status == HC_OK)
        status = launch(queue, HC_DK_bn_squares, &r, ROOM, &squares, sizeof squares);
    return status == HC_OK ? launch(queue, HC_DK_bn_train, &r, 0, &train, sizeof train) : status;
}

enum hc_status hc_cuda_bn_infer(struct hc_queue *queue, const struct hc_call *call)
{
    struct hc_dk_rows r = rows_of(call);
    struct hc_dk_bn_infer a = {.rows = r,
                               .tensors = affine(call),
                               .mean = hc_dk_view_of(&call->in[3]),
                               .variance = hc_dk_view_of(&call->in[4]),
                               .eps = (float)call->params.bn.eps};
    return launch(queue, HC_DK_bn_infer, &r, 0, &a, sizeof a);
}

enum hc_status hc_cuda_bn_bwd(struct hc_queue *queue, const struct hc_call *call)
{
    struct hc_dk_rows r = rows_of(call);
    float *scratch = call->scratch;
    struct hc_dk_gradient g = {.rows = r,
                               .x = hc_dk_view_of(&call->in[0]),
                               .dy = hc_dk_view_of(&call->in[1]),
                               .mean = hc_dk_view_of(&call->in[3]),
                               .invstd = hc_dk_view_of(&call->in[4]),
                               .dbeta = scratch,
                               .dgamma = scratch ? scratch + sums_of(&r) : NULL};
    struct hc_dk_bn_bwd_sums sums = {.g = g};
    struct hc_dk_bn_bwd a = {.g = g,
                             .gamma = hc_dk_view_of(&call->in[2]),
                             .dx = hc_dk_view_of(&call->out[0]),
                             .dgamma = hc_dk_view_of(&call->out[1]),
                             .dbeta = hc_dk_view_of(&call->out[2])};
    enum hc_status status = launch(queue, HC_DK_bn_bwd_sums, &r, ROOM, &sums, sizeof sums);
    return status == HC_OK ? launch(queue, HC_DK_bn_bwd, &r, 0, &a, sizeof a) : status;
}
