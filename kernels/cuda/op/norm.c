/* Batch norm, forward and backward, with and without leaky ReLU.

   Sums over the rows cut these into slices and leave two sums of each slice and channel in scratch,
   in fp64; the block of a tile of channels that comes last adds up the slices. A second kernel goes
   over the elements. Where there are few rows a slice has them all, and its block goes over the
   elements itself: one launch costs more than one block's second reading of what it has just read.
   How many slices there are depends on x's shape alone, and each kernel adds in a fixed order, so
   that the same call gives the same bits. */
#include "kernels/cuda/op/norm.h"

#include "kernels/cuda/kernel/vector.h"
#include "kernels/cuda/op/families.h"

static int columns_for(int64_t groups, int most)
{
    int columns = 1;
    while (columns < most && columns < groups)
        columns *= 2;
    return columns;
}

/* Whether the channels come in vectors, and the tensors (up to a NULL) have one format and data
   aligned to a vector. */
static bool vectors(int64_t channels, const struct hc_tensor *const *tensors)
{
    enum hc_format format = tensors[0]->format;
    if (channels % HC_DK_WIDE != 0)
        return false;
    for (; *tensors; tensors++)
        if ((*tensors)->format != format || (uintptr_t)(*tensors)->data % HC_DK_VECTOR != 0)
            return false;
    return true;
}

/* For sums: one slice where the rows are few, or the tiles more than there are counters; otherwise
   slices of at least HC_CUDA_NORM_ROWS rows a thread. */
static struct hc_dk_tiling tiling_of(const struct hc_tensor *x, bool wide, bool sums)
{
    struct hc_dk_tiling t = {.channels = x->shape[x->rank - 1], .wide = wide ? HC_DK_WIDE : 1};
    if (t.channels == 0)
        return t;
    t.rows = hc_tensor_count(x) / t.channels;
    bool whole = sums && t.rows <= HC_CUDA_NORM_WHOLE;
    int most = wide ? HC_CUDA_NORM_COLUMNS : HC_WARP;
    t.columns = columns_for(t.channels / t.wide, whole ? HC_CUDA_NORM_COLUMNS / t.wide : most);
    t.tiles = (int)((t.channels + t.columns * t.wide - 1) / (t.columns * t.wide));
    whole |= sums && t.tiles > HC_CUDA_COUNTERS;
    int slices = hc_blocks_for(t.rows, HC_CUDA_NORM_ROWS * (HC_CUDA_THREADS / t.columns),
                               sums ? HC_CUDA_NORM_SLICES : HC_CUDA_BLOCKS);
    if (slices == 0)
        return t;
    slices = whole ? 1 : slices;
    t.chunk = (t.rows + slices - 1) / slices;
    t.slices = (int)((t.rows + t.chunk - 1) / t.chunk);
    return t;
}

/* What lies in scratch: two sums of each channel and slice, two means of each channel, and a bit of
   each element. */
struct layout {
    size_t sums;
    size_t means;
    size_t bits;
};

static struct layout layout_of(const struct hc_dk_tiling *t)
{
    size_t channels = (size_t)t->channels;
    return (struct layout){.sums = (size_t)t->slices * channels * 2 * sizeof(double),
                           .means = channels * 2 * sizeof(float),
                           .bits = t->wide > 1 ? (size_t)t->rows * channels / HC_DK_WIDE : 0};
}

/* The larger of both ways: which is taken depends on where the tensors lie. */
size_t hc_cuda_norm_scratch(const struct hc_call *call)
{
    size_t most = 0;
    for (int wide = 0; wide <= 1; wide++) {
        struct hc_dk_tiling t = tiling_of(&call->in[HC_BN_X], wide, true);
        if (wide && t.channels % HC_DK_WIDE != 0)
            break;
        struct layout l = layout_of(&t);
        size_t bytes = l.sums + l.means + (call->op == HC_OP_bn_leaky_bwd ? l.bits : 0);
        most = bytes > most ? bytes : most;
    }
    return most;
}

/* Blocks of tiles and slices, which write sums and what follows from them. `tensors` are those that
   are read or written, x first. */
typedef enum hc_status launcher(struct hc_queue *, enum hc_device_kernel, int, int, size_t,
                                const void *, size_t);

/* The last kernel of a forward pass waits for a sum. */
static launcher *launcher_of(enum hc_device_kernel which, const struct hc_dk_norm *a)
{
    bool last = which == HC_DK_bn_normalize ||
                (which == HC_DK_bn_moments && a->tiling.slices == 1 && !a->parts);
    return last ? hc_launch_later : hc_launch;
}

enum hc_status hc_cuda_norm_sums(struct hc_queue *queue, enum hc_device_kernel which,
                                 struct hc_dk_norm *a, const struct hc_tensor *const *tensors)
{
    const struct hc_tensor *x = tensors[0];
    a->tiling = tiling_of(x, vectors(x->shape[x->rank - 1], tensors), true);
    struct layout l = layout_of(&a->tiling);
    char *scratch = a->call.scratch;
    a->counters = queue->counters;
    a->sums = (double *)(void *)scratch;
    if (scratch) {
        a->means = (float *)(void *)(scratch + l.sums);
        a->positive = (unsigned char *)scratch + l.sums + l.means;
    }
    size_t shared = HC_CUDA_THREADS * 2 * (size_t)a->tiling.wide * sizeof(double);
    return launcher_of(which, a)(queue, which, a->tiling.tiles * a->tiling.slices, HC_CUDA_THREADS,
                                 shared, a, sizeof *a);
}

/* As many blocks as any kernel over elements gets; none where the sums' blocks did their work. */
enum hc_status hc_cuda_norm_elements(struct hc_queue *queue, enum hc_device_kernel which,
                                     struct hc_dk_norm *a, const struct hc_tensor *const *tensors)
{
    const struct hc_tensor *x = tensors[0];
    if (a->counters && a->tiling.slices == 1)
        return HC_OK;
    a->tiling = tiling_of(x, vectors(x->shape[x->rank - 1], tensors), false);
    return launcher_of(which, a)(queue, which, a->tiling.tiles * a->tiling.slices, HC_CUDA_THREADS,
                                 0, a, sizeof *a);
}

static bool alike(const struct hc_tensor *a, const struct hc_tensor *b)
{
    return a->format == b->format && hc_tensor_count(a) == hc_tensor_count(b);
}

static bool overlap(const void *a, size_t a_bytes, const void *b, size_t b_bytes)
{
    return a && b && (const char *)a < (const char *)b + b_bytes &&
           (const char *)b < (const char *)a + a_bytes;
}

/* Whether t shares memory with one of the tensors, unless it is that tensor, element by element. */
static bool meets(const struct hc_tensor *tensors, int count, const struct hc_tensor *t)
{
    for (int i = 0; i < count; i++)
        if (overlap(tensors[i].data, hc_tensor_bytes(&tensors[i]), t->data, hc_tensor_bytes(t)) &&
            !(tensors[i].data == t->data && alike(&tensors[i], t)))
            return true;
    return false;
}

/* Whether t shares memory with what batch norm writes. Two calls may do that one after the other,
   but not in one kernel. */
static bool is_written(const struct hc_call *norm, const struct hc_tensor *t)
{
    return meets(norm->out, hc_ops[norm->op].outputs, t) ||
           overlap(norm->scratch, hc_cuda_norm_scratch(norm), t->data, hc_tensor_bytes(t));
}

/* The sum may replace y, or what is added to it. */
bool hc_cuda_norm_takes_sum(struct hc_queue *queue, const struct hc_call *add)
{
    struct hc_pending *p = &queue->pending;
    struct hc_dk_norm *a = &p->args.norm;
    if (!p->waits || p->which == HC_DK_elementwise)
        return false;
    const struct hc_tensor *y = &a->call.out[HC_BN_Y];
    const struct hc_tensor *sum = &add->out[HC_OUT];
    bool first = add->in[HC_X].data == y->data;
    const struct hc_tensor *mine = &add->in[first ? HC_X : HC_Y];
    const struct hc_tensor *skip = &add->in[first ? HC_Y : HC_X];
    const struct hc_tensor *const tensors[] = {y, skip, sum, NULL};
    bool fits = mine->data == y->data && skip->data != y->data && alike(mine, y) &&
                alike(skip, y) && alike(sum, y);
    if (!fits || (a->tiling.wide > 1 && !vectors(a->tiling.channels, tensors)) ||
        is_written(&a->call, skip) || is_written(&a->call, sum) ||
        meets(a->call.in, hc_ops[a->call.op].inputs, sum))
        return false;
    a->skip = skip->data;
    a->sum = sum->data;
    return true;
}

/* Whether another input of the gradient shares memory with dy, and has to wait for all of it. */
static bool reads_dy_twice(const struct hc_dk_norm *a)
{
    const struct hc_call *c = &a->call;
    for (int i = 0; i < hc_ops[c->op].inputs; i++)
        if (i != hc_bn_bwd_slots(c->op)->dy &&
            overlap(c->in[i].data, hc_tensor_bytes(&c->in[i]), a->dy.data, hc_tensor_bytes(&a->dy)))
            return true;
    return false;
}

/* Whether the launch that waits makes dy as a sum; then the gradient's first kernel does so
   instead, and `addends` are what it adds. */
static bool takes_gradient(struct hc_queue *queue, struct hc_dk_norm *a,
                           struct hc_tensor addends[2])
{
    struct hc_pending *p = &queue->pending;
    const struct hc_call *add = &p->args.call;
    if (!p->waits || p->which != HC_DK_elementwise || add->out[HC_OUT].data != a->dy.data ||
        !alike(&add->out[HC_OUT], &a->dy) || reads_dy_twice(a))
        return false;
    for (int i = 0; i < 2; i++) {
        if (!alike(&add->in[i], &a->dy) || is_written(&a->call, &add->in[i]))
            return false;
        addends[i] = add->in[i];
        a->addends[i] = add->in[i].data;
    }
    p->waits = false;
    return true;
}

enum hc_status hc_cuda_bn_train(struct hc_queue *queue, const struct hc_call *call)
{
    const struct hc_tensor *const all[] = {&call->in[HC_BN_X], &call->out[HC_BN_Y], NULL};
    struct hc_dk_norm a = {.call = *call,
                           .leaky = call->op == HC_OP_bn_leaky_train,
                           .mean = call->out[HC_BN_SAVED_MEAN],
                           .invstd = call->out[HC_BN_SAVED_INVSTD],
                           .gamma = call->in[HC_BN_GAMMA]};
    enum hc_status status = hc_cuda_norm_sums(queue, HC_DK_bn_moments, &a, all);
    return status == HC_OK ? hc_cuda_norm_elements(queue, HC_DK_bn_normalize, &a, all) : status;
}

enum hc_status hc_cuda_bn_infer(struct hc_queue *queue, const struct hc_call *call)
{
    const struct hc_tensor *const all[] = {&call->in[HC_BN_X], &call->out[HC_BN_Y], NULL};
    struct hc_dk_norm a = {.call = *call,
                           .leaky = call->op == HC_OP_bn_leaky_infer,
                           .variance = true,
                           .mean = call->in[HC_BN_MEAN],
                           .invstd = call->in[HC_BN_VARIANCE],
                           .gamma = call->in[HC_BN_GAMMA]};
    return hc_cuda_norm_elements(queue, HC_DK_bn_normalize, &a, all);
}

enum hc_status hc_cuda_bn_bwd(struct hc_queue *queue, const struct hc_call *call)
{
    const struct hc_bn_bwd_slots *s = hc_bn_bwd_slots(call->op);
    bool leaky = call->op == HC_OP_bn_leaky_bwd;
    const struct hc_tensor *x = &call->in[s->x];
    const struct hc_tensor *dy = &call->in[s->dy];
    const struct hc_tensor *y = leaky ? &call->in[s->y] : dy;
    struct hc_tensor addends[2] = {*dy, *dy};
    const struct hc_tensor *const all[] = {x,           dy,          y,   &call->out[HC_BN_BWD_DX],
                                           &addends[0], &addends[1], NULL};
    struct hc_dk_norm a = {.call = *call,
                           .leaky = leaky,
                           .mean = call->in[s->mean],
                           .invstd = call->in[s->invstd],
                           .gamma = call->in[s->gamma],
                           .dy = *dy,
                           .dgamma = call->out[HC_BN_BWD_DGAMMA],
                           .dbeta = call->out[HC_BN_BWD_DBETA],
                           .y = leaky ? y->data : NULL};
    if (!takes_gradient(queue, &a, addends))
        a.addends[0] = NULL;
    enum hc_status status = hc_cuda_norm_sums(queue, HC_DK_bn_bwd_sums, &a, all);
    return status == HC_OK ? hc_cuda_norm_elements(queue, HC_DK_bn_bwd, &a, all) : status;
}
