/* The gradients of four shards of a batch, as a small network's backward passes make them, and what
   they really are: the calls that made them are kept, so that MPFR can compute the same. */
#include <math.h>

#include "cases/fixture/training/apart.h"
#include "cases/fixture/training/ranks.h"
#include "check/bound/bound.h"

enum { PASSES_SHARDS = 4, PASSES_IMAGES = 2, PASSES_PARAMETERS = 32 };

/* The call that made a gradient, with its inputs in host memory. */
struct gradient_maker {
    struct hc_call call;
    int out;
};

struct passes {
    struct hc_check *check;
    struct hc_device device;
    struct hc_net *net;
    struct hc_update *update;
    int shard; /* whose pass runs */
    struct gradient_maker maker[PASSES_SHARDS][PASSES_PARAMETERS];
    struct hc_tensor rows[PASSES_PARAMETERS]; /* [shards, n]: the gradients of each shard */
};

/* The average over all shards of the real gradients, and how far the ops may have strayed from
   it. */
struct real_average {
    double value;
    double strayed;
};

enum { CLASSES = 4, SIDE = 8, PIXELS = PASSES_IMAGES * SIDE * SIDE * 3 };

/* Every kind of layer, as in training/step. */
static const struct hc_network network = {.name = "darknet-8",
                                          .side = SIDE,
                                          .channels = 3,
                                          .width = 4,
                                          .groups = 2,
                                          .blocks = {1, 1},
                                          .strides = {1, 2}};

static struct hc_tensor in_host_memory(struct hc_check *check, struct hc_tensor t)
{
    const void *there = t.data;
    if (!there)
        return t;
    t.data = hc_check_memory(check, hc_tensor_bytes(&t));
    (void)hc_check_ok(check, hc_check_backend(check)->download(hc_check_queue(check), t.data, there,
                                                               hc_tensor_bytes(&t)));
    return t;
}

static void see(const struct hc_call *call, void *context)
{
    struct passes *b = context;
    for (int o = 0; o < hc_ops[call->op].outputs; o++)
        for (int p = 0; call->out[o].data && p < hc_update_parameters(b->update); p++) {
            struct gradient_maker *m = &b->maker[b->shard][p];
            if (hc_update_tensor(b->update, HC_STATE_GRADIENT, p).data != call->out[o].data)
                continue;
            *m = (struct gradient_maker){*call, o};
            m->call.scratch = NULL;
            for (int i = 0; i < hc_ops[call->op].inputs; i++)
                m->call.in[i] = in_host_memory(b->check, call->in[i]);
        }
}

/* A forward and a backward pass on images of its own. */
static enum hc_status pass(struct passes *b)
{
    struct hc_check *check = b->check;
    float *images = hc_check_memory(check, sizeof(float) * PIXELS);
    int32_t labels[PASSES_IMAGES];
    struct hc_tensor scale = hc_update_scale(b->update);
    float loss;
    int right;
    for (int i = 0; i < PIXELS; i++)
        images[i] = (float)hc_random_normal(hc_check_seed(check), (uint64_t)b->shard, (uint64_t)i);
    for (int i = 0; i < PASSES_IMAGES; i++)
        labels[i] = (b->shard * PASSES_IMAGES + i) % CLASSES;
    enum hc_status status = hc_net_train(b->net, images, labels, &scale, &loss, &right);
    for (int p = 0; p < hc_update_parameters(b->update) && status == HC_OK; p++) {
        struct hc_tensor g = hc_update_tensor(b->update, HC_STATE_GRADIENT, p);
        int64_t n = hc_tensor_count(&g);
        if (b->shard == 0)
            b->rows[p] = hc_check_tensor(check, hc_tensor2(g.format, PASSES_SHARDS, n, NULL));
        status = hc_update_read(b->update, HC_STATE_GRADIENT, p,
                                (char *)b->rows[p].data + (size_t)b->shard * hc_tensor_bytes(&g));
    }
    return status;
}

/* Opens the network under the recipe, and runs a forward and a backward pass on each shard, which
   has images of its own, with the same weights. False with the verdict set. To be closed always. */
static bool passes_run(struct passes *b, struct hc_check *check, const struct hc_recipe *recipe)
{
    *b = (struct passes){.check = check};
    b->device = hc_case_device(check);
    enum hc_status status = hc_net_open(&b->net, &b->device, &network, CLASSES, PASSES_IMAGES, 1);
    if (status == HC_OK)
        status = hc_model_open(&b->update, &b->device, b->net, recipe);
    b->device.observe = see;
    b->device.context = b;
    for (b->shard = 0; b->shard < PASSES_SHARDS && status == HC_OK; b->shard++)
        status = pass(b);
    return hc_check_ok(check, status);
}

static void passes_close(struct passes *b)
{
    hc_update_close(b->update);
    hc_net_close(b->net);
    hc_device_end(&b->device);
}

/* The bound of one element of a call on the backend under test. */
static double passes_bound(struct hc_check *check, const struct hc_call *call, int out, int64_t i,
                           const struct hc_exact *want)
{
    const struct hc_backend *backend = hc_check_backend(check);
    struct hc_accumulator sums = hc_backend_accumulator(backend, call);
    struct hc_element e = {call, out, i};
    return backend->free_order ? hc_bound_any_order(&e, &sums, want) : hc_bound(&e, &sums, want);
}

/* They are added in fp64, which costs a few 2^-53 of their magnitudes. */
static struct real_average passes_real(const struct passes *b, int p, int64_t i)
{
    struct real_average real = {0, 0};
    for (int s = 0; s < PASSES_SHARDS; s++) {
        const struct gradient_maker *m = &b->maker[s][p];
        struct hc_exact want = hc_reference_value(&m->call, m->out, i);
        real.value += want.hi / PASSES_SHARDS;
        real.strayed +=
            (passes_bound(b->check, &m->call, m->out, i, &want) + 0x1p-50 * fabs(want.hi)) /
            PASSES_SHARDS;
    }
    return real;
}

/* The same sum by one rank that has all images: the calls of the shards as one, whose inputs are
   theirs one behind the other. False for batch norm, whose calls have statistics of their own. */
static bool passes_whole(const struct passes *b, int p, struct hc_call *whole)
{
    *whole = b->maker[0][p].call;
    if (whole->op != HC_OP_conv2d_bwd_filter && whole->op != HC_OP_gemm)
        return false;
    for (int i = 0; i < hc_ops[whole->op].inputs; i++) {
        struct hc_tensor *t = &whole->in[i];
        size_t bytes = hc_tensor_bytes(t);
        if (!t->data)
            continue;
        t->shape[t->shape[0] == PASSES_IMAGES ? 0 : 1] *= PASSES_SHARDS;
        t->data = hc_check_memory(b->check, PASSES_SHARDS * bytes);
        for (int s = 0; s < PASSES_SHARDS; s++)
            memcpy((char *)t->data + (size_t)s * bytes, b->maker[s][p].call.in[i].data, bytes);
    }
    struct hc_tensor *out = &whole->out[b->maker[0][p].out];
    *out = hc_check_tensor(b->check, *out);
    return true;
}

/* Gradients of shards against those of the whole batch, layer by layer.

   A batch is cut into four shards, one for each rank. The gradient of a weight over the whole batch
   is a sum over all its images, and what ranks make together is that sum, divided by their number:
   each shard's gradient, as an op computed it, averaged by an all-reduce. So the average may be as
   far from the real gradient of all images, in MPFR, as

     (the sum over shards of the op's own bound) / shards + the bound of the all-reduce,

   the second around the average of the gradients that it was given. What flows into a layer's op
   was made by the ops before it, so that errors do not add up over layers. Batch norm has
   statistics of its own in each shard; what its gradients are sums of are the rows of all shards
   with their statistics.

   A bound says something only if wrong averages miss it. Those that data parallel training has
   gone wrong by are made beside the right one, and for each a layer's bound must be missed. */

enum { SHARDS = PASSES_SHARDS, LOOKED_AT = 48 };

/* One rank and several compute the same sum in other orders. Both lie within their bounds of it. */
static void claim_whole(const struct passes *b, int p, int64_t n)
{
    struct hc_check *check = b->check;
    struct hc_call whole;
    int out = b->maker[0][p].out;
    int64_t apart = hc_apart(n, LOOKED_AT);
    if (!passes_whole(b, p, &whole) || hc_do(check, &whole) != HC_OK)
        return;
    for (int64_t i = 0; i < n; i += apart) {
        struct real_average real = passes_real(b, p, i);
        struct hc_exact want = hc_reference_value(&whole, out, i);
        hc_claim_within(check, "real gradients of all images, and of all shards", want.hi / SHARDS,
                        real.value, 0x1p-50 * want.magnitude);
        hc_claim_within(check, "gradient of one rank with all images", want.hi,
                        hc_tensor_get(&whole.out[out], i),
                        passes_bound(check, &whole, out, i, &want));
    }
}

static const struct hc_all_reduce ways[] = {{HC_COLLECTIVE_TREE, HC_FP32, 1, SHARDS, false},
                                            {HC_COLLECTIVE_RING, HC_FP32, 1, SHARDS, false},
                                            {HC_COLLECTIVE_HALVING, HC_BF16, SHARDS, 1, true},
                                            {HC_COLLECTIVE_RING, HC_FP16, 2, 0.5 * SHARDS, false}};

/* Averages that are wrong, of the gradients g of each shard. */
enum wrong { LEFT_OUT, TWICE, AGAIN, ANOTHERS, OTHER_COUNT, ALONE, WRONGS };

static const char *const wrongs[WRONGS] = {
    "the last rank is left out",
    "the last rank is added twice",
    "a bucket is summed once more after it has been averaged",
    "the last rank has the first one's images",
    "the sum is divided by one less",
    "what the first rank has is not averaged"};

static double wrong_average(enum wrong wrong, const double g[SHARDS])
{
    double sum = 0;
    for (int s = 0; s < SHARDS; s++)
        sum += g[s];
    switch (wrong) {
    case LEFT_OUT:
        return (sum - g[SHARDS - 1]) / SHARDS;
    case TWICE:
        return (sum + g[SHARDS - 1]) / SHARDS;
    case AGAIN:
        return sum / SHARDS * SHARDS;
    case ANOTHERS:
        return (sum - g[SHARDS - 1] + g[0]) / SHARDS;
    case OTHER_COUNT:
        return sum / (SHARDS - 1);
    default:
        return g[0];
    }
}

static void claim_parameter(const struct passes *b, const struct hc_all_reduce *how, int p)
{
    struct hc_check *check = b->check;
    const char *name = hc_net_parameters(b->net)[p]->name;
    struct hc_call call = {
        .op = HC_OP_all_reduce, .in = {[HC_ALL_REDUCE_X] = b->rows[p]}, .params.all_reduce = *how};
    int64_t n = b->rows[p].shape[1];
    int64_t apart = hc_apart(n, LOOKED_AT);
    bool seen[WRONGS] = {false};
    if (hc_ranks_average(check, name, how, b->rows[p], &call.out[HC_ALL_REDUCE_OUT]) != HC_OK)
        return;
    for (int64_t i = 0; i < n; i += apart) {
        struct real_average real = passes_real(b, p, i);
        struct hc_exact given = hc_reference_value(&call, HC_ALL_REDUCE_OUT, i);
        double bound = real.strayed + passes_bound(check, &call, HC_ALL_REDUCE_OUT, i, &given);
        double g[SHARDS];
        hc_claim_within(check, name, real.value, hc_tensor_get(&call.out[HC_ALL_REDUCE_OUT], i),
                        bound);
        for (int s = 0; s < SHARDS; s++)
            g[s] = hc_tensor_get(&b->rows[p], s * n + i);
        for (int w = 0; w < WRONGS; w++)
            seen[w] |= fabs(wrong_average((enum wrong)w, g) - real.value) > bound;
    }
    for (int w = 0; w < WRONGS; w++)
        hc_claim_true(check, wrongs[w], seen[w]);
    if (how == ways)
        claim_whole(b, p, n);
}

static void layers(struct hc_check *check)
{
    struct passes *b = hc_check_memory(check, sizeof *b);
    struct hc_recipe recipe = *hc_recipe_by_name(hc_check_case(check)->data);
    recipe.scaler.initial = recipe.scaler.rule ? 128 : 0;
    if (passes_run(b, check, &recipe))
        for (size_t w = 0; w < sizeof ways / sizeof *ways; w++)
            for (int p = 0; p < hc_update_parameters(b->update); p++)
                claim_parameter(b, &ways[w], p);
    passes_close(b);
}

static const char source[] =
    "Li and others, PyTorch Distributed: Experiences on Accelerating Data Parallel Training, VLDB "
    "2020: averaging gradients is training on the whole batch";

static const struct hc_case cases[] = {
    {"ranks/layers-fp32",
     "the average of four ranks' gradients in fp32 is within its ops' bounds of the whole batch's "
     "gradient, in each layer, and wrong averages are not",
     source, .run = layers, .data = "fp32"},
    {"ranks/layers-amp",
     "the average of four ranks' gradients in half is within its ops' bounds of the whole batch's "
     "gradient, in each layer, and wrong averages are not",
     source, .run = layers, .data = "amp"},
    {"ranks/layers-amp-bf16",
     "the average of four ranks' gradients in bf16 is within its ops' bounds of the whole batch's "
     "gradient, in each layer, and wrong averages are not",
     source, .run = layers, .data = "amp-bf16"},
};

HC_CASES(ranks_layers, cases);
