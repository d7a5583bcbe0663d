/* A thousand small updates of bf16 weights by the recipes' own update: rounded to nearest, rounded
   stochastically, compensated. */
#include "cases/fixture/adam.h"
#include "cases/fixture/training/update_fixture.h"
#include "cases/fixture/scalar.h"

#include <math.h>
#include <stdio.h>

enum { STEPS = 1000, WEIGHTS = 256 };

static const char source[] =
    "arXiv 2010.06192, 'Revisiting BFloat16 Training'; pytorch/ao torchao/optim/adam.py, "
    "bf16_stochastic_round; warner-benjamin/optimi optimi/adam.py, kahan_sum";

/* Unit roundoff of bf16. */
static const double u = 0x1p-8;

/* The recipe of that name with SGD and without decay, so that an update is lr * g. */
static struct hc_recipe plain(const char *name)
{
    struct hc_recipe recipe = *hc_recipe_by_name(name);
    recipe.optimizer = HC_OPTIMIZER_SGD;
    recipe.weight_decay = 0;
    return recipe;
}

/* Weights of 1 under the recipe, with one gradient for all. */
static void start(struct hc_fixture *fixture, struct hc_check *check,
                  const struct hc_recipe *recipe, int64_t weights, double g)
{
    hc_fixture_open_weights(fixture, check, recipe, weights, 1);
    if (fixture->failed)
        return;
    hc_update_seed(fixture->update, hc_check_seed(check));
    hc_fixture_gradients(fixture, g);
}

/* The mean of the weights. */
static double mean(struct hc_fixture *fixture)
{
    struct hc_bytes bytes = hc_fixture_bytes(fixture, HC_STATE_MODEL);
    struct hc_tensor w = hc_tensor1(HC_BF16, (int64_t)(bytes.count / 2), bytes.data);
    double sum = 0;
    for (int64_t i = 0; i < hc_tensor_count(&w); i++)
        sum += hc_tensor_get(&w, i);
    return sum / (double)hc_tensor_count(&w);
}

/* Each step moves each weight by one of two numbers at most an ulp apart, and by the real amount on
   average, whatever came before. The mean over `weights` of n such steps is off by more than this
   for one seed in 1e9 (Azuma, Hoeffding). */
static double spread(double ulp, double n, double weights)
{
    return ulp * sqrt(n * log(2e9) / (2 * weights));
}

/* 2^-12 of a weight of 1 is a sixteenth of the half ulp at which rounding to nearest starts to move
   it. */
static void on_the_average(struct hc_check *check)
{
    const char *const names[] = {"bf16-pure", "bf16-sr"};
    for (int arm = 0; arm < 2; arm++) {
        struct hc_recipe recipe = plain(names[arm]);
        struct hc_fixture fixture;
        start(&fixture, check, &recipe, WEIGHTS, -1);
        for (int n = 1; n <= STEPS && !fixture.failed; n++) {
            hc_fixture_step(&fixture, 0x1p-12, 0);
            if (!hc_running_tally_row(n) || fixture.failed)
                continue;
            double want = arm ? 1 + n * 0x1p-12 : 1;
            double got = mean(&fixture);
            char what[48];
            if (hc_running_tally_power(n))
                hc_say(check, "%-9s  step %4d: %.8g on the average, want %.8g", names[arm], n, got,
                       want);
            /* w + 2^-12 is an fp32 number: what is rounded is the real sum. */
            (void)snprintf(what, sizeof what, "%s, step %d", names[arm], n);
            hc_claim_within(check, what, want, got, arm ? spread(2 * u, n, WEIGHTS) : 0);
        }
        hc_fixture_close(&fixture);
    }
}

/* w and c by kernels/element/kahan.h, each operation in bf16 by MPFR. */
static void by_definition(double *w, double *c, double update)
{
    struct hc_scalar scalar = {.format = HC_BF16};
    double y = hc_scalar_sub(&scalar, *c, update);
    double s = hc_scalar_add(&scalar, *w, y);
    *c = hc_scalar_sub(&scalar, y, hc_scalar_sub(&scalar, s, *w));
    *w = s;
}

/* 1 + n d, d > 0. While 1 <= w < 2, |c| is at most half an ulp, u. y = R(c + d) is off by at most u
   (u + d), and c is then exactly what w + y lost (Dekker, for |y| <= |w|): w + c is off by u (u +
   d) a step, w by |c| more. */
static void compensated(struct hc_check *check)
{
    struct hc_recipe recipe = plain("bf16-kahan");
    double d = hc_decimal(HC_BF16, "1e-4");
    double w = 1;
    double c = 0;
    struct hc_comparisons tally = {0};
    struct hc_fixture fixture;
    struct hc_real *real = hc_real_new(1);
    struct hc_real *update = hc_real_new(d);
    start(&fixture, check, &recipe, 3, -1);
    hc_say(check, "step  w          c               w + c        real sum");
    for (int n = 1; n <= STEPS && !fixture.failed; n++) {
        hc_fixture_step(&fixture, d, 0);
        by_definition(&w, &c, -d);
        hc_real_add(real, real, update);
        double got = hc_fixture_get(&fixture, HC_STATE_MODEL, 0, 2);
        double rest = hc_fixture_get(&fixture, HC_STATE_COMPENSATION, 0, 2);
        hc_running_tally_note(&tally, n, w, got);
        hc_running_tally_note(&tally, n, c, rest);
        if (!hc_running_tally_row(n) || fixture.failed)
            continue;
        double want = hc_real_double(real);
        hc_say(check, "%4d  %-9.7g  %-14.7g  %-11.9g  %.9g", n, got, rest, got + rest, want);
        hc_claim_within(check, "w + c", want, got + rest, n * u * (u + d));
        hc_claim_within(check, "w", want, got, n * u * (u + d) + u);
    }
    hc_real_free(real);
    hc_real_free(update);
    hc_claim_comparisons(check, &tally);
    hc_fixture_close(&fixture);
}

/* AdamW without gradients: (1 - lr * decay)^n, a step's decay being 1e-4 of the weight. Stochastic:
   the fp32 weight is off by fp32's keep and product, 2^-23 a step in all; an ulp below 1 is u.
   Kahan: below 1 |c| is at most u / 2, but u at the start; y is off by u (u + d) as above, d itself
   by its coefficient and product, 3 u d, and by w standing for w + c, u d. */
static void decays(struct hc_check *check)
{
    const char *const names[] = {"bf16-pure", "bf16-sr", "bf16-kahan"};
    const double d = 1e-4;
    for (int arm = 0; arm < 3; arm++) {
        struct hc_recipe recipe = *hc_recipe_by_name(names[arm]);
        struct hc_fixture fixture;
        start(&fixture, check, &recipe, WEIGHTS, 0);
        for (int n = 1; n <= STEPS && !fixture.failed; n++) {
            hc_fixture_step(&fixture, 1e-2, 0.9);
            if (!hc_running_tally_row(n) || fixture.failed)
                continue;
            const double bound[] = {0, spread(u, n, WEIGHTS) + n * 0x1p-23, n * u * (u + 5 * d)};
            double want = arm ? hc_decayed(1e-2, recipe.weight_decay, n) : 1;
            double got = mean(&fixture);
            char what[48];
            if (arm == 2)
                got += hc_fixture_get(&fixture, HC_STATE_COMPENSATION, 0, 0);
            if (hc_running_tally_power(n))
                hc_say(check, "%-10s  step %4d: %.8g, want %.8g", names[arm], n, got, want);
            (void)snprintf(what, sizeof what, "%s, step %d", names[arm], n);
            hc_claim_within(check, what, want, got, bound[arm]);
        }
        hc_fixture_close(&fixture);
    }
}

/* With a scaler and fp32 gradients, since GradScaler unscales no others. */
static void skipped(struct hc_check *check)
{
    struct hc_recipe recipe = *hc_recipe_by_name("bf16-kahan");
    struct hc_fixture fixture;
    recipe.scaler.rule = HC_SCALER_TORCH;
    recipe.gradient = HC_FP32;
    start(&fixture, check, &recipe, 70, 1e-3);
    for (int s = 0; s < 3; s++)
        hc_fixture_step(&fixture, 1e-4, 0.9);
    struct hc_bytes before = hc_fixture_bytes(&fixture, HC_STATE_COMPENSATION);
    bool some = false;
    for (size_t i = 0; i < before.count; i++)
        some |= before.data[i] != 0;
    if (!fixture.failed && !some)
        hc_mistrust(check, "nothing is compensated before the step that is skipped");
    for (int way = 0; way < 2 && !fixture.failed; way++) {
        hc_fixture_gradients(&fixture, 1e-3);
        if (way == 0)
            hc_fixture_set(&fixture, HC_STATE_GRADIENT, 0, 69, (double)INFINITY);
        hc_fixture_step(&fixture, 1e-4, 0.9);
        struct hc_bytes after = hc_fixture_bytes(&fixture, HC_STATE_COMPENSATION);
        if (!fixture.failed)
            hc_claim_true(check,
                          way ? "the next step moves compensations" : "a skipped one does not",
                          hc_bytes_equal(&before, &after) == (way == 0));
    }
    hc_fixture_close(&fixture);
}

/* Parameters of odd sizes, two of them weights, updated one after the other or each in its own
   call. */
static void layouts(struct hc_check *check)
{
    const char *const names[] = {"bf16-sr", "bf16-kahan"};
    static const int64_t sizes[] = {13, 70, 129, 5};
    static const enum hc_role roles[] = {HC_ROLE_WEIGHT, HC_ROLE_NORM, HC_ROLE_WEIGHT,
                                         HC_ROLE_BIAS};
    for (int k = 0; k < 2; k++) {
        struct hc_bytes model[2] = {{0}};
        for (int apart = 0; apart < 2; apart++) {
            struct hc_recipe recipe = *hc_recipe_by_name(names[k]);
            struct hc_fixture fixture;
            recipe.apart = apart != 0;
            hc_fixture_open(&fixture, check);
            for (int i = 0; i < 4; i++)
                (void)hc_fixture_add(&fixture, "p", roles[i], sizes[i], 1 + 0.01 * i);
            hc_fixture_start(&fixture, &recipe);
            if (!fixture.failed)
                hc_update_seed(fixture.update, hc_check_seed(check));
            struct hc_bytes before = hc_fixture_bytes(&fixture, HC_STATE_MODEL);
            for (uint64_t s = 0; s < 5; s++) {
                hc_fixture_random_gradients(&fixture, s, 1);
                hc_fixture_step(&fixture, 1e-3, 0.9);
            }
            model[apart] = hc_fixture_bytes(&fixture, HC_STATE_MODEL);
            bool failed = fixture.failed;
            if (!failed)
                hc_claim_true(check, "five steps move the model",
                              !hc_bytes_equal(&before, &model[apart]));
            if (!hc_fixture_close(&fixture))
                return;
        }
        hc_claim_true(check, names[k], hc_bytes_equal(&model[0], &model[1]));
    }
}

static const struct hc_case cases[] = {
    {"stochastic/small-updates-on-the-average",
     "1000 updates of 2^-12 of a bf16 weight: all lost in rounding to nearest, made on the average "
     "in stochastic rounding (false alarm: one seed in 1e9 a row)",
     source, .run = on_the_average},
    {"stochastic/small-updates-compensated",
     "1000 updates of 1e-4 of a bf16 weight with Kahan's compensation: bit by bit the "
     "definition's, and within its bound of the real sum",
     source, .run = compensated},
    {"stochastic/decay",
     "AdamW's decay of 1e-4 a step: never seen by a bf16 weight in rounding to nearest, seen in "
     "stochastic rounding and with a compensation",
     "OneTrainer issue 996, 'No weight decay with Adam, bf16 and stochastic rounding'; arXiv "
     "2010.06192",
     .run = decays},
    {"stochastic/skipped-step-moves-no-compensation",
     "a step that a scaler skips leaves every byte of the compensations",
     "pytorch 2.15.0 torch/amp/grad_scaler.py: optimizer.step() is not called", .run = skipped},
    {"stochastic/all-at-once-or-apart",
     "weights have the same bits whether they are updated all at once or one by one",
     "src/op/optimizer.h: a call on a part gives what a call on all gives there", .run = layouts},
};

HC_CASES(stochastic_weights, cases);
