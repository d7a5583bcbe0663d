/* Races by their definition, against what the cell of a byte keeps. */
#include "kernels/cuda/shadow/cell.h"

#include <criterion/criterion.h>

#include "num/rng.h"

enum { VISITS = 6, TRIALS = 200000 };

static uint32_t draw(uint64_t trial, int i, uint32_t n)
{
    return (uint32_t)(hc_random(3, trial, (uint64_t)i) >> 33) % n;
}

/* Two accesses race if one is a write, or one of the two is atomic, and neither a barrier nor the
   end of a launch lies between them. */
static bool race(const struct hc_visit *a, const struct hc_visit *b)
{
    bool apart = a->first_block != b->first_block ||
                 (a->block == b->block && (a->epoch != b->epoch || a->thread == b->thread));
    bool harmless = a->kind == b->kind && a->kind != HC_ACCESS_WRITE;
    return !apart && !harmless;
}

static bool any_race(const struct hc_visit *v)
{
    bool any = false;
    for (int i = 0; i < VISITS; i++)
        for (int j = 0; j < i; j++)
            any |= race(&v[i], &v[j]);
    return any;
}

static bool is_later(const struct hc_visit *a, const struct hc_visit *b)
{
    return a->block > b->block || (a->block == b->block && a->epoch > b->epoch);
}

/* As the emulation runs: block by block and epoch by epoch, and within an epoch as they come. */
static void sort(struct hc_visit *v)
{
    for (int i = 1; i < VISITS; i++)
        for (int j = i; j > 0 && is_later(&v[j - 1], &v[j]); j--) {
            struct hc_visit swapped = v[j];
            v[j] = v[j - 1];
            v[j - 1] = swapped;
        }
}

static bool found(const struct hc_visit *v)
{
    struct hc_cell cell = {0};
    for (int i = 0; i < VISITS; i++)
        if (hc_cell_visit(&cell, &v[i]) != HC_NO_CLASH)
            return true;
    return false;
}

/* Two launches of two blocks, two epochs and three threads. */
Test(shadow_cell, finds_a_race_of_any_accesses_in_any_order_and_nothing_else)
{
    static const enum hc_access kinds[] = {HC_ACCESS_READ, HC_ACCESS_WRITE, HC_ACCESS_ATOMIC};
    int races = 0;
    for (uint64_t trial = 0; trial < TRIALS; trial++) {
        struct hc_visit v[VISITS];
        uint32_t kinds_used = 1 + draw(trial, 90, 3);
        for (int i = 0; i < VISITS; i++) {
            uint32_t block = 1 + draw(trial, 5 * i, 4);
            v[i] = (struct hc_visit){.first_block = block > 2 ? 3 : 1,
                                     .block = block,
                                     .epoch = (uint16_t)draw(trial, 5 * i + 1, 2),
                                     .thread = (uint16_t)(1 + draw(trial, 5 * i + 2, 3)),
                                     .kind = kinds[draw(trial, 5 * i + 3, kinds_used)]};
        }
        bool want = any_race(v);
        sort(v);
        races += want;
        cr_assert_eq(found(v), want, "trial %llu", (unsigned long long)trial);
    }
    cr_assert(races > TRIALS / 4 && races < TRIALS * 9 / 10, "%d", races);
}
