#include "train/drift/drift_attribute.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "train/drift/drift_shapley.h"
#include "train/drift/drift_sources.h"

/* Whether products go where nobody says how they are summed. Those in fp64 do not. */
static bool unit_is_unknown(const struct hc_backend *backend, const struct hc_drift *drift)
{
    return !drift->unit && backend->free_order && drift->recipe->model != HC_FP64;
}

/* Whether the recipe has this source of rounding at all, on this backend and over these ranks. */
static bool is_source(const struct hc_drift *drift, int k)
{
    if (k >= HC_SOURCE_CODES && k < HC_SOURCE_ACCUMULATION)
        return hc_rounding_of(drift->recipe).format[k][0] != HC_FP64;
    return k == HC_SOURCE_UNIT ? drift->unit : k != HC_SOURCE_REDUCTION || drift->shards > 1;
}

static struct hc_rounding chosen(const struct hc_drift *drift, uint32_t set)
{
    return hc_rounding_chosen(drift->recipe, set, drift->unit, drift->shards > 1);
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

/* All sources come first, since what differs from that in the update alone has the same gradients
   and finds them in the memo. */
enum hc_status hc_drift_attribute(struct hc_drift_baseline *base,
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

enum hc_status hc_drift_share_out(struct hc_drift_baseline *base,
                                  const struct hc_drift_scales *scales,
                                  const struct hc_drift *drift, const struct hc_drift_shares *like,
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
