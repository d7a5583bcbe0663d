/* The step of an update: its rates, the clipping of gradients, masters that lag behind, and the
   optimizer's calls in their order. */
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "train/update/update_inner.h"

/* The learning rates of a step, looked up on the device.

   A table of `rows` steps holds, one layer group after the other, a row of learning rate and
   momentum for each step, then a row of the factor of decay and 0 for each. The op rates reads the
   row that the count of steps names, so that a step queues the same calls each time. */

enum {
    ROW = HC_TABLE_COLUMNS,
    TABLES = 2 * ROW /* floats of one step and layer group: a row of rates, a row of decay */
};

enum hc_status hc_rate_tables_open(struct hc_update *update)
{
    bool keeps = (update->traits & HC_TRAIT_STEPS_ON_OVERFLOW) != 0;
    for (int g = 0; g < update->layer_groups; g++) {
        struct hc_update_layer_group *group = &update->layer_group[g];
        struct hc_slot_plan plan = hc_slot_plan(&update->recipe, HC_ROLE_WEIGHT, g);
        group->rate = plan.rate;
        group->decay = plan.decay;
        group->hyper = hc_storage_new(update->device, HC_FP32, HC_HYPER_COUNT);
        if (keeps)
            group->keep = hc_storage_new(update->device, HC_FP32, HC_HYPER_COUNT);
        if (!group->hyper || (keeps && !group->keep))
            return HC_NO_MEMORY;
    }
    update->single = hc_storage_new(update->device, HC_FP32, TABLES * update->layer_groups);
    return update->single ? HC_OK : HC_NO_MEMORY;
}

void hc_rate_tables_close(struct hc_update *update)
{
    for (int g = 0; g < update->layer_groups; g++) {
        hc_storage_drop(update->layer_group[g].hyper);
        hc_storage_drop(update->layer_group[g].keep);
    }
    hc_storage_drop(update->single);
    hc_storage_drop(update->schedule);
}

/* Row `step` of every layer group. */
static void set_rows(const struct hc_update *update, struct hc_rates rates, float *table,
                     int64_t rows, int64_t step)
{
    for (int g = 0; g < update->layer_groups; g++) {
        const struct hc_update_layer_group *group = &update->layer_group[g];
        float *row = table + TABLES * rows * g + ROW * step;
        float *decay = row + ROW * rows;
        row[HC_TABLE_LR] = (float)(rates.lr * group->rate);
        row[HC_TABLE_BETA1] = (float)rates.beta1;
        decay[0] = (float)(1 - (double)row[HC_TABLE_LR] * group->decay);
        decay[1] = 0;
    }
}

enum hc_status hc_update_schedule(struct hc_update *update, const struct hc_rates *rates,
                                  int64_t steps)
{
    assert(!update->schedule && steps > 0);
    int64_t count = TABLES * steps * update->layer_groups;
    float *table = malloc((size_t)count * sizeof *table);
    if (!table)
        return hc_fail(HC_NO_MEMORY, "no memory for the rates of %lld steps", (long long)steps);
    for (int64_t i = 0; i < steps; i++)
        set_rows(update, rates[i], table, steps, i);
    update->schedule = hc_storage_new(update->device, HC_FP32, count);
    enum hc_status status = HC_NO_MEMORY;
    if (update->schedule)
        status = hc_storage_write(update->schedule, table);
    free(table);
    return status;
}

static enum hc_status look_up(struct hc_update *update, float *table, int64_t rows,
                              const struct hc_storage *into)
{
    struct hc_call call = {
        .op = HC_OP_rates,
        .in = {[HC_RATES_TABLE] = hc_tensor2(HC_FP32, rows, ROW, table),
               [HC_RATES_COUNTS] = hc_storage_tensor(update->counts)},
        .out = {[HC_RATES_HYPER] = hc_storage_tensor(into)},
    };
    return hc_device_run(update->device, &call);
}

static enum hc_status rate_tables_take(struct hc_update *update)
{
    int64_t rows = update->rates->count / (TABLES * (int64_t)update->layer_groups);
    enum hc_status status = HC_OK;
    for (int g = 0; g < update->layer_groups && status == HC_OK; g++) {
        const struct hc_update_layer_group *group = &update->layer_group[g];
        float *table = (float *)update->rates->data + TABLES * rows * g;
        status = look_up(update, table, rows, group->hyper);
        if (status == HC_OK && group->keep)
            status = look_up(update, table + ROW * rows, rows, group->keep);
    }
    return status;
}

/* Clipping gradients to a norm, as torch's clip_grad_norm_ does: over all gradients, or over those
   of each parameter group by itself.

   One pass adds up squares and ends each norm with its factor, min(1, clip / (norm + 1e-6)); a
   second pass multiplies. The right place for both is behind unscaling. A recipe may have the
   defect of clipping the scaled gradients instead (clip_scaled), whose norm is the scale times too
   large. */

/* In fp64 no op multiplies by one number: there are as many factors as the longest gradient has
   elements. */
enum hc_status hc_clipping_open(struct hc_update *update)
{
    bool wide = update->recipe.model == HC_FP64;
    int64_t factors = 2 * (int64_t)update->layer_groups;
    for (int k = 0; k < update->n && wide; k++) {
        struct hc_tensor g = hc_update_span(update, k, k, HC_STATE_MASTER_GRADIENT);
        factors = hc_tensor_count(&g) > factors ? hc_tensor_count(&g) : factors;
    }
    update->squares =
        hc_storage_new(update->device, wide ? HC_FP64 : HC_FP32, 2 * update->layer_groups);
    update->factors = hc_storage_new(update->device, wide ? HC_FP64 : HC_FP32, factors);
    return update->squares && update->factors ? HC_OK : HC_NO_MEMORY;
}

void hc_clipping_close(struct hc_update *update)
{
    hc_storage_drop(update->squares);
    hc_storage_drop(update->factors);
}

/* The norm that slot k counts to. Slots of one norm follow one another. */
static int norm_of(const struct hc_update *update, int k)
{
    return update->recipe.clip_groups ? update->slots[k].plan.group : 0;
}

/* fastai 1.0.61 clips no gradients that it has not copied. */
static enum hc_status make_factor(struct hc_update *update, int norm)
{
    unsigned stale = HC_TRAIT_STEPS_ON_OVERFLOW | HC_TRAIT_CLIP_UNSCALED;
    struct hc_call call = {.op = HC_OP_clip,
                           .in = {[HC_CLIP_SUM_SQUARES] = hc_storage_element(update->squares, norm),
                                  [HC_CLIP_OVERFLOWED] = {.format = HC_FP32}},
                           .out = {[HC_CLIP_FACTOR] = hc_storage_element(update->factors, norm)},
                           .params.clip = {update->recipe.clip}};
    if ((update->traits & stale) == stale)
        call.in[HC_CLIP_OVERFLOWED] = hc_storage_element(update->verdict, HC_VERDICT_OVERFLOWED);
    return hc_device_run(update->device, &call);
}

/* In fp64, in which no op adds up squares or makes a factor of them: a product does the one, and
   the host the other. What drift is measured against may wait for the device. */
static enum hc_status add_wide_squares(struct hc_update *update, struct hc_tensor g, bool begins,
                                       bool ends)
{
    int64_t n = hc_tensor_count(&g);
    double squares[2 * HC_MAX_LAYER_GROUPS];
    struct hc_call call = {
        .op = HC_OP_gemm,
        .in = {[HC_GEMM_A] = hc_tensor2(HC_FP64, 1, n, g.data),
               [HC_GEMM_B] = hc_tensor2(HC_FP64, n, 1, g.data)},
        .out = {[HC_GEMM_OUT] = hc_tensor2(HC_FP64, 1, 1, update->squares->data)},
        .params.gemm = {.alpha = 1}};
    enum hc_status status = hc_device_run(update->device, &call);
    if (status == HC_OK)
        status = hc_storage_read(update->squares, squares);
    if (status != HC_OK)
        return status;
    update->wide_squares = (begins ? 0 : update->wide_squares) + squares[0];
    double factor = update->recipe.clip / (sqrt(update->wide_squares) + 1e-6);
    double *factors = ends ? malloc((size_t)update->factors->count * sizeof *factors) : NULL;
    for (int64_t i = 0; i < update->factors->count && factors; i++)
        factors[i] = factor > 1 ? 1 : factor; /* a NaN stays one */
    if (factors)
        status = hc_storage_write(update->factors, factors);
    free(factors);
    return ends && !factors ? hc_fail(HC_NO_MEMORY, "no memory to clip gradients") : status;
}

static enum hc_status add_squares(struct hc_update *update, int first, int last,
                                  enum hc_state_tensor gradient)
{
    int norm = norm_of(update, first);
    bool begins = first == 0 || norm_of(update, first - 1) != norm;
    bool ends = last + 1 == update->n || norm_of(update, last + 1) != norm;
    struct hc_tensor sum = hc_storage_element(update->squares, norm);
    if (update->recipe.model == HC_FP64)
        return add_wide_squares(update, hc_update_span(update, first, last, gradient), begins,
                                ends);
    struct hc_call call = {
        .op = HC_OP_sum_squares,
        .in = {[HC_REDUCE_X] = hc_update_span(update, first, last, gradient),
               [HC_SUM_SQUARES_PARTIAL] = begins ? (struct hc_tensor){.format = HC_FP32} : sum},
        .out = {[HC_REDUCE_OUT] = sum},
        .params.reduce = {HC_FP32}};
    enum hc_status status = hc_device_run(update->device, &call);
    return status == HC_OK && ends ? make_factor(update, norm) : status;
}

static enum hc_status add_scaled(struct hc_update *update, int first, int last)
{
    return add_squares(update, first, last, HC_STATE_GRADIENT);
}

static enum hc_status add_unscaled(struct hc_update *update, int first, int last)
{
    return add_squares(update, first, last, HC_STATE_MASTER_GRADIENT);
}

/* A factor that is NaN must not stay in the padding between gradients. The next backward pass would
   not make 0 of it again. The next copy does, as far as it copies several slots at once: those that
   are neighbours in the model's gradients and in the copies. */
static enum hc_status multiply_gradients(struct hc_update *update, int first, int last)
{
    enum hc_state_tensor gradient =
        update->recipe.clip_scaled ? HC_STATE_GRADIENT : HC_STATE_MASTER_GRADIENT;
    bool copied = gradient == HC_STATE_MASTER_GRADIENT &&
                  update->slots[first].plan.own[HC_STATE_MASTER_GRADIENT];
    enum hc_status status = HC_OK;
    for (int k = first; k <= last && status == HC_OK; k = copied ? last + 1 : k + 1) {
        struct hc_tensor g = hc_update_span(update, k, copied ? last : k, gradient);
        struct hc_call call = {
            .op = HC_OP_scale,
            .in = {[HC_SCALE_X] = g,
                   [HC_SCALE_S] = hc_storage_element(update->factors, norm_of(update, first))},
            .out = {[HC_SCALE_OUT] = g}};
        if (update->recipe.model == HC_FP64) {
            call = (struct hc_call){.op = HC_OP_mul, .in = {[HC_X] = g}, .out = {[HC_OUT] = g}};
            call.in[HC_Y] = g;
            call.in[HC_Y].data = update->factors->data;
        }
        status = hc_device_run(update->device, &call);
    }
    return status;
}

const struct hc_pass hc_clipping_sum_scaled = {
    .touches = 1, .touched = {HC_STATE_GRADIENT}, .by_group = true, .run = add_scaled};
const struct hc_pass hc_clipping_sum_unscaled = {
    .touches = 1, .touched = {HC_STATE_MASTER_GRADIENT}, .by_group = true, .run = add_unscaled};
const struct hc_pass hc_clipping_multiply = {
    .touches = 2,
    .touched = {HC_STATE_GRADIENT, HC_STATE_MASTER_GRADIENT},
    .by_group = true,
    .run = multiply_gradients};

/* fastai 1.0.61's rule: when gradients overflow they are not copied to the masters, but the
   optimizer steps all the same, on whatever gradients the masters hold.

   What they hold is zeros, because fastai zeroes them after each step; or, before the first copy,
   nothing at all (then the step waits for the first copy) or uninitialised memory (flat masters).
   Momentum moves on such a step and weight decay applies, which is why the overflow costs more than
   a step that is left out.

   The detector is fastai's: the fp32 sum of each of the model's gradients, which is infinite or NaN
   if an element is. It must speak before the copy, so that this rule detects, asks for the verdict
   and unscales with the verdict, where the others unscale and detect in one op. Decay is a step of
   its own before the optimizer's: it multiplies weights and needs no gradient. */

/* What stands for uninitialised memory, byte by byte: as fp32 it is -431602080. */
enum { GARBAGE = 0xcd };

static enum hc_status fill_with_garbage(struct hc_storage *gradient)
{
    size_t bytes = (size_t)gradient->count * sizeof(float);
    void *garbage = malloc(bytes + 1);
    if (!garbage)
        return hc_fail(HC_NO_MEMORY, "no memory for gradients");
    memset(garbage, GARBAGE, bytes);
    enum hc_status status = hc_storage_write(gradient, garbage);
    free(garbage);
    return status;
}

enum hc_status hc_stale_open(struct hc_update *update)
{
    int64_t longest = 1;
    int64_t whole = 0;
    enum hc_status status = HC_OK;
    for (int i = 0; i < update->n; i++) {
        int64_t count = update->slots[i].count;
        whole += hc_update_padded(count);
        longest = count > longest ? count : longest;
    }
    if (!update->recipe.apart && whole > longest)
        longest = whole;
    update->sums = hc_storage_new(update->device, HC_FP32, update->n + 1);
    update->zeros = hc_storage_new(update->device, HC_FP32, longest);
    update->unread = hc_storage_new(update->device, HC_FP32, 1);
    if (!update->sums || !update->zeros || !update->unread)
        return HC_NO_MEMORY;
    for (int i = 0; update->recipe.flat && i < update->n && status == HC_OK; i++)
        status = fill_with_garbage(update->slots[i].state[HC_STATE_MASTER_GRADIENT]);
    return status;
}

void hc_stale_close(struct hc_update *update)
{
    hc_storage_drop(update->sums);
    hc_storage_drop(update->zeros);
    hc_storage_drop(update->unread);
}

static enum hc_status add_up(struct hc_update *update, int first, int last)
{
    struct hc_call call = {
        .op = HC_OP_sum,
        .in = {[HC_REDUCE_X] = hc_update_span(update, first, last, HC_STATE_GRADIENT)},
        .out = {[HC_REDUCE_OUT] = hc_storage_element(update->sums, first)},
        .params.reduce = {HC_FP32}};
    return hc_device_run(update->device, &call);
}

/* unscale for the sake of its flag: the sums themselves are not read again. */
static enum hc_status stale_detect(struct hc_update *update)
{
    struct hc_tensor sums = hc_storage_tensor(update->sums);
    struct hc_call call = {
        .op = HC_OP_unscale,
        .in = {[HC_UNSCALE_X] = sums, [HC_UNSCALE_SCALE] = hc_storage_tensor(update->scale)},
        .out = {[HC_UNSCALE_OUT] = sums,
                [HC_UNSCALE_NEW_FOUND_INF] = hc_storage_tensor(update->found)}};
    return hc_device_run(update->device, &call);
}

static enum hc_status shrink(struct hc_update *update, int first, int last)
{
    struct hc_tensor w = hc_update_span(update, first, last, HC_STATE_MASTER);
    int group = update->slots[first].plan.layer_group;
    struct hc_call call = {
        .op = HC_OP_scale,
        .in = {[HC_SCALE_X] = w,
               [HC_SCALE_S] = hc_storage_element(update->layer_group[group].keep, 0)},
        .out = {[HC_SCALE_OUT] = w}};
    return hc_device_run(update->device, &call);
}

static enum hc_status zero(struct hc_update *update, int first, int last)
{
    struct hc_tensor g = hc_update_span(update, first, last, HC_STATE_MASTER_GRADIENT);
    struct hc_tensor zeros = hc_tensor1(HC_FP32, hc_tensor_count(&g), update->zeros->data);
    return hc_device_cast(update->device, zeros, g);
}

const struct hc_pass hc_stale_sum = {.touches = 1, .touched = {HC_STATE_GRADIENT}, .run = add_up};
const struct hc_pass hc_stale_decay = {
    .touches = 1, .touched = {HC_STATE_MASTER}, .by_group = true, .decaying = true, .run = shrink};
const struct hc_pass hc_stale_zero = {
    .touches = 1, .touched = {HC_STATE_MASTER_GRADIENT}, .run = zero};

/* One step of an update, as a list of stages.

   The order of the stages is what mixed-precision recipes differ in, and what goes wrong in them:
   decay before unscaling decays by the scale, clipping before unscaling clips at the wrong norm, a
   verdict after the copy comes too late. So the order stands in one table, top to bottom, with the
   trait that a recipe must have for a stage to run. A stage is either one action, or a pass over
   the slots.

   Every stage queues ops whose arguments are the same at every step: which row of the schedule,
   whether an infinity was found, which step is left out is decided on the device. That is why a
   step can be captured as a graph. The one exception is the defect HC_DECAY_MODEL, whose factor
   comes from the host. */

/* out = alpha * x + out */
static enum hc_status add_to(struct hc_update *update, double alpha, struct hc_tensor x,
                             struct hc_tensor out)
{
    struct hc_call call = {.op = HC_OP_axpy,
                           .in = {[HC_X] = x, [HC_Y] = out},
                           .out = {[HC_OUT] = out},
                           .params.axpy = {alpha}};
    return hc_device_run(update->device, &call);
}

static enum hc_status decay_scaled(struct hc_update *update, int first, int last)
{
    return add_to(update, update->slots[first].plan.decay,
                  hc_update_span(update, first, last, HC_STATE_MODEL),
                  hc_update_span(update, first, last, HC_STATE_GRADIENT));
}

/* From the model's gradients to what the optimizer reads. `found` gathers from the first slot on. A
   rule that steps on overflow has detected already: it passes its verdict in, keeps what the
   masters hold if there was an overflow, and has no use for a second `found`. */
static enum hc_status unscale(struct hc_update *update, int first, int last)
{
    struct hc_tensor gradient = hc_update_span(update, first, last, HC_STATE_GRADIENT);
    struct hc_tensor unscaled = hc_update_span(update, first, last, HC_STATE_MASTER_GRADIENT);
    struct hc_tensor found = hc_storage_tensor(update->found);
    struct hc_call call = {
        .op = HC_OP_unscale,
        .in = {[HC_UNSCALE_X] = gradient, [HC_UNSCALE_SCALE] = hc_storage_tensor(update->scale)},
        .out = {[HC_UNSCALE_OUT] = unscaled, [HC_UNSCALE_NEW_FOUND_INF] = found},
        .params.unscale = {update->recipe.reciprocal}};
    if (update->recipe.scaler.rule == HC_SCALER_NONE)
        return hc_device_cast(update->device, gradient, unscaled);
    if (first > 0)
        call.in[HC_UNSCALE_FOUND_INF] = found;
    if (update->traits & HC_TRAIT_STEPS_ON_OVERFLOW) {
        call.in[HC_UNSCALE_FOUND_INF] = hc_storage_element(update->verdict, HC_VERDICT_OVERFLOWED);
        call.in[HC_UNSCALE_OVERRIDE] = unscaled;
        call.out[HC_UNSCALE_NEW_FOUND_INF] = hc_storage_tensor(update->unread);
    }
    return hc_device_run(update->device, &call);
}

/* A defect, whose factor comes from the host at each step. */
static enum hc_status decay_model(struct hc_update *update)
{
    enum hc_status status = HC_OK;
    for (int i = 0; i < update->n && status == HC_OK; i++) {
        const struct hc_slot_plan *plan = &update->slots[i].plan;
        struct hc_tensor w = hc_storage_tensor(update->slots[i].parameter->storage);
        if (plan->decay > 0)
            status = add_to(update, -(update->host_lr * plan->rate * plan->decay), w, w);
    }
    return status;
}

static enum hc_status show_gradients(struct hc_update *update)
{
    return update->watch(update->watch_context);
}

static enum hc_status agree_on_found(struct hc_update *update)
{
    return update->agree(update->agree_context);
}

/* A rule that steps on overflow has detected, and agreed, before. */
static enum hc_status agree_after_unscaling(struct hc_update *update)
{
    return update->traits & HC_TRAIT_STEPS_ON_OVERFLOW ? HC_OK : agree_on_found(update);
}

static union hc_params optimizer_params(const struct hc_update *update,
                                        const struct hc_update_slot *slot, enum hc_format weight)
{
    const struct hc_recipe *r = &update->recipe;
    bool decoupled = r->decay == HC_DECAY_DECOUPLED;
    bool inside =
        r->decay == HC_DECAY_L2 || (decoupled && !(update->traits & HC_TRAIT_DECAYS_APART));
    double decay = inside ? slot->plan.decay : 0;
    struct hc_stochastic stochastic = {0};
    if (r->stochastic && weight == HC_BF16)
        stochastic = (struct hc_stochastic){true, update->seed, slot->first};
    if (update->optimizer == HC_OP_sgd)
        return (union hc_params){.sgd = {.weight_decay = decay,
                                         .decoupled = decoupled,
                                         .nesterov = r->nesterov,
                                         .rate_inside = r->rate_inside,
                                         .arithmetic = slot->plan.arithmetic,
                                         .stochastic = stochastic}};
    return (union hc_params){.adam = {.beta2 = r->beta2,
                                      .eps = r->eps,
                                      .weight_decay = decay,
                                      .eps_inside = r->eps_inside,
                                      .order = r->order,
                                      .arithmetic = slot->plan.arithmetic,
                                      .stochastic = stochastic}};
}

/* Not 0: this step changes no weight. */
static struct hc_tensor left_out(const struct hc_update *update)
{
    if (update->verdict)
        return hc_storage_element(update->verdict, HC_VERDICT_SKIPPED);
    if (update->rule.skip_on_overflow)
        return hc_storage_tensor(update->found);
    return (struct hc_tensor){.format = HC_FP32};
}

static enum hc_status optimize(struct hc_update *update, int first, int last)
{
    const struct hc_optimizer_slots *s = hc_optimizer_slots(update->optimizer);
    const struct hc_update_slot *slot = &update->slots[first];
    struct hc_tensor w = hc_update_span(update, first, last, HC_STATE_MASTER);
    struct hc_tensor c = hc_tensor1(w.format, 0, NULL);
    struct hc_call call = {.op = update->optimizer,
                           .params = optimizer_params(update, slot, w.format)};
    if (slot->plan.own[HC_STATE_COMPENSATION])
        c = hc_update_span(update, first, last, HC_STATE_COMPENSATION);
    call.in[s->w] = call.out[s->new_w] = w;
    call.in[s->g] = hc_update_span(update, first, last, HC_STATE_MASTER_GRADIENT);
    call.in[s->m] = call.out[s->new_m] = hc_update_span(update, first, last, HC_STATE_M);
    if (s->v >= 0)
        call.in[s->v] = call.out[s->new_v] = hc_update_span(update, first, last, HC_STATE_V);
    call.in[s->hyper] = hc_storage_tensor(update->layer_group[slot->plan.layer_group].hyper);
    call.in[s->found_inf] = left_out(update);
    call.in[s->compensation] = call.out[s->new_compensation] = c;
    return hc_device_run(update->device, &call);
}

/* An edit of the copy does not survive this. */
static enum hc_status copy_to_model(struct hc_update *update, int first, int last)
{
    struct hc_call call = {
        .op = HC_OP_master_to_model,
        .in = {[HC_MODEL_MASTER] = hc_update_span(update, first, last, HC_STATE_MASTER)},
        .out = {[HC_MODEL_COPY] = hc_update_span(update, first, last, HC_STATE_MODEL)}};
    return hc_device_run(update->device, &call);
}

static enum hc_status log_step(struct hc_update *update)
{
    const struct hc_storage *log = update->step_log;
    struct hc_tensor rows =
        hc_tensor2(HC_FP32, log->count / HC_STEP_LOG_COLUMNS, HC_STEP_LOG_COLUMNS, log->data);
    struct hc_call call = {.op = HC_OP_step_log,
                           .in = {[HC_STEP_LOG_ROWS] = rows,
                                  [HC_STEP_LOG_COUNTS] = hc_storage_tensor(update->counts),
                                  [HC_STEP_LOG_SCALARS] = update->reported[0],
                                  update->reported[1],
                                  hc_storage_tensor(update->scale),
                                  hc_update_found(update)},
                           .out = {[HC_STEP_LOG_NEW_ROWS] = rows}};
    return hc_device_run(update->device, &call);
}

/* An op of the scaler's rule, on the scale and the counts as they are before it. */
static struct hc_call scaler_call(const struct hc_update *update, enum hc_op op)
{
    return (struct hc_call){.op = op,
                            .in = {[HC_SCALER_SCALE] = hc_storage_tensor(update->scale),
                                   [HC_SCALER_COUNTS] = hc_storage_tensor(update->counts),
                                   [HC_SCALER_FOUND_INF] = hc_update_found(update)},
                            .params.scaler = update->rule};
}

static enum hc_status take_verdict(struct hc_update *update)
{
    struct hc_call call = scaler_call(update, HC_OP_overflow_verdict);
    call.out[HC_VERDICT_OUT] = hc_storage_tensor(update->verdict);
    return hc_device_run(update->device, &call);
}

static enum hc_status update_scale(struct hc_update *update)
{
    struct hc_call call = scaler_call(update, HC_OP_scaler_update);
    call.out[HC_SCALER_NEW_SCALE] = hc_storage_tensor(update->scale);
    call.out[HC_SCALER_NEW_COUNTS] = hc_storage_tensor(update->counts);
    return hc_device_run(update->device, &call);
}

static const struct hc_pass decay_scaled_pass = {.touches = 2,
                                                 .touched = {HC_STATE_MODEL, HC_STATE_GRADIENT},
                                                 .by_group = true,
                                                 .decaying = true,
                                                 .run = decay_scaled};
static const struct hc_pass unscale_pass = {
    .touches = 2,
    .touched = {HC_STATE_GRADIENT, HC_STATE_MASTER_GRADIENT},
    .owns = HC_STATE_MASTER_GRADIENT,
    .run = unscale};
static const struct hc_pass optimize_pass = {.touches = 5,
                                             .touched = {HC_STATE_MASTER, HC_STATE_MASTER_GRADIENT,
                                                         HC_STATE_M, HC_STATE_V,
                                                         HC_STATE_COMPENSATION},
                                             .by_group = true,
                                             .run = optimize};
static const struct hc_pass copy_pass = {.touches = 2,
                                         .touched = {HC_STATE_MASTER, HC_STATE_MODEL},
                                         .owns = HC_STATE_MASTER,
                                         .run = copy_to_model};

/* dw: the model's gradient, of the scaled loss. g: the optimizer's. w: what the optimizer steps. */
static const struct {
    unsigned traits; /* all of them are asked for */
    enum hc_status (*once)(struct hc_update *update);
    const struct hc_pass *each;
} stages[] = {
    {HC_TRAIT_NONE, .once = rate_tables_take},                    /* lr, beta1, t of this step */
    {HC_TRAIT_DECAY_SCALED_GRADIENT, .each = &decay_scaled_pass}, /* dw += decay * w (a defect) */
    {HC_TRAIT_CLIP_SCALED, .each = &hc_clipping_sum_scaled}, /* f = factor of |dw| (a defect) */
    {HC_TRAIT_CLIP_SCALED, .each = &hc_clipping_multiply},   /* dw *= f */
    {HC_TRAIT_STEPS_ON_OVERFLOW, .each = &hc_stale_sum},     /* s = sum of each dw */
    {HC_TRAIT_STEPS_ON_OVERFLOW, .once = stale_detect},      /* found = is an s inf or NaN? */
    {HC_TRAIT_STEPS_ON_OVERFLOW | HC_TRAIT_SHARED, .once = agree_on_found}, /* of all ranks */
    {HC_TRAIT_STEPS_ON_OVERFLOW, .once = take_verdict},          /* overflowed? skipped? */
    {HC_TRAIT_NONE, .each = &unscale_pass},                      /* g = dw / scale, found */
    {HC_TRAIT_SHARED, .once = agree_after_unscaling},            /* of all ranks */
    {HC_TRAIT_ERROR_AT_FLOOR, .once = take_verdict},             /* skipped, also at scale 0? */
    {HC_TRAIT_CLIP_UNSCALED, .each = &hc_clipping_sum_unscaled}, /* f = factor of |g| */
    {HC_TRAIT_CLIP_UNSCALED, .each = &hc_clipping_multiply},     /* g *= f */
    {HC_TRAIT_WATCHED, .once = show_gradients},                  /* somebody looks at g */
    {HC_TRAIT_DECAY_MODEL_COPY, .once = decay_model},     /* model *= 1 - lr decay (a defect) */
    {HC_TRAIT_DECAYS_APART, .each = &hc_stale_decay},     /* w *= 1 - lr * decay */
    {HC_TRAIT_NONE, .each = &optimize_pass},              /* w, m, v from g, unless skipped */
    {HC_TRAIT_STEPS_ON_OVERFLOW, .each = &hc_stale_zero}, /* g = 0 */
    {HC_TRAIT_NONE, .each = &copy_pass},                  /* model = w, where w is a master */
    {HC_TRAIT_LOGS_STEPS, .once = log_step},              /* loss, right, scale, found */
    {HC_TRAIT_NONE, .once = update_scale},                /* scale, counts */
};

static enum hc_status queue_update(struct hc_update *update)
{
    enum hc_status status = HC_OK;
    for (size_t i = 0; i < sizeof stages / sizeof stages[0] && status == HC_OK; i++)
        if ((update->traits & stages[i].traits) == stages[i].traits)
            status =
                stages[i].each ? hc_update_walk(update, stages[i].each) : stages[i].once(update);
    return status;
}

enum hc_status hc_update_step(struct hc_update *update, double lr, double beta1)
{
    float table[TABLES * HC_MAX_LAYER_GROUPS];
    update->rates = update->single;
    update->host_lr = lr;
    set_rows(update, (struct hc_rates){lr, beta1}, table, 1, 0);
    enum hc_status status = hc_storage_write(update->single, table);
    return status == HC_OK ? queue_update(update) : status;
}

enum hc_status hc_update_queue(struct hc_update *update)
{
    assert(update->schedule && !(update->traits & HC_TRAIT_DECAY_MODEL_COPY));
    update->rates = update->schedule;
    return queue_update(update);
}
