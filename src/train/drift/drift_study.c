#include "train/drift/drift.h"
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "train/data/loader.h"
#include "train/drift/drift_run.h"
#include "train/drift/drift_shapley.h"
#include "train/drift/drift_sources.h"
#include "train/drift/drift_rounding.h"
#include "train/parallel/parallel.h"
#include "train/parallel/wrapper.h"

/* A derived bound on what the average over ranks may do to a gradient. */

/* What one element of the average may be off by: `relative` times the mean of its contributions
   without their signs, and `absolute` as well, for what underflows. */
struct bound {
    double relative;
    double absolute;
};

/* S contributions g are summed in a format of unit roundoff u and least subnormal e. Each number
   passes these roundings of at most u:

     into the sum's format                                             1
     divided before: the divisor and its reciprocal into fp32, the
     quotient into fp32, and into the sum's format                     4
     added: S - 1 times at most, in whatever order                     S - 1
     divided after                                                     4

   and the baseline's own roundings in fp64, of which there are as many, are less than one more. So
   relative is (1 + u)^(S + 9) - 1. Sums do not underflow: what is below the normal numbers is added
   without an error. What is rounded into the format is off by e / 2 at most, and a quotient, which
   is rounded twice, by e. S contributions bring S (e / (2 before) + e) / after, the last division
   e; roundings behind them enlarge this by 1 + relative at most. */
static struct bound of_elements(const struct hc_all_reduce *how, int shards)
{
    const struct hc_format_info *f = &hc_formats[how->sum];
    double u = ldexp(1, -f->precision);
    double e = ldexp(1, f->emin - f->precision + 1);
    double relative = expm1((shards + 9) * log1p(u));
    double absolute = shards * (1 / (2 * how->before) + 1) / how->after + 1;
    return (struct bound){relative, absolute * e * (1 + relative)};
}

static struct bound larger_bound(struct bound a, struct bound b)
{
    return (struct bound){fmax(a.relative, b.relative), fmax(a.absolute, b.absolute)};
}

/* Bound on the effect of HC_SOURCE_REDUCTION alone on the gradient, in the unit of
   hc_drift_effect's `gradient`, over any of the steps whose gradients are finite. NaN if no bound
   is known: without shards, in fp64, or if a scale is no power of two. Norm parameters and the
   others may be summed in two formats: the larger bound is taken. The norm of a step's difference
   is at most relative |mean of |g|| + absolute sqrt(n) / scale. Divided by the norm of the gradient
   that is a number for each step; of any steps together, the root of a sum of squares by another,
   no more than the largest. */
static double average_bound(const struct hc_drift_baseline *base, const struct hc_recipe *recipe,
                            const float *scale)
{
    struct hc_rounding of = hc_rounding_of(recipe, base->options->network->gpt != NULL);
    struct hc_wrapper wrapper = hc_wrapper_of(recipe);
    int shards = base->run.shards;
    struct bound bound = {0};
    double most = 0;
    if (shards == 1 || of.format[HC_SOURCE_REDUCTION][0] == HC_FP64)
        return (double)NAN;
    for (int norm = 0; norm < 2; norm++) {
        struct hc_all_reduce how =
            hc_wrapper_all_reduce(&wrapper, of.average.held[norm], shards, recipe->sum_loss);
        bound = larger_bound(bound, of_elements(&how, shards));
    }
    for (int step = 0; step < base->options->steps; step++) {
        int exponent;
        if (frexpf(scale[step], &exponent) != 0.5F)
            return (double)NAN;
        double under = bound.absolute * sqrt((double)base->weights) / (double)scale[step];
        most = fmax(most, bound.relative * base->size[step] + under / base->norm[step]);
    }
    return most;
}

/* Which source of rounding makes how much of a recipe's drift. */

/* Whether products go where nobody says how they are summed. Those in fp64 do not. */
static bool unit_is_unknown(const struct hc_backend *backend, const struct hc_drift *drift)
{
    return !drift->unit && backend->free_order && drift->recipe->model != HC_FP64;
}

/* Whether the recipe has this source of rounding at all, on this backend and over these ranks. */
static bool is_source(const struct hc_drift *drift, int k)
{
    if (k < HC_SOURCE_COUNT && !hc_source_is_of(k, drift->gpt))
        return false;
    if (k >= HC_SOURCE_CODES && k < HC_SOURCE_ACCUMULATION)
        return hc_rounding_of(drift->recipe, drift->gpt).format[k][0] != HC_FP64;
    return k == HC_SOURCE_UNIT ? drift->unit : k != HC_SOURCE_REDUCTION || drift->shards > 1;
}

static struct hc_rounding chosen(const struct hc_drift *drift, uint32_t set)
{
    return hc_rounding_chosen(drift->recipe, drift->gpt, set, drift->unit, drift->shards > 1);
}

uint32_t hc_drift_sources(const struct hc_drift *drift)
{
    uint32_t set = 0;
    struct hc_rounding none = chosen(drift, 0);
    for (int k = 0; k < HC_SOURCE_COUNT; k++) {
        struct hc_rounding alone = chosen(drift, UINT32_C(1) << k);
        if (k == HC_SOURCE_UNIT ? drift->unit : memcmp(&alone, &none, sizeof none) != 0)
            set |= UINT32_C(1) << k;
    }
    return set;
}

/* Measures each source alone and all but each, beside the recipe's own run. What a unit does is the
   distance between that and the run with all sources but the unit. All sources come first, since
   what differs from that in the update alone has the same gradients and finds them in the memo. */
static enum hc_status drift_attribute(struct hc_drift_baseline *base,
                                      const struct hc_drift_scales *scales,
                                      const struct hc_native_run *native, struct hc_drift *drift)
{
    enum hc_status status = HC_OK;
    for (int i = 2 * HC_SOURCE_COUNT + 1; i > 0 && status == HC_OK; i--) {
        struct hc_drift_effect effect;
        bool alone = i <= HC_SOURCE_COUNT;
        int k = alone ? i - 1 : i - 1 - HC_SOURCE_COUNT;
        bool unit = k == HC_SOURCE_UNIT;
        if ((unit && alone) || !is_source(drift, k))
            continue;
        bool all = k == HC_SOURCE_COUNT;
        uint32_t set = all ? HC_ALL_SOURCES : UINT32_C(1) << k;
        struct hc_rounding rounding = chosen(drift, all || alone ? set : HC_ALL_SOURCES & ~set);
        status = hc_baseline_measure(base, &rounding, scales, all || unit ? native : NULL,
                                     HC_RUN_FORCED | HC_RUN_FREE, &effect);
        (alone ? drift->alone_gradient : drift->without_gradient)[k] = effect.gradient;
        (alone ? drift->alone_free : drift->without_free)[k] = effect.distance;
        if (all) {
            drift->alone_gradient[k] = effect.gradient;
            drift->alone_free[k] = effect.distance;
            drift->residual_gradient = effect.residual_gradient;
            drift->residual_free = effect.residual_distance;
        }
        if (unit) {
            drift->alone_gradient[k] = effect.residual_gradient;
            drift->alone_free[k] = effect.residual_distance;
        }
    }
    for (int k = 0; k < HC_SOURCE_COUNT; k++)
        if (!is_source(drift, k)) {
            drift->without_gradient[k] = drift->alone_gradient[HC_SOURCE_COUNT];
            drift->without_free[k] = drift->alone_free[HC_SOURCE_COUNT];
        }
    if (unit_is_unknown(base->options->backend, drift))
        drift->alone_gradient[HC_SOURCE_UNIT] = drift->alone_free[HC_SOURCE_UNIT] = (double)NAN;
    return status;
}

/* The member of the set that does least; what is not finite does most. */
static int least_of(const struct hc_drift *drift, uint32_t set, bool weights)
{
    const double *alone = weights ? drift->alone_free : drift->alone_gradient;
    const double *without = weights ? drift->without_free : drift->without_gradient;
    double all = alone[HC_SOURCE_COUNT] * alone[HC_SOURCE_COUNT];
    double least = (double)INFINITY;
    int found = -1;
    for (int k = 0; k < HC_SOURCE_COUNT; k++) {
        double adds = alone[k] * alone[k];
        double takes = fabs(all - without[k] * without[k]);
        double does = isfinite(adds + takes) ? fmax(adds, takes) : (double)INFINITY;
        if (set & UINT32_C(1) << k && (found < 0 || does < least)) {
            found = k;
            least = does;
        }
    }
    return found;
}

static void choose_players(const struct hc_drift *drift, bool weights, struct hc_drift_shares *s)
{
    uint32_t apart = hc_drift_sources(drift) & (weights ? HC_ALL_SOURCES : HC_PASS_SOURCES);
    uint32_t others = 0;
    while (hc_members(apart) + (others != 0) > HC_MAX_PLAYERS) {
        uint32_t least = UINT32_C(1) << least_of(drift, apart, weights);
        apart ^= least;
        others |= least;
    }
    for (uint32_t own = 1; own & HC_ALL_SOURCES; own <<= 1)
        if (apart & own)
            s->player[s->players++].sources = own;
    if (others)
        s->player[s->players++].sources = others;
}

/* The values of all subsets, step by step: square[step << players | subset]. */
static enum hc_status play(struct hc_drift_baseline *base, const struct hc_drift_scales *scales,
                           const struct hc_drift *drift, bool weights,
                           const struct hc_drift_shares *s, double *square)
{
    enum hc_status status = HC_OK;
    square[0] = 0;
    for (uint32_t subset = 0; subset < UINT32_C(1) << s->players && status == HC_OK; subset++) {
        struct hc_drift_effect effect = {0};
        uint32_t set = 0;
        for (int i = 0; i < s->players; i++)
            set |= subset & UINT32_C(1) << i ? s->player[i].sources : 0;
        struct hc_rounding rounding = chosen(drift, set);
        if (subset > 0)
            status = hc_baseline_measure(base, &rounding, scales, NULL,
                                         weights ? HC_RUN_FREE : HC_RUN_FORCED, &effect);
        if (weights)
            square[subset] = effect.distance * effect.distance;
        for (int step = 0; step < base->options->steps && !weights && status == HC_OK; step++)
            square[(size_t)step << s->players | subset] = subset > 0 ? effect.squares[step] : 0;
    }
    return status;
}

/* Shares out the squares of all steps together, in units of `norm` (by step; NULL: 1). `value`, all
   0, becomes that of subsets, and `part` has room for each player's share of each step and for what
   all make of it. */
static void share(const double *square, const double *norm, int steps, double *value, double *part,
                  struct hc_drift_shares *s)
{
    double one[HC_MAX_PLAYERS];
    double *whole = part + (ptrdiff_t)s->players * steps;
    ptrdiff_t subsets = (ptrdiff_t)1 << s->players;
    double unit = 0;
    for (int step = 0; step < steps; step++) {
        const double *of_step = square + step * subsets;
        if (!hc_all_finite(of_step, subsets))
            continue;
        hc_shapley(of_step, s->players, one);
        for (int i = 0; i < s->players; i++)
            part[(ptrdiff_t)i * steps + s->steps] = one[i];
        whole[s->steps++] = of_step[subsets - 1];
        unit += norm ? norm[step] * norm[step] : 1;
        for (ptrdiff_t subset = 0; subset < subsets; subset++)
            value[subset] += of_step[subset];
    }
    for (ptrdiff_t subset = 0; subset < subsets; subset++)
        value[subset] /= unit;
    hc_shapley(value, s->players, one);
    s->all = s->steps > 0 ? value[subsets - 1] : (double)NAN;
    for (int i = 0; i < s->players; i++) {
        s->player[i].alone = value[1 << i];
        s->player[i].share = one[i];
        s->player[i].error = hc_share_error(part + (ptrdiff_t)i * steps, whole, s->steps);
        for (int j = 0; j < i; j++) {
            s->pair[i][j] = s->pair[j][i] = value[1 << i | 1 << j];
            s->interaction[i][j] = s->interaction[j][i] = hc_shapley_pair(value, s->players, i, j);
        }
    }
}

static enum hc_status share_quantity(struct hc_drift_baseline *base,
                                     const struct hc_drift_scales *scales,
                                     const struct hc_drift *drift, bool weights,
                                     struct hc_drift_shares *s)
{
    int steps = weights ? 1 : base->options->steps;
    size_t subsets = (size_t)1 << s->players;
    int64_t before = base->passes;
    double *value =
        calloc(subsets * (size_t)(steps + 1) + (size_t)((s->players + 1) * steps), sizeof *value);
    if (!value)
        return hc_fail(HC_NO_MEMORY, "no memory for %zu sets of sources", subsets);
    double *square = value + subsets;
    enum hc_status status = play(base, scales, drift, weights, s, square);
    if (status == HC_OK)
        share(square, weights ? NULL : base->norm, steps, value, square + subsets * (size_t)steps,
              s);
    free(value);
    s->passes = base->passes - before;
    return status;
}

/* Shares out what was measured by drift_attribute (hc_drift_measure_shares). */
static enum hc_status drift_share_out(struct hc_drift_baseline *base,
                                      const struct hc_drift_scales *scales,
                                      const struct hc_drift *drift,
                                      const struct hc_drift_shares *like,
                                      struct hc_drift_shares shares[HC_DRIFT_QUANTITIES])
{
    enum hc_status status = HC_OK;
    for (int q = 0; q < HC_DRIFT_QUANTITIES && status == HC_OK; q++) {
        bool weights = q == HC_DRIFT_OF_WEIGHTS;
        shares[q] = (struct hc_drift_shares){.players = like ? like[q].players : 0};
        for (int i = 0; like && i < shares[q].players; i++)
            shares[q].player[i].sources = like[q].player[i].sources;
        if (!like)
            choose_players(drift, weights, &shares[q]);
        status = share_quantity(base, scales, drift, weights, &shares[q]);
    }
    return status;
}

struct hc_drift_study {
    struct hc_drift_options options;
    struct hc_drift_batches batches;
    struct hc_queue *queue;
    struct hc_drift_baseline *baselines;

    /* Of the recipe that is measured. */
    double *g;
    double *end;
    float *scale; /* of both runs */
    struct hc_drift_baseline *baseline;
    bool skips;
};

/* Those that a training reads (train/run/feed.h). */
static void gather_pieces(const struct hc_drift_options *o, const struct hc_drift_batches *b)
{
    for (int64_t i = 0; i < (int64_t)o->steps * o->batch; i++) {
        const uint8_t *piece = hc_text_piece(&o->data->text, true, o->seed, i, b->places);
        int32_t *bytes = hc_drift_example(b, i);
        for (int k = 0; k < b->places; k++) {
            bytes[k] = piece[k];
            hc_drift_label(b, i)[k] = piece[k + 1];
        }
    }
}

static enum hc_status gather_effects(struct hc_drift_study *study)
{
    const struct hc_drift_options *o = &study->options;
    struct hc_drift_batches *b = &study->batches;
    struct hc_batch_stream stream = {
        .set = o->data, .train = true, .batch = o->batch, .seed = o->seed};
    struct hc_loader *loader = NULL;
    size_t steps = (size_t)o->steps;
    int places = o->network->gpt ? o->network->gpt->length : 1;
    size_t bytes =
        o->network->gpt ? (size_t)places * sizeof(int32_t) : (size_t)HC_IMAGE_BYTES * sizeof(float);
    *b = (struct hc_drift_batches){.bytes = bytes, .places = places, .batch = o->batch};
    b->examples = malloc(steps * (size_t)o->batch * bytes);
    b->labels = malloc(steps * (size_t)(o->batch * places) * sizeof *b->labels);
    study->scale = calloc(2 * steps, sizeof *study->scale);
    if (!b->examples || !b->labels || !study->scale)
        return hc_fail(HC_NO_MEMORY, "no memory for %d batches", o->steps);
    if (o->network->gpt) {
        gather_pieces(o, b);
        return HC_OK;
    }
    enum hc_status status = hc_loader_open(&stream, 0, &loader);
    for (int s = 0; s < o->steps && status == HC_OK; s++) {
        const struct hc_batch *batch = hc_loader_next(loader);
        memcpy(hc_drift_example(b, s * o->batch), batch->images, (size_t)o->batch * bytes);
        memcpy(hc_drift_label(b, s * o->batch), batch->labels,
               (size_t)o->batch * sizeof *b->labels);
    }
    hc_loader_close(loader);
    return status;
}

enum hc_status hc_drift_open(struct hc_drift_study **out, const struct hc_drift_options *options)
{
    const struct hc_backend *backend = options->backend;
    *out = NULL;
    if (!backend->fp64 || !backend->host_memory)
        return hc_fail(HC_UNSUPPORTED, "drift: %s has no fp64 in host memory", backend->name);
    struct hc_drift_study *study = calloc(1, sizeof *study);
    if (!study)
        return hc_fail(HC_NO_MEMORY, "no memory for drift");
    study->options = *options;
    enum hc_status status = gather_effects(study);
    if (status == HC_OK)
        status = hc_backend_open(backend, &study->queue, options->threads);
    if (status == HC_OK)
        *out = study;
    else
        hc_drift_close(study);
    return status;
}

void hc_drift_close(struct hc_drift_study *study)
{
    if (!study)
        return;
    for (struct hc_drift_baseline *next; study->baselines; study->baselines = next) {
        next = study->baselines->next;
        hc_baseline_close(study->baselines);
        free(study->baselines);
    }
    if (study->queue)
        study->options.backend->close(study->queue);
    free(study->batches.examples);
    free(study->batches.labels);
    free(study->scale);
    free(study->g);
    free(study->end);
    free(study);
}

/* The fp64 baseline of the recipe, made when it is first asked for. */
static enum hc_status baseline_of(struct hc_drift_study *study, const struct hc_recipe *recipe,
                                  struct hc_drift_baseline **baseline)
{
    struct hc_recipe wide = hc_widened(recipe);
    for (*baseline = study->baselines; *baseline; *baseline = (*baseline)->next)
        if (hc_same_recipe(&(*baseline)->recipe, &wide))
            return HC_OK;
    struct hc_drift_baseline *fresh = calloc(1, sizeof *fresh);
    if (!fresh)
        return hc_fail(HC_NO_MEMORY, "no memory for drift");
    enum hc_status status =
        hc_baseline_open(fresh, &study->options, &study->batches, study->queue, &wide);
    if (status != HC_OK)
        goto failed;
    size_t bytes = (size_t)fresh->weights * sizeof(double);
    if (!study->g)
        study->g = malloc((size_t)study->options.steps * bytes);
    if (!study->end)
        study->end = malloc(bytes);
    if (!study->g || !study->end) {
        status = hc_fail(HC_NO_MEMORY, "no memory for %d steps of gradients", study->options.steps);
        goto failed;
    }
    fresh->next = study->baselines;
    study->baselines = *baseline = fresh;
    return HC_OK;
failed:
    hc_baseline_close(fresh);
    free(fresh);
    return status;
}

static enum hc_status native_pass(const struct hc_drift_study *study, struct hc_drift_run *run,
                                  int step, float *scale, float *loss)
{
    const struct hc_drift_batches *b = &study->batches;
    *scale = *(const float *)hc_update_scale(run->update).data;
    return hc_drift_run_pass(run, step, b, *scale, loss);
}

/* Teacher-forced: the recipe takes every step from the fp64 weights. */
static enum hc_status forced(struct hc_drift_study *study, const struct hc_drift_baseline *base,
                             struct hc_drift_run *run, struct hc_drift *drift)
{
    float loss;
    hc_drift_layer_sums sums = {0};
    struct hc_drift_operands operands;
    enum hc_status status = HC_OK;
    hc_drift_operands_watch(run, &operands);
    for (int step = 0; step < study->options.steps && status == HC_OK; step++) {
        const double *at = base->w + step * base->weights;
        status = hc_drift_run_set_weights(run, at);
        if (status == HC_OK)
            status = native_pass(study, run, step, &study->scale[step], &loss);
        bool finite = hc_all_finite(run->g, run->weights);
        memcpy(study->g + step * run->weights, run->g, (size_t)run->weights * sizeof *run->g);
        if (finite)
            hc_drift_sum_gradients(sums, run, base->g + step * base->weights);
        drift->finite += finite;
        if (status == HC_OK)
            status = hc_drift_run_update(run, study->options.lr);
        if (status == HC_OK)
            status = hc_drift_run_get(run, HC_STATE_MASTER, run->g);
        if (finite)
            hc_drift_sum_lost(sums, run, at, at + base->weights, run->g);
    }
    for (int l = 0; l < HC_MAX_LAYERS; l++)
        drift->layer[l] = hc_drift_sum_layer(&sums[l]);
    for (int l = 0; l < HC_MAX_LAYERS; l++)
        for (int role = 0; role <= HC_QUANT_OF_DY; role++) {
            int layer = l < hc_net_plan(run->net)->layers ? hc_net_quant_of(run->net, l) : -1;
            drift->operand[l][role] =
                hc_drift_operand_of(&operands, layer, (enum hc_quant_role)role);
        }
    drift->all = hc_drift_sum_layer(&sums[HC_MAX_LAYERS]);
    return status;
}

static enum hc_status go_free(struct hc_drift_study *study, const struct hc_drift_baseline *base,
                              struct hc_drift_run *run, struct hc_drift *drift)
{
    float loss = 0;
    int steps = study->options.steps;
    enum hc_status status = HC_OK;
    for (int step = 0; step < steps && status == HC_OK; step++) {
        status = native_pass(study, run, step, &study->scale[steps + step], &loss);
        if (status == HC_OK)
            status = hc_drift_run_update(run, study->options.lr);
    }
    if (status == HC_OK)
        status = hc_drift_run_get(run, HC_STATE_MASTER, study->end);
    drift->free = hc_baseline_distance(base, study->end, base->w + steps * base->weights);
    drift->unlike = (double)loss - base->loss;
    return status;
}

typedef enum hc_status run_function(struct hc_drift_study *study,
                                    const struct hc_drift_baseline *baseline,
                                    struct hc_drift_run *run, struct hc_drift *drift);

/* Opens the recipe's own training and runs it. */
static enum hc_status train_recipe(struct hc_drift_study *study,
                                   const struct hc_drift_baseline *base,
                                   const struct hc_recipe *recipe, run_function *runs,
                                   struct hc_drift *drift)
{
    struct hc_drift_run s;
    enum hc_status status = hc_drift_run_open(&s, &study->options, study->queue, recipe);
    if (status == HC_OK) {
        study->skips = hc_update_skips(s.update) || hc_recipe_steps_on_overflow(recipe);
        status = runs(study, base, &s, drift);
    }
    hc_drift_run_close(&s);
    return status;
}

static struct hc_drift_scales scales_of(const struct hc_drift_study *study)
{
    return (struct hc_drift_scales){study->scale, study->scale + study->options.steps,
                                    study->skips};
}

enum hc_status hc_drift_measure(struct hc_drift_study *study, const struct hc_recipe *recipe,
                                struct hc_drift *drift)
{
    struct hc_drift_baseline *base;
    struct hc_recipe own = hc_unclipped(recipe);
    int ranks = study->options.ranks;
    *drift = (struct hc_drift){.recipe = recipe,
                               .gpt = study->options.network->gpt != NULL,
                               .ranks = ranks,
                               .shards = hc_drift_shards(ranks, recipe),
                               .unit = hc_recipe_meets_unit(recipe, study->options.backend)};
    if (ranks > 0 && recipe->norm_sync)
        return hc_fail(HC_INVALID,
                       "%s: drift over ranks has batch norm local to each shard, and "
                       "norm_sync=true has it over all",
                       recipe->name);
    enum hc_status status =
        ranks > 0 ? hc_parallel_check(ranks, recipe, study->options.batch) : HC_OK;
    if (status == HC_OK)
        status = baseline_of(study, &own, &base);
    if (status != HC_OK)
        return status;
    int64_t before = base->passes;
    study->baseline = base;
    status = train_recipe(study, base, &own, forced, drift);
    if (status == HC_OK)
        status = train_recipe(study, base, &own, go_free, drift);
    const struct hc_drift_scales scales = scales_of(study);
    const struct hc_native_run native = {study->g, study->end};
    if (status == HC_OK)
        status = drift_attribute(base, &scales, &native, drift);
    drift->average_bound = average_bound(base, recipe, study->scale);
    drift->passes = base->passes - before;
    return status;
}

enum hc_status hc_drift_measure_shares(struct hc_drift_study *study, const struct hc_drift *drift,
                                       const struct hc_drift_shares *like,
                                       struct hc_drift_shares shares[HC_DRIFT_QUANTITIES])
{
    const struct hc_drift_scales scales = scales_of(study);
    assert(study->baseline);
    return drift_share_out(study->baseline, &scales, drift, like, shares);
}
