/* A network whose ranks share batch norm, layer by layer.

   Ranks are threads, each with its own network and its own rows of a batch. After a pass forward
   and back, the rows that a layer's batch norm got and made on all ranks are put together as if one
   rank had had them. Batch norm of the whole batch, by MPFR, must then give what the ranks made of
   it: within the bound of shared moments forward, within bn_leaky_bwd's bound back. What flows into
   a layer is what the ranks really had, so errors do not add up from layer to layer. */
#include <stdio.h>

#include "case.h"
#include "check/bound/bound.h"
#include "op/descriptor.h"
#include "reference.h"

enum { IMAGES = 8, CLASSES = 3, SIDE = 8, PIXELS = SIDE * SIDE * 3, MOST_RANKS = 4, SAMPLE = 12 };

static const struct hc_network network = {.name = "darknet-4",
                                          .side = SIDE,
                                          .channels = 3,
                                          .width = 4,
                                          .groups = 2,
                                          .blocks = {1, 0},
                                          .strides = {1, 2}};

/* Both calls of a layer on the whole batch, which are never run; and rank by rank what all ranks
   must have alike. */
struct layer {
    struct hc_call train;
    struct hc_call back;
    struct hc_tensor alike[MOST_RANKS][HC_BN_NEW_VARIANCE + 1]; /* by output of bn_leaky_train */
};

struct job {
    struct hc_check *check;
    const struct hc_recipe *recipe;
    const float *images;
    const int32_t *labels;
    int ranks;
    struct hc_plan plan;
    struct layer layer[HC_MAX_LAYERS];
};

/* One rank's view of it. */
struct rank {
    struct job *job;
    struct hc_net *net;
    int rank;
};

static struct hc_tensor whole_of(struct hc_check *check, const struct hc_layer *l,
                                 enum hc_format format)
{
    return hc_check_tensor(check, hc_tensor4(format, IMAGES, l->side, l->side, l->channels, NULL));
}

static void make_layer(struct job *job, int l)
{
    const struct hc_layer *at = &job->plan.layer[l];
    const struct hc_recipe *recipe = job->recipe;
    enum hc_format wide = recipe->model == HC_FP64 ? HC_FP64 : HC_FP32;
    struct layer *to = &job->layer[l];
    to->train = (struct hc_call){.op = HC_OP_bn_leaky_train};
    to->back = (struct hc_call){.op = HC_OP_bn_leaky_bwd};
    to->train.params.bn = to->back.params.bn =
        (struct hc_bn){HC_NORM_EPS, HC_NORM_MOMENTUM, HC_LEAKY_SLOPE, false};
    to->train.in[HC_BN_X] = whole_of(job->check, at, recipe->model);
    to->train.in[HC_BN_GAMMA] = hc_check_vector(job->check, recipe->norm, at->channels);
    to->train.in[HC_BN_BETA] = hc_check_vector(job->check, recipe->norm, at->channels);
    to->train.in[HC_BN_MEAN] = hc_check_vector(job->check, recipe->statistics, at->channels);
    to->train.in[HC_BN_VARIANCE] = hc_check_vector(job->check, recipe->statistics, at->channels);
    for (int64_t c = 0; c < at->channels; c++) /* as hc_net_open has them */
        hc_tensor_set(&to->train.in[HC_BN_VARIANCE], c, 1);
    to->train.out[HC_BN_Y] = whole_of(job->check, at, recipe->model);
    for (int r = 0; r < job->ranks; r++)
        for (int o = HC_BN_SAVED_MEAN; o <= HC_BN_NEW_VARIANCE; o++)
            to->alike[r][o] = hc_check_vector(
                job->check, o >= HC_BN_NEW_MEAN ? recipe->statistics : wide, at->channels);
    for (int o = HC_BN_SAVED_MEAN; o <= HC_BN_NEW_VARIANCE; o++)
        to->train.out[o] = to->alike[0][o];
    to->back.in[HC_BN_LEAKY_BWD_X] = to->train.in[HC_BN_X];
    to->back.in[HC_BN_LEAKY_BWD_Y] = to->train.out[HC_BN_Y];
    to->back.in[HC_BN_LEAKY_BWD_DY] = whole_of(job->check, at, recipe->model);
    to->back.in[HC_BN_LEAKY_BWD_GAMMA] = to->train.in[HC_BN_GAMMA];
    to->back.in[HC_BN_LEAKY_BWD_MEAN] = to->train.out[HC_BN_SAVED_MEAN];
    to->back.in[HC_BN_LEAKY_BWD_INVSTD] = to->train.out[HC_BN_SAVED_INVSTD];
    to->back.out[HC_BN_BWD_DX] = whole_of(job->check, at, recipe->model);
}

/* A rank's rows into their place in the whole batch. */
static void put_rows(const struct rank *rank, const struct hc_tensor *whole,
                     const struct hc_tensor *rows)
{
    size_t bytes = hc_tensor_bytes(rows);
    memcpy((char *)whole->data + (size_t)rank->rank * bytes, rows->data, bytes);
}

static enum hc_status trace(void *context, int l, const struct hc_tensor *dy,
                            const struct hc_tensor *dconv)
{
    const struct rank *rank = context;
    struct hc_call *back = &rank->job->layer[l].back;
    if (!dconv)
        return HC_OK;
    put_rows(rank, &back->in[HC_BN_LEAKY_BWD_DY], dy);
    put_rows(rank, &back->out[HC_BN_BWD_DX], dconv);
    return HC_OK;
}

static void copy(const struct hc_tensor *to, struct hc_tensor from)
{
    memcpy(to->data, from.data, hc_tensor_bytes(to));
}

static void keep_layer(const struct rank *rank, int l)
{
    struct layer *to = &rank->job->layer[l];
    const struct hc_layer *at = &rank->job->plan.layer[l];
    struct hc_parameter *const *parameters = hc_net_parameters(rank->net) + at->parameter;
    struct hc_parameter *const *statistics = hc_net_statistics(rank->net) + at->statistic;
    struct hc_tensor x = hc_net_conv_output(rank->net, l);
    struct hc_tensor y = hc_net_value(rank->net, l + 1);
    put_rows(rank, &to->train.in[HC_BN_X], &x);
    put_rows(rank, &to->train.out[HC_BN_Y], &y);
    copy(&to->alike[rank->rank][HC_BN_SAVED_MEAN], hc_net_batch_mean(rank->net, l));
    copy(&to->alike[rank->rank][HC_BN_SAVED_INVSTD], hc_net_batch_invstd(rank->net, l));
    copy(&to->alike[rank->rank][HC_BN_NEW_MEAN], hc_parameter_tensor(statistics[HC_CONV_MEAN]));
    copy(&to->alike[rank->rank][HC_BN_NEW_VARIANCE],
         hc_parameter_tensor(statistics[HC_CONV_VARIANCE]));
    if (rank->rank > 0)
        return;
    copy(&to->train.in[HC_BN_GAMMA], hc_parameter_tensor(parameters[HC_CONV_GAMMA]));
    copy(&to->train.in[HC_BN_BETA], hc_parameter_tensor(parameters[HC_CONV_BETA]));
}

static enum hc_status pass(struct rank *rank, struct hc_update *update)
{
    const struct job *job = rank->job;
    size_t first = (size_t)(rank->rank * (IMAGES / job->ranks));
    struct hc_tensor scale = hc_update_scale(update);
    float loss;
    int right;
    hc_net_trace(rank->net, trace, rank);
    enum hc_status status = hc_net_train(rank->net, job->images + first * PIXELS,
                                         job->labels + first, &scale, &loss, &right);
    for (int l = 0; l < job->plan.layers && status == HC_OK; l++)
        if (job->plan.layer[l].kind == HC_LAYER_CONV)
            keep_layer(rank, l);
    return status;
}

/* Every rank opens a queue of its own. */
static enum hc_status run_rank(struct hc_comm *comm, void *context)
{
    struct job *job = context;
    struct rank rank = {.job = job, .rank = comm->rank};
    struct hc_device device = {.backend = hc_check_backend(job->check)};
    struct hc_update *update = NULL;
    enum hc_status status = device.backend->open(device.backend, &device.queue, 1);
    if (status != HC_OK)
        return status;
    status = hc_net_open(&rank.net, &device, &network, CLASSES, IMAGES / job->ranks, 1);
    if (status == HC_OK) {
        hc_net_share(rank.net, comm);
        status = hc_model_open(&update, &device, rank.net, job->recipe);
    }
    if (status == HC_OK)
        status = pass(&rank, update);
    hc_update_close(update);
    hc_net_close(rank.net);
    hc_device_end(&device);
    device.backend->close(device.queue);
    return status;
}

static void claim_alike(const struct job *job, const struct layer *layer, const char *name)
{
    struct hc_comparisons alike = {.what = "the statistics of another rank"};
    for (int r = 1; r < job->ranks; r++)
        for (int o = HC_BN_SAVED_MEAN; o <= HC_BN_NEW_VARIANCE; o++) {
            const struct hc_tensor *want = &layer->alike[0][o];
            alike.checked++;
            if (memcmp(want->data, layer->alike[r][o].data, hc_tensor_bytes(want)) != 0) {
                alike.wrong++;
                hc_comparisons_wrong(&alike, "%s: rank %d has another %s than rank 0", name, r,
                                     hc_descriptor(HC_OP_bn_leaky_train)->out[o].name);
            }
        }
    hc_claim_comparisons(job->check, &alike);
}

static void claim_output(const struct job *job, const struct hc_call *call, int o,
                         const char *layer)
{
    static const struct hc_accumulator sums = {.precision = 24, .block = 1};
    const struct hc_tensor *t = &call->out[o];
    int64_t n = hc_tensor_count(t);
    int64_t rows[MOST_RANKS];
    const struct hc_tensor *x = &call->in[HC_FIRST];
    for (int r = 0; r < job->ranks; r++)
        rows[r] = hc_tensor_count(x) / x->shape[x->rank - 1] / job->ranks;
    for (int64_t i = 0; i < n; i += n / SAMPLE + 1) {
        struct hc_element e = {call, o, i};
        struct hc_exact want = hc_reference_value(call, o, i);
        char what[64];
        (void)snprintf(what, sizeof what, "%s: %s", layer, hc_descriptor(call->op)->out[o].name);
        double bound = call->op == HC_OP_bn_leaky_train
                           ? hc_bound_shared(&e, rows, job->ranks, &want)
                           : hc_bound(&e, &sums, &want);
        hc_claim_within(job->check, what, want.hi, hc_tensor_get(t, i), bound);
    }
}

static void claim_layer(const struct job *job, int l)
{
    const char *name = job->plan.layer[l].name;
    const struct layer *layer = &job->layer[l];
    claim_alike(job, layer, name);
    for (int o = 0; o < hc_ops[HC_OP_bn_leaky_train].outputs; o++)
        claim_output(job, &layer->train, o, name);
    claim_output(job, &layer->back, HC_BN_BWD_DX, name);
}

static void every_layer(struct hc_check *check)
{
    static const int ranks[] = {2, 4};
    const struct hc_backend *backend = hc_check_backend(check);
    float *images = hc_check_memory(check, sizeof(float) * IMAGES * PIXELS);
    int32_t *labels = hc_check_memory(check, sizeof(int32_t) * IMAGES);
    struct job *job = hc_check_memory(check, sizeof *job);
    if (!backend->host_memory || !backend->concurrent) {
        hc_skip(check, "ranks that are threads need kernels that work in host memory, and at once");
        return;
    }
    hc_check_undigested(check);
    for (int i = 0; i < IMAGES * PIXELS; i++)
        images[i] = (float)(1 + hc_random_normal(hc_check_seed(check), 0, (uint64_t)i));
    for (int i = 0; i < IMAGES; i++)
        labels[i] = i % CLASSES;
    for (size_t k = 0; k < sizeof ranks / sizeof ranks[0]; k++) {
        *job = (struct job){.check = check,
                            .recipe = hc_recipe_by_name(hc_check_case(check)->data),
                            .images = images,
                            .labels = labels,
                            .ranks = ranks[k]};
        hc_plan_make(&network, CLASSES, &job->plan);
        for (int l = 0; l < job->plan.layers; l++)
            if (job->plan.layer[l].kind == HC_LAYER_CONV)
                make_layer(job, l);
        if (!hc_check_ok(check, hc_comm_threads(ranks[k], run_rank, job)))
            return;
        for (int l = 0; l < job->plan.layers; l++)
            if (job->plan.layer[l].kind == HC_LAYER_CONV)
                claim_layer(job, l);
    }
}

static const char source[] = "pytorch v1.13.1 torch/nn/modules/_functions.py: SyncBatchNorm";

static const struct hc_case cases[] = {
    {.name = "batchnorm/ranks-network-fp32",
     .title = "in every layer of a network in fp32, ranks that share batch norm have that of the "
              "whole batch",
     .source = source,
     .run = every_layer,
     .data = "fp32"},
    {.name = "batchnorm/ranks-network-amp",
     .title = "in every layer of a network under autocast to half, ranks that share batch norm "
              "have that of the whole batch",
     .source = source,
     .run = every_layer,
     .data = "amp"},
    {.name = "batchnorm/ranks-network-bf16",
     .title = "in every layer of a network in bf16, ranks that share batch norm have that of the "
              "whole batch",
     .source = source,
     .run = every_layer,
     .data = "amp-bf16"},
};

HC_CASES(batchnorm_ranks_network, cases);
