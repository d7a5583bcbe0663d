#include "check/repeats.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check/bound/bound.h"

/* The finalizer of splitmix64 (Steele, Lea and Flood: Fast splittable pseudorandom number
   generators, OOPSLA 2014). */
static uint64_t mixed(uint64_t x)
{
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

/* x mod d without a division, which takes longer: the upper half of x times (2^64 - 1) / d is the
   quotient or less by 2 at most. */
static uint64_t modulo(uint64_t x, uint64_t d, uint64_t reciprocal)
{
    uint64_t quotient = (uint64_t)((unsigned __int128)x * reciprocal >> 64);
    uint64_t rest = x - d * quotient;
    while (rest >= d)
        rest -= d;
    return rest;
}

/* What is the same for all coordinates of an axis. */
struct choice {
    uint64_t count;
    uint64_t reciprocal;
    uint64_t salt;
};

static struct choice choice_of(const struct hc_axis *axis, uint64_t seed)
{
    uint64_t count = (uint64_t)(axis->small / axis->step - axis->alone);
    return (struct choice){count, count ? UINT64_MAX / count : 0,
                           seed + (uint64_t)axis->kind * 0x9e3779b97f4a7c15u};
}

static int64_t chosen(const struct hc_axis *axis, const struct choice *c, int64_t at)
{
    if (at < axis->small || axis->kind == 0)
        return at;
    int64_t block = axis->step == 1 ? at : at / axis->step;
    uint64_t hash = mixed(c->salt + (uint64_t)block * 0xd1342543de82ef95u);
    return (axis->alone + (int64_t)modulo(hash, c->count, c->reciprocal)) * axis->step +
           (at - block * axis->step);
}

int64_t hc_repeats_of(const struct hc_axis *axis, uint64_t seed, int64_t at)
{
    struct choice c = choice_of(axis, seed);
    return chosen(axis, &c, at);
}

/* For each coordinate of each axis, how far its element in the small tensor lies behind the first.
   The caller frees `memory`. */
struct map {
    int count;
    int64_t extent[HC_AXES];
    const int32_t *offset[HC_AXES];
    int32_t *memory;
};

/* hc_repeats_of for all coordinates, times `inner`. A block is hashed once. */
static void map_axis(const struct hc_axis *axis, uint64_t seed, int64_t inner, int32_t *to)
{
    struct choice c = choice_of(axis, seed);
    int64_t i = axis->kind == 0 ? axis->large : axis->small;
    for (int64_t at = 0; at < i; at++)
        to[at] = (int32_t)(at * inner);
    while (i < axis->large) {
        int64_t within = axis->step == 1 ? 0 : i % axis->step;
        int64_t from = chosen(axis, &c, i) - within;
        int64_t n = axis->step < axis->large - i + within ? axis->step : axis->large - i + within;
        for (; within < n; within++, i++)
            to[i] = (int32_t)((from + within) * inner);
    }
}

static int64_t length_of(const struct hc_axes *layout)
{
    int64_t all = 0;
    for (int a = 0; a < layout->count; a++)
        all += layout->axis[a].large;
    return all;
}

static bool make_map(const struct hc_repeats *repeats, int slot, struct map *map)
{
    const struct hc_axes *layout = &repeats->slot[slot];
    int64_t inner = 1;
    int64_t all = length_of(layout);
    *map =
        (struct map){.count = layout->count, .memory = malloc((size_t)(all + 1) * sizeof(int32_t))};
    if (!map->memory)
        return false;
    int32_t *to = map->memory;
    for (int a = layout->count - 1; a >= 0; a--) {
        const struct hc_axis *axis = &layout->axis[a];
        map->extent[a] = axis->large;
        map->offset[a] = to;
        map_axis(axis, repeats->seed, inner, to);
        to += axis->large;
        inner *= axis->small;
    }
    assert(inner <= INT32_MAX);
    return true;
}

static bool same_layout(const struct hc_axes *a, const struct hc_axes *b)
{
    bool same = a->count == b->count;
    for (int i = 0; i < a->count && same; i++) {
        const struct hc_axis *x = &a->axis[i];
        const struct hc_axis *y = &b->axis[i];
        same = x->small == y->small && x->large == y->large && x->step == y->step &&
               x->alone == y->alone && x->kind == y->kind;
    }
    return same;
}

struct hc_repeats_map {
    struct map map; /* without memory: there is none yet */
    struct hc_axes layout;
    uint64_t seed;
};

void hc_repeats_map_free(struct hc_repeats_map *map)
{
    if (map)
        free(map->map.memory);
    free(map);
}

/* A case has a seed of its own, so that another seed ends what was kept. */
bool hc_repeats_keep(struct hc_repeats *repeats, struct hc_known *known)
{
    struct hc_repeats_map **place = hc_known_map(known);
    if (place && *place && (*place)->seed != repeats->seed) {
        hc_repeats_map_free(*place);
        *place = NULL;
    }
    repeats->kept = place && *place ? *place : calloc(1, sizeof *repeats->kept);
    repeats->lent = place;
    if (repeats->kept)
        repeats->kept->seed = repeats->seed;
    if (place)
        *place = repeats->kept;
    return repeats->kept;
}

void hc_repeats_end(struct hc_repeats *repeats)
{
    if (!repeats->lent)
        hc_repeats_map_free(repeats->kept);
    repeats->kept = NULL;
}

/* The slot's map: the one that is kept, or *own, whose memory the caller frees. A shorter one, of a
   scalar beside vectors, does not take the place of the one that is kept. NULL without memory. */
static const struct map *map_of(const struct hc_repeats *repeats, int slot, struct map *own)
{
    struct hc_repeats_map *kept = repeats->kept;
    *own = (struct map){0};
    if (!kept)
        return make_map(repeats, slot, own) ? own : NULL;
    const struct hc_axes *wanted = &repeats->slot[slot];
    bool same = kept->map.memory && same_layout(&kept->layout, wanted);
    if (!same && kept->map.memory && length_of(wanted) < length_of(&kept->layout))
        return make_map(repeats, slot, own) ? own : NULL;
    if (!same) {
        free(kept->map.memory);
        kept->layout = *wanted;
        if (!make_map(repeats, slot, &kept->map))
            return NULL;
    }
    return &kept->map;
}

/* Run `row` of the innermost axis: where it begins in the small tensor. */
static int64_t row_of(const struct map *map, int64_t row)
{
    int64_t from = 0;
    for (int a = map->count - 2; a >= 0; a--) {
        assert(map->extent[a] > 0);
        from += map->offset[a][row % map->extent[a]];
        row /= map->extent[a];
    }
    return from;
}

static int64_t rows_of(const struct map *map)
{
    int64_t rows = 1;
    for (int a = 0; a < map->count - 1; a++)
        rows *= map->extent[a];
    return rows;
}

static void copy_row(const struct map *map, int64_t row, const struct hc_tensor *from,
                     const struct hc_tensor *to)
{
    const int32_t *offset = map->offset[map->count - 1];
    int64_t n = map->extent[map->count - 1];
    int64_t base = row_of(map, row);
    switch (hc_formats[to->format].bytes) {
    case 2:
        for (int64_t i = 0; i < n; i++)
            ((uint16_t *)to->data)[row * n + i] = ((const uint16_t *)from->data)[base + offset[i]];
        break;
    case 4:
        for (int64_t i = 0; i < n; i++)
            ((uint32_t *)to->data)[row * n + i] = ((const uint32_t *)from->data)[base + offset[i]];
        break;
    default:
        for (int64_t i = 0; i < n; i++)
            hc_tensor_set_bits(to, row * n + i, hc_tensor_bits(from, base + offset[i]));
    }
}

bool hc_repeats_fill(const struct hc_repeats *repeats, const struct hc_call *small,
                     const struct hc_call *large)
{
    bool ok = true;
    for (int s = 0; s < hc_ops[large->op].inputs && ok; s++) {
        struct map own;
        const struct map *map = large->in[s].data ? map_of(repeats, s, &own) : NULL;
        if (!large->in[s].data)
            continue;
        ok = map != NULL;
        for (int64_t row = 0; ok && row < rows_of(map); row++)
            copy_row(map, row, &small->in[s], &large->in[s]);
        free(own.memory);
    }
    return ok;
}

static const struct hc_axes *layout_of(const struct hc_repeats *repeats, const struct hc_call *call,
                                       int out)
{
    return &repeats->slot[hc_ops[call->op].inputs + out];
}

int64_t hc_repeats_count(const struct hc_repeats *repeats, const struct hc_call *call, int out)
{
    const struct hc_axes *layout = layout_of(repeats, call, out);
    int64_t n = 1;
    for (int a = 0; a < layout->count; a++)
        n *= layout->axis[a].small;
    return n;
}

/* The first ones are themselves, so the element has the same coordinates in both tensors. */
int64_t hc_repeats_element(const struct hc_repeats *repeats, const struct hc_call *call, int out,
                           int64_t k)
{
    const struct hc_axes *layout = layout_of(repeats, call, out);
    int64_t index = 0;
    int64_t inner = 1;
    for (int a = layout->count - 1; a >= 0; a--) {
        index += k % layout->axis[a].small * inner;
        k /= layout->axis[a].small;
        inner *= layout->axis[a].large;
    }
    return index;
}

static bool holds(const struct hc_tensor *t, const struct hc_expected *right, uint64_t bits)
{
    if (right->bits)
        return hc_same_bits(t->format, right->want_bits, bits);
    double got = hc_decode(t->format, bits);
    return isinf(right->bound) || hc_bound_error(t->format, &right->want, got) <= right->bound;
}

static uint64_t bits_at(const struct hc_tensor *t, size_t bytes, int64_t i)
{
    return bytes == 2   ? ((const uint16_t *)t->data)[i]
           : bytes == 4 ? ((const uint32_t *)t->data)[i]
                        : hc_tensor_bits(t, i);
}

/* Most elements of one kind have the same bits, which then need to be judged once. */
void hc_claim_repeats(struct hc_claim *claim, int out, const char *what,
                      const struct hc_expected *right)
{
    const struct hc_tensor *t = &claim->call.out[out];
    int64_t kinds = hc_repeats_count(claim->repeats, &claim->call, out);
    size_t bytes = (size_t)hc_formats[t->format].bytes;
    uint64_t *good = hc_check_memory(claim->check, (size_t)kinds * sizeof *good);
    bool *known = hc_check_memory(claim->check, (size_t)kinds * sizeof *known);
    char name[96];
    struct hc_comparisons all = {.what = name, .checked = hc_tensor_count(t)};
    struct map own;
    const struct map *map = map_of(claim->repeats, hc_ops[claim->call.op].inputs + out, &own);
    (void)snprintf(name, sizeof name, "%s: all elements against the reference", what);
    if (!map) {
        (void)hc_fail(HC_NO_MEMORY, "%s: no memory to compare it", what);
        hc_check_failed(claim->check);
        return;
    }
    int64_t n = map->extent[map->count - 1];
    const int32_t *offset = map->offset[map->count - 1];
    for (int64_t row = 0; row < rows_of(map); row++) {
        int64_t base = row_of(map, row);
        for (int64_t i = 0; i < n; i++) {
            int64_t kind = base + offset[i];
            uint64_t got = bits_at(t, bytes, row * n + i);
            if (known[kind] && good[kind] == got)
                continue;
            if (holds(t, &right[kind], got)) {
                known[kind] = true;
                good[kind] = got;
                continue;
            }
            hc_comparisons_wrong(&all, "%s[%" PRId64 "]: want %.9g, got %.9g, bound %.3g", what,
                                 row * n + i, right[kind].want.hi, hc_decode(t->format, got),
                                 right[kind].bits ? 0 : right[kind].bound);
        }
    }
    free(own.memory);
    claim->check->result.looked_at += all.checked - kinds;
    hc_claim_comparisons(claim->check, &all);
}
