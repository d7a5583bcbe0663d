/* A training whose numbers are read and set as fp64: its shards, its opening, its passes and
   updates. */
#include "train/drift/drift_run.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "comm/comm.h"
#include "train/drift/drift_rounding.h"
#include "train/parallel/reduction.h"
#include "train/update/update.h"

int hc_drift_shards(int ranks, const struct hc_recipe *recipe)
{
    return ranks > 0 && recipe->shards > 0 ? recipe->shards : ranks > 0 ? ranks : 1;
}

static struct hc_tensor tensor_of(const struct hc_gradient *g)
{
    return hc_tensor1(g->format, g->count, g->data);
}

static size_t padded(const struct hc_gradient *g)
{
    struct hc_tensor t = tensor_of(g);
    return (hc_tensor_bytes(&t) + 63) / 64 * 64;
}

/* Makes room for the gradients of all shards. `gradients` are those of one, in the formats in which
   they are contributed, without data. HC_NO_MEMORY. The device and the recipe outlive it. */
static enum hc_status drift_shards_open(struct hc_drift_shards *s, struct hc_device *device,
                                        int ranks, const struct hc_recipe *recipe,
                                        const struct hc_gradient *gradients, int parameters)
{
    size_t bytes = 0;
    *s = (struct hc_drift_shards){.ranks = ranks,
                                  .shards = hc_drift_shards(ranks, recipe),
                                  .parameters = parameters,
                                  .recipe = recipe,
                                  .device = device};
    int n = s->shards * parameters;
    for (int p = 0; p < parameters; p++)
        bytes += (size_t)s->shards * padded(&gradients[p]);
    s->gradient = calloc((size_t)n + 1, sizeof *s->gradient);
    s->memory = aligned_alloc(64, bytes + 64);
    if (!s->gradient || !s->memory)
        return hc_fail(HC_NO_MEMORY, "no memory for the gradients of %d shards", s->shards);
    unsigned char *at = s->memory;
    for (int i = 0; i < n; i++) {
        s->gradient[i] = gradients[i % parameters];
        s->gradient[i].data = at;
        at += padded(&s->gradient[i]);
    }
    return HC_OK;
}

static void drift_shards_close(struct hc_drift_shards *s)
{
    free(s->gradient);
    free(s->memory);
}

/* Takes all gradients of one shard, which lie one behind the other, and rounds them to the formats
   in which they are contributed. */
static enum hc_status drift_shards_take(struct hc_drift_shards *s, int shard, double *g)
{
    enum hc_status status = HC_OK;
    const struct hc_gradient *own = s->gradient + (ptrdiff_t)shard * s->parameters;
    for (int p = 0; p < s->parameters && status == HC_OK; p++) {
        struct hc_tensor from = hc_tensor1(HC_FP64, own[p].count, g);
        if (own[p].count > 0)
            status = hc_device_cast(s->device, from, tensor_of(&own[p]));
        g += own[p].count;
    }
    return status;
}

/* What one rank does. */
static enum hc_status reduce_shards(struct hc_comm *comm, void *context)
{
    const struct hc_drift_shards *s = context;
    struct hc_reduction *reduction;
    int own = s->shards / comm->size;
    const struct hc_gradient *first = s->gradient + (ptrdiff_t)comm->rank * own * s->parameters;
    enum hc_status status =
        hc_reduction_open(&reduction, s->recipe, comm, s->shards, first, s->parameters);
    if (status != HC_OK)
        return status;
    for (int i = 0; i < own; i++)
        hc_reduction_add(reduction, first + (ptrdiff_t)i * s->parameters);
    status = hc_reduction_finish(reduction, first, NULL);
    hc_reduction_close(reduction);
    return status;
}

/* Averages, once all shards are there, and gives the average. All ranks have the same average; rank
   0's is taken. */
static enum hc_status drift_shards_average(struct hc_drift_shards *s, double *g)
{
    enum hc_status status = hc_comm_threads(s->ranks, reduce_shards, s);
    for (int p = 0; p < s->parameters && status == HC_OK; p++) {
        const struct hc_gradient *average = &s->gradient[p];
        struct hc_tensor to = hc_tensor1(HC_FP64, average->count, g);
        if (average->count > 0)
            status = hc_device_cast(s->device, tensor_of(average), to);
        g += average->count;
    }
    return status;
}

enum hc_status hc_drift_run_open(struct hc_drift_run *s, const struct hc_drift_options *o,
                                 struct hc_queue *queue, const struct hc_recipe *recipe)
{
    int shards = hc_drift_shards(o->ranks, recipe);
    *s = (struct hc_drift_run){.device = {.backend = o->backend, .queue = queue},
                               .ranks = o->ranks,
                               .shards = shards,
                               .images = o->batch / shards};
    enum hc_status status =
        hc_net_open(&s->net, &s->device, o->network, o->data->classes, s->images, o->seed);
    if (status != HC_OK)
        return status;
    const struct hc_plan *plan = hc_net_plan(s->net);
    s->weights = plan->weights + plan->norm_weights;
    s->g = malloc((size_t)s->weights * sizeof *s->g);
    s->before = malloc((size_t)s->weights * sizeof *s->before);
    if (!s->g || !s->before)
        return hc_fail(HC_NO_MEMORY, "no memory for drift");
    status = hc_model_open(&s->update, &s->device, s->net, recipe);
    s->rounder.device = &s->device;
    s->rounder.parameters = hc_net_parameters(s->net);
    s->rounder.update = s->update;
    s->rounder.net = s->net;
    return status;
}

void hc_drift_run_close(struct hc_drift_run *s)
{
    if (s->rounder.device)
        hc_rounder_end(&s->rounder);
    hc_update_close(s->update);
    hc_net_close(s->net);
    hc_device_end(&s->device);
    free(s->g);
    free(s->sizes);
    free(s->before);
}

/* Between a state tensor of every parameter and x, whichever way. */
static enum hc_status carry(struct hc_drift_run *s, enum hc_state_tensor state, double *x,
                            bool to_x)
{
    enum hc_status status = HC_OK;
    for (int p = 0; p < hc_update_parameters(s->update) && status == HC_OK; p++) {
        struct hc_tensor t = hc_update_tensor(s->update, state, p);
        struct hc_tensor wide = t;
        wide.format = HC_FP64;
        wide.data = x;
        status = hc_device_cast(&s->device, to_x ? t : wide, to_x ? wide : t);
        x += hc_tensor_count(&t);
    }
    return status;
}

enum hc_status hc_drift_run_get(struct hc_drift_run *s, enum hc_state_tensor state, double *to)
{
    return carry(s, state, to, true);
}

static enum hc_status drift_run_set(struct hc_drift_run *s, enum hc_state_tensor state,
                                    double *from)
{
    return carry(s, state, from, false);
}

/* Rounds such numbers in place, each parameter's to the format of its kind. */
static enum hc_status drift_run_round(struct hc_drift_run *s, const enum hc_format format[2],
                                      double *x)
{
    enum hc_status status = HC_OK;
    for (int p = 0; p < hc_update_parameters(s->update) && status == HC_OK; p++) {
        const struct hc_parameter *parameter = s->rounder.parameters[p];
        int64_t n = hc_parameter_count(parameter);
        status = hc_rounded(&s->rounder, format[parameter->role == HC_ROLE_NORM], x, n);
        x += n;
    }
    return status;
}

enum hc_status hc_drift_run_set_weights(struct hc_drift_run *s, const double *w)
{
    memcpy(s->before, w, (size_t)s->weights * sizeof *w);
    if (hc_update_recipe(s->update)->model == HC_FP64)
        return drift_run_set(s, HC_STATE_MASTER, s->before);
    enum hc_status status = hc_rounded(&s->rounder, HC_FP32, s->before, s->weights);
    if (status == HC_OK)
        status = drift_run_set(s, HC_STATE_MASTER, s->before);
    if (status == HC_OK)
        status = hc_drift_run_get(s, HC_STATE_MASTER, s->before);
    return status == HC_OK ? drift_run_set(s, HC_STATE_MODEL, s->before) : status;
}

enum hc_status hc_drift_run_restart(struct hc_drift_run *s, const struct hc_rounding *rounding,
                                    const double *w, bool rounded_start)
{
    struct hc_counters counters = {.scale = 1};
    s->rounds = true;
    s->rounder.rounding = *rounding;
    hc_rounder_attach(&s->rounder);
    enum hc_status status = hc_rounder_quantise(&s->rounder, s->net);
    if (status != HC_OK)
        return status;
    memset(s->g, 0, (size_t)s->weights * sizeof *s->g);
    status = hc_update_set_counters(s->update, &counters);
    if (status == HC_OK)
        status = drift_run_set(s, HC_STATE_M, s->g);
    if (status == HC_OK && hc_update_recipe(s->update)->optimizer == HC_OPTIMIZER_ADAM)
        status = drift_run_set(s, HC_STATE_V, s->g);
    if (status == HC_OK)
        status = hc_drift_run_set_weights(s, w);
    if (status != HC_OK || !rounded_start)
        return status;
    status = drift_run_round(s, rounding->start, s->before);
    return status == HC_OK ? drift_run_set(s, HC_STATE_MASTER, s->before) : status;
}

static bool is_gpt(const struct hc_drift_run *s)
{
    return hc_net_plan(s->net)->network->gpt != NULL;
}

/* Rounds one state tensor after the update, as the recipe stores it. */
static enum hc_status store(struct hc_drift_run *s, enum hc_state_tensor state,
                            enum hc_source source)
{
    const enum hc_format *format = s->rounder.rounding.format[source];
    if (format[0] == HC_FP64 && format[1] == HC_FP64)
        return HC_OK;
    enum hc_status status = hc_drift_run_get(s, state, s->g);
    if (status == HC_OK)
        status = drift_run_round(s, format, s->g);
    return status == HC_OK ? drift_run_set(s, state, s->g) : status;
}

enum hc_status hc_drift_run_update(struct hc_drift_run *s, double lr)
{
    bool adam = hc_update_recipe(s->update)->optimizer == HC_OPTIMIZER_ADAM;
    enum hc_status status = s->rounds ? drift_run_set(s, HC_STATE_GRADIENT, s->g) : HC_OK;
    if (status == HC_OK)
        status = hc_update_step(s->update, lr, 0.9);
    if (status == HC_OK && s->rounds)
        status = store(s, HC_STATE_M, HC_SOURCE_STATE);
    if (status == HC_OK && s->rounds && adam)
        status = store(s, HC_STATE_V, is_gpt(s) ? HC_SOURCE_SQUARES : HC_SOURCE_STATE);
    return status == HC_OK && s->rounds ? store(s, HC_STATE_MASTER, HC_SOURCE_MASTER) : status;
}

/* A step's batch through the network and back, shard by shard. */

/* The format in which the network computes with parameter p, or quantises it. */
static enum hc_format seen_as(const struct hc_drift_run *s, int p)
{
    const struct hc_plan *plan = hc_net_plan(s->net);
    const struct hc_rounding *r = &s->rounder.rounding;
    const struct hc_layer *layer = hc_plan_layer_of(plan, p);
    if (hc_plan_quantises(plan, (int)(layer - plan->layer), (int)r->coding.ends) &&
        (is_gpt(s) || p == layer->parameter + HC_CONV_FILTER))
        return r->coding.filter;
    return s->rounder.parameters[p]->role == HC_ROLE_NORM ? hc_norm_format(r, 1)
                                                          : r->format[HC_SOURCE_WEIGHTS][0];
}

/* Replaces the weights by what the network computes with: rounded to its format through fp32, as
   from a master copy. The unrounded weights stay in s->before. */
static enum hc_status round_weights(struct hc_drift_run *s)
{
    double *w = s->g;
    enum hc_status status = hc_drift_run_get(s, HC_STATE_MASTER, s->before);
    memcpy(w, s->before, (size_t)s->weights * sizeof *w);
    for (int p = 0; p < hc_update_parameters(s->update) && status == HC_OK; p++) {
        int64_t n = hc_parameter_count(s->rounder.parameters[p]);
        enum hc_format format = seen_as(s, p);
        if (format > HC_FP32)
            status = hc_rounded(&s->rounder, HC_FP32, w, n);
        if (status == HC_OK)
            status = hc_rounded(&s->rounder, format, w, n);
        w += n;
    }
    return status == HC_OK ? drift_run_set(s, HC_STATE_MODEL, s->g) : status;
}

/* Gradients of weights, as they are stored. */
static enum hc_status round_gradients(struct hc_drift_run *s)
{
    const struct hc_rounding *r = &s->rounder.rounding;
    const enum hc_format left[2] = {r->format[HC_SOURCE_WEIGHT_GRADIENTS][0], hc_norm_format(r, 1)};
    int64_t own = is_gpt(s) ? hc_parameter_count(s->rounder.parameters[HC_GPT_EMBEDDING]) : 0;
    double *x = s->g + own;
    enum hc_status status = hc_rounded(&s->rounder, r->format[HC_SOURCE_EMBEDDING][0], s->g, own);
    for (int p = own > 0; p < hc_update_parameters(s->update) && status == HC_OK; p++) {
        const struct hc_parameter *parameter = s->rounder.parameters[p];
        int64_t n = hc_parameter_count(parameter);
        status = hc_rounded(&s->rounder, left[parameter->role == HC_ROLE_NORM], x, n);
        x += n;
    }
    return status;
}

/* One shard, or a batch in one piece: gives s->g, still scaled, as it is stored. */
static enum hc_status pass_shard(struct hc_drift_run *s, const struct hc_drift_batches *b,
                                 int64_t first, const struct hc_tensor *factor, float *loss)
{
    int right;
    s->rounder.backward = false;
    if (hc_net_quant(s->net))
        hc_quant_step(hc_net_quant(s->net), 0, s->passes++);
    enum hc_status status = hc_net_train(s->net, hc_drift_example(b, first),
                                         hc_drift_label(b, first), factor, loss, &right);
    if (status == HC_OK)
        status = hc_drift_run_get(s, HC_STATE_GRADIENT, s->g);
    return status == HC_OK && s->rounds ? round_gradients(s) : status;
}

/* Who averages: the recipe of the training, or the one whose rounding is put into it. */
static struct hc_recipe averaging_recipe(const struct hc_drift_run *s, bool rounded)
{
    struct hc_recipe r = *hc_update_recipe(s->update);
    const struct hc_averaging *a = &s->rounder.rounding.average;
    if (rounded) {
        r.wrapper = a->wrapper;
        r.algorithm = a->algorithm;
        r.reduce = a->reduce;
        r.bucket = a->bucket;
        r.predivide = a->predivide;
    }
    return r;
}

/* What a shard contributes. Where the average's rounding is put in, gradients come in the format of
   its sums, into which the wrapper would round them first. */
static struct hc_gradient contribution(const struct hc_drift_run *s, int p, bool rounded,
                                       const struct hc_recipe *by)
{
    const struct hc_parameter *parameter = s->rounder.parameters[p];
    const struct hc_rounding *r = &s->rounder.rounding;
    int norm = parameter->role == HC_ROLE_NORM;
    enum hc_format own = hc_update_tensor(s->update, HC_STATE_GRADIENT, p).format;
    return (struct hc_gradient){.format = rounded ? r->format[HC_SOURCE_REDUCTION][norm] : own,
                                .held = rounded ? r->average.held[norm] : hc_wrapper_held(by, own),
                                .count = hc_parameter_count(parameter),
                                .layer = parameter->layer};
}

/* Shard by shard; the average becomes s->g, and the training's gradient if it rounds by itself. */
static enum hc_status pass_shards(struct hc_drift_run *s, const struct hc_drift_batches *b,
                                  int64_t first, const struct hc_tensor *factor, float *loss)
{
    struct hc_drift_shards shards = {0};
    int n = hc_update_parameters(s->update);
    bool rounded = s->rounds && s->rounder.rounding.format[HC_SOURCE_REDUCTION][0] != HC_FP64;
    struct hc_recipe by = averaging_recipe(s, rounded);
    struct hc_gradient *gradients = calloc((size_t)n + 1, sizeof *gradients);
    double sum = 0;
    if (!gradients)
        return hc_fail(HC_NO_MEMORY, "no memory for drift");
    for (int p = 0; p < n; p++)
        gradients[p] = contribution(s, p, rounded, &by);
    enum hc_status status = drift_shards_open(&shards, &s->device, s->ranks, &by, gradients, n);
    for (int i = 0; i < s->shards && status == HC_OK; i++) {
        status = pass_shard(s, b, first + (int64_t)i * s->images, factor, loss);
        if (status == HC_OK)
            status = drift_shards_take(&shards, i, s->g);
        if (status == HC_OK)
            sum += (double)*loss;
        for (int64_t k = 0; s->sizes && k < s->weights; k++)
            s->sizes[k] = (i > 0 ? s->sizes[k] : 0) + fabs(s->g[k]) / (by.sum_loss ? 1 : s->shards);
    }
    if (status == HC_OK)
        status = drift_shards_average(&shards, s->g);
    if (status == HC_OK)
        status = s->rounds ? round_gradients(s) : drift_run_set(s, HC_STATE_GRADIENT, s->g);
    *loss = (float)(by.sum_loss ? sum : sum / s->shards);
    drift_shards_close(&shards);
    free(gradients);
    return status;
}

enum hc_status hc_drift_run_pass(struct hc_drift_run *s, int step,
                                 const struct hc_drift_batches *batches, float scale, float *loss)
{
    struct hc_tensor factor = hc_tensor1(HC_FP32, 1, &scale);
    const struct hc_rounding *r = &s->rounder.rounding;
    bool rounds = s->rounds &&
                  (r->format[HC_SOURCE_WEIGHTS][0] != HC_FP64 || hc_norm_format(r, 1) != HC_FP64);
    int64_t first = (int64_t)step * batches->batch;
    enum hc_status status = HC_OK;
    s->passes = (int64_t)step * s->shards;
    if (rounds)
        status = round_weights(s);
    if (status == HC_OK)
        status = (s->shards > 1 ? pass_shards : pass_shard)(s, batches, first, &factor, loss);
    for (int64_t i = 0; i < s->weights && scale != 1; i++)
        s->g[i] /= (double)scale;
    return status == HC_OK && rounds ? drift_run_set(s, HC_STATE_MODEL, s->before) : status;
}

/* One row of a block. */
static void add_operand_row(struct hc_operand_sums *s, const struct hc_tensor *x,
                            const struct hc_tensor *codes, const double *decoded, double scale,
                            int64_t from, int64_t n)
{
    double most = hc_format_max(codes->format);
    for (int64_t i = from; i < from + n; i++) {
        double was = hc_tensor_get(x, i);
        double code = hc_tensor_get(codes, i);
        s->difference += (decoded[i] - was) * (decoded[i] - was);
        s->squares += was * was;
        s->at_max += fabs(code) == most;
        s->flushed += code == 0 && was != 0;
        if (was != 0) {
            s->least = fmin(s->least, scale);
            s->most = fmax(s->most, scale);
        }
    }
    s->count += (double)n;
}

/* Numbers and codes lie alike where nothing is transposed, or turned. */
enum hc_status hc_drift_operands_see(void *context, int layer, enum hc_quant_role role,
                                     const struct hc_call *call)
{
    struct hc_drift_operands *all = context;
    const struct hc_quantize *p = &call->params.quantize;
    const struct hc_tensor *x = &call->in[HC_QUANTIZE_X];
    const struct hc_tensor *codes = &call->out[HC_QUANTIZE_CODES];
    const struct hc_tensor *scales = &call->out[HC_QUANTIZE_SCALES];
    int64_t rows = hc_quant_block(codes->shape[0], p->rows);
    int64_t columns = hc_quant_block(codes->shape[1], p->columns);
    if (p->transpose || p->hadamard)
        return HC_OK;
    double *decoded = malloc((size_t)hc_tensor_count(codes) * sizeof *decoded + 1);
    if (!decoded)
        return hc_fail(HC_NO_MEMORY, "no memory for decoded codes");
    hc_matrix_decode(call, decoded);
    double tensor = hc_tensor_get(&call->out[HC_QUANTIZE_TENSOR], 0);
    for (int64_t i = 0; i < codes->shape[0]; i++)
        for (int64_t j = 0; j < codes->shape[1]; j += columns) {
            int64_t block = i / rows * scales->shape[1] + j / columns;
            int64_t left = codes->shape[1] - j;
            add_operand_row(&all->sums[layer][role], x, codes, decoded,
                            hc_tensor_get(scales, block) * tensor, i * codes->shape[1] + j,
                            left < columns ? left : columns);
        }
    free(decoded);
    return HC_OK;
}

void hc_drift_operands_clear(struct hc_drift_operands *operands)
{
    for (int l = 0; l < HC_MAX_LAYERS; l++)
        for (int role = 0; role <= HC_QUANT_OF_DY; role++)
            operands->sums[l][role] = (struct hc_operand_sums){.least = (double)INFINITY};
}

void hc_drift_operands_watch(struct hc_drift_run *run, struct hc_drift_operands *operands)
{
    hc_drift_operands_clear(operands);
    if (hc_net_quant(run->net))
        hc_quant_watch_with(hc_net_quant(run->net), hc_drift_operands_see, operands);
}

struct hc_drift_operand hc_drift_operand_of(const struct hc_drift_operands *operands, int layer,
                                            enum hc_quant_role role)
{
    const double none = (double)NAN;
    const struct hc_operand_sums *s = layer >= 0 ? &operands->sums[layer][role] : NULL;
    if (!s || s->count == 0)
        return (struct hc_drift_operand){none, none, none, none, none};
    return (struct hc_drift_operand){.error = sqrt(s->difference / s->squares),
                                     .at_max = s->at_max / s->count,
                                     .flushed = s->flushed / s->count,
                                     .least_scale = s->most > 0 ? s->least : none,
                                     .most_scale = s->most > 0 ? s->most : none};
}
