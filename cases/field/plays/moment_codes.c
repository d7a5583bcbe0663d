/* A code without a zero, divided by epsilon.

   An optimizer that keeps its first moment in 8 bits stores, for a block of weights, the smallest
   and the largest element, and for each element which of 256 equal steps between them is nearest.
   If the block has elements of both signs, 0 is in general not one of the 256 numbers. So a weight
   whose gradient is always 0 gets a first moment of up to half a step. Its second moment, kept in
   fp32, is 0. Adam divides the one by the root of the other plus epsilon, 1e-8: the weight runs
   away, with steps that no gradient ever asked for.

   The rule of thumb: where v is 0, m is 0, too; or take a code that has a zero. Both arms run the
   trainer's own Adam; between its steps the first moments go through the code and back. */
#include "cases/fixture/bug.h"
#include "cases/fixture/update_fixture.h"

#include <math.h>

enum { BLOCK = 64, STEPS = 500 };

static const double lr = 1e-3;

/* The elements of a block between their extremes in 255 steps, decoded into fp32. */
static void code(float m[BLOCK], const float v[BLOCK], bool zero_where_v_is)
{
    float low = m[0];
    float high = m[0];
    for (int i = 1; i < BLOCK; i++) {
        low = fminf(low, m[i]);
        high = fmaxf(high, m[i]);
    }
    float unit = (high - low) / 255;
    for (int i = 0; i < BLOCK && unit > 0; i++) {
        m[i] = low + unit * rintf((m[i] - low) / unit);
        if (zero_where_v_is && v[i] == 0)
            m[i] = 0;
    }
}

/* Element 0 never has a gradient. The others have normal numbers times 1e-4. */
static bool train(struct hc_check *check, bool fixed, double *still, double *residue)
{
    struct hc_fixture fixture;
    struct hc_recipe recipe = *hc_recipe_by_name("fp32");
    float m[BLOCK] = {0};
    float v[BLOCK] = {0};
    recipe.weight_decay = 0;
    recipe.beta2 = 0.999;
    hc_fixture_open_weights(&fixture, check, &recipe, BLOCK, 0);
    *residue = 0;
    for (int step = 0; step < STEPS && !fixture.failed; step++) {
        for (int64_t e = 1; e < BLOCK; e++)
            hc_fixture_set(&fixture, HC_STATE_GRADIENT, 0, e,
                           1e-4 * hc_random_normal(1, (uint64_t)step, (uint64_t)e));
        hc_fixture_step(&fixture, lr, 0.9);
        if (fixture.failed ||
            !hc_check_ok(check, hc_update_read(fixture.update, HC_STATE_M, 0, m)) ||
            !hc_check_ok(check, hc_update_read(fixture.update, HC_STATE_V, 0, v)))
            fixture.failed = true;
        *residue = fmax(*residue, fabs((double)m[0]));
        code(m, v, fixed);
        if (!fixture.failed &&
            !hc_check_ok(check, hc_update_write(fixture.update, HC_STATE_M, 0, m)))
            fixture.failed = true;
    }
    *still = hc_fixture_get(&fixture, HC_STATE_MASTER, 0, 0);
    return hc_fixture_close(&fixture);
}

static void runs_away(struct hc_check *check, struct hc_exhibits *shown)
{
    double weight[2];
    double residue[2];
    for (int fixed = 0; fixed < 2; fixed++)
        if (!train(check, fixed, &weight[fixed], &residue[fixed]))
            return;
    hc_exhibits_add(shown, "weight without a gradient", HC_FP32, weight[0], weight[1], 0, 0);
    hc_exhibits_add(shown, "its first moment, at most", HC_FP32, residue[0], residue[1], 0, 0);
    hc_claim_true(check, "buggy arm: the weight moves by more than a hundred rates",
                  fabs(weight[0]) > 100 * lr);
}

static const struct hc_case cases[] = {
    HC_BUG("field/moment-codes/adam8bit-zero-gradient-residue",
           "With 8-bit Adam a weight whose gradient is exactly 0 moves.",
           "unslothai/unsloth-zoo PR 962, 'feat(mlx): Make adamw_8bit actually use 8-bit optimizer "
           "state', https://github.com/unslothai/unsloth-zoo/pull/962; MrNeRF/LichtFeld-Studio PR "
           "2066, 'Adam: decode zero-variance joint moments as exactly zero'",
           .play = runs_away, .fixed = {.prints = "0, -"}, .fault = "moment-without-zero",
           .lesson = "A code for signed numbers needs an exact zero, or the decoder must put it "
                     "where the second moment is 0."),
};

HC_CASES(field_plays_moment_codes, cases);
