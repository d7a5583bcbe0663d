/* A network whose ranks share batch norm, layer by layer (cases/fixture/norm_net.h). Batch norm of
   the whole batch, by MPFR, must give what the ranks made of it: within the bound of shared moments
   forward, within bn_leaky_bwd's bound back. Gradients of gamma and beta are those of each rank's
   own rows, as parameters' gradients are before ranks average them. What flows into a layer is what
   the ranks really had, so errors do not add up from layer to layer. */
#include <stdio.h>

#include "cases/fixture/apart.h"
#include "cases/fixture/norm_net.h"
#include "check/bound/bound.h"
#include "op/descriptor.h"
#include "reference.h"

enum { SAMPLE = 12 };

static void claim_alike(const struct hc_norm_net *job, const struct hc_norm_net_layer *layer,
                        const char *name)
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

static void claim_output(const struct hc_norm_net *job, const struct hc_call *call, int o,
                         const char *layer)
{
    static const struct hc_accumulator sums = {.precision = 24, .block = 1};
    bool any = hc_check_backend(job->check)->free_order;
    const struct hc_tensor *t = &call->out[o];
    int64_t n = hc_tensor_count(t);
    int64_t rows[HC_NORM_NET_RANKS];
    const struct hc_tensor *x = &call->in[HC_FIRST];
    int64_t channels = x->shape[x->rank - 1];
    for (int r = 0; r < job->ranks; r++)
        rows[r] = hc_tensor_count(x) / channels / job->ranks;
    int64_t apart = hc_apart(n, channels > SAMPLE ? channels : SAMPLE);
    for (int64_t i = 0; i < n; i += apart) {
        struct hc_element e = {call, o, i};
        struct hc_exact want = hc_reference_value(call, o, i);
        char what[64];
        (void)snprintf(what, sizeof what, "%s: %s", layer, hc_descriptor(call->op)->out[o].name);
        double bound = call->op == HC_OP_bn_leaky_train
                           ? hc_bound_shared(&e, rows, job->ranks, any, &want)
                       : any ? hc_bound_any_order(&e, &sums, &want)
                             : hc_bound(&e, &sums, &want);
        hc_claim_within(job->check, what, want.hi, hc_tensor_get(t, i), bound);
    }
}

static void claim_layer(const struct hc_norm_net *job, int l)
{
    const char *name = job->plan.layer[l].name;
    const struct hc_norm_net_layer *layer = &job->layer[l];
    claim_alike(job, layer, name);
    for (int o = 0; o < hc_ops[HC_OP_bn_leaky_train].outputs; o++)
        claim_output(job, &layer->train, o, name);
    claim_output(job, &layer->back, HC_BN_BWD_DX, name);
    for (int r = 0; r < job->ranks; r++) {
        claim_output(job, &layer->own[r], HC_BN_BWD_DGAMMA, name);
        claim_output(job, &layer->own[r], HC_BN_BWD_DBETA, name);
    }
}

static void every_layer(struct hc_check *check)
{
    const struct hc_recipe *recipe = hc_recipe_by_name(hc_check_case(check)->data);
    for (int ranks = 2; ranks <= HC_NORM_NET_RANKS; ranks *= 2) {
        const struct hc_norm_net *net = hc_norm_net_run(check, recipe, ranks);
        for (int l = 0; net && l < net->plan.layers; l++)
            if (net->plan.layer[l].kind == HC_LAYER_CONV)
                claim_layer(net, l);
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
