/* Steps with an infinity or a NaN in a gradient: what each system's rule lets change. */
#include "cases/norm.h"
#include "cases/rig.h"

#include <math.h>
#include <stdio.h>

/* What the state was before a step. */
struct before {
    struct hc_bytes piece[HC_PIECE_COUNT];
    struct hc_counters counters;
};

/* A convolution's weights, a bias and a norm's two, with weights and gradients of both signs. */
static void build(struct hc_rig *rig, struct hc_check *check, const struct hc_recipe *recipe)
{
    hc_rig_open(rig, check);
    hc_rig_add(rig, "conv", HC_ROLE_WEIGHT, 37, 0);
    hc_rig_add(rig, "bias", HC_ROLE_BIAS, 5, 0.1);
    hc_rig_add(rig, "gamma", HC_ROLE_NORM, 8, 1);
    hc_rig_add(rig, "beta", HC_ROLE_NORM, 8, 0.01);
    for (int64_t e = 0; e < 37; e++)
        hc_rig_set(rig, 0, e, 0.1 * hc_random_normal(hc_check_seed(check), 4, (uint64_t)e));
    hc_rig_start(rig, recipe);
}

static void clean_step(struct hc_rig *rig, uint64_t step)
{
    uint64_t seed = hc_check_seed(rig->check);
    for (int i = 0; i < rig->n && !rig->failed; i++)
        for (int64_t e = 0; e < hc_parameter_count(&rig->parameter[i]); e++)
            hc_rig_gradient(rig, i, e,
                            1e-3 * hc_random_normal(seed, 5 + step, (uint64_t)(64 * i + e)));
}

static struct before look(struct hc_rig *rig)
{
    struct before b;
    for (int p = 0; p < HC_PIECE_COUNT; p++)
        b.piece[p] = hc_rig_bytes(rig, (enum hc_piece)p);
    b.counters = hc_rig_counters(rig);
    return b;
}

static bool same(struct hc_rig *rig, const struct before *before, enum hc_piece piece)
{
    struct hc_bytes now = hc_rig_bytes(rig, piece);
    return hc_bytes_equal(&before->piece[piece], &now);
}

/* The first piece of the state that a step must not have changed, but has (or the other way round);
   NULL when there is none. */
static const char *wrong_piece(struct hc_rig *rig, const struct before *before, bool changed)
{
    static const enum hc_piece state[] = {HC_PIECE_MASTER, HC_PIECE_MODEL, HC_PIECE_M, HC_PIECE_V};
    for (size_t k = 0; k < sizeof state / sizeof state[0]; k++)
        if (same(rig, before, state[k]) == changed)
            return hc_piece_names[state[k]];
    return NULL;
}

/* After `steps` clean steps one element of parameter i gets `bad`: under GradScaler's rule masters,
   model, m, v (and with them decay) keep their bytes and t its value; the scale halves, the count
   of clean steps starts again. The step after, clean, changes all. */
static void skip_once(struct hc_rig *rig, int steps, int i, double bad)
{
    struct hc_check *check = rig->check;
    char what[96];
    for (int s = 0; s < steps; s++) {
        clean_step(rig, (uint64_t)s);
        hc_rig_step(rig, 1e-2, 0.9);
    }
    if (rig->failed)
        return;
    struct before b = look(rig);
    clean_step(rig, 100);
    hc_rig_put(rig, HC_PIECE_GRADIENT, i, hc_parameter_count(&rig->parameter[i]) - 1, bad);
    hc_rig_step(rig, 1e-2, 0.9);
    if (rig->failed)
        return;
    struct hc_counters c = hc_rig_counters(rig);
    hc_say(check, "after %d steps, %g in %s: scale %g -> %g, t %d -> %d, skipped %d", steps, bad,
           rig->parameter[i].name, (double)b.counters.scale, (double)c.scale, b.counters.taken,
           c.taken, c.skipped);
    const char *piece = wrong_piece(rig, &b, false);
    (void)snprintf(what, sizeof what, "%s keeps its bytes (%g in %s)", piece ? piece : "all state",
                   bad, rig->parameter[i].name);
    hc_claim_true(check, what, !piece);
    hc_claim_true(check, "t is not counted, the step is as skipped",
                  c.taken == b.counters.taken && c.skipped == b.counters.skipped + 1);
    hc_claim_true(check, "the scale halves, its count restarts",
                  c.scale == b.counters.scale / 2 && c.clean == 0);
    clean_step(rig, 101);
    hc_rig_step(rig, 1e-2, 0.9);
    if (rig->failed)
        return;
    piece = wrong_piece(rig, &b, true);
    (void)snprintf(what, sizeof what, "the next clean step changes %s",
                   piece ? piece : "all of it");
    hc_claim_true(check, what, !piece);
}

static void skip_changes_nothing(struct hc_check *check)
{
    static const int steps[] = {0, 1, 7};
    const double bad[] = {(double)INFINITY, (double)-INFINITY, (double)NAN};
    struct hc_recipe apart = *hc_recipe_by_name("amp");
    const struct hc_recipe flat = apart;
    apart.apart = true;
    for (int s = 0; s < 3; s++)
        for (int i = 0; i < 4; i++)
            for (int v = 0; v < 3; v++) {
                struct hc_rig rig;
                build(&rig, check, v % 2 ? &apart : &flat);
                skip_once(&rig, steps[s], i, bad[v]);
                hc_rig_close(&rig);
            }
}

/* Scale 512 and g = 128: half(512 g) is infinite, nobody looks, and m, v and the master are lost;
   a hundred clean steps later they still are. The fixed arm, GradScaler's rule, skips. */
static void poisons(struct hc_check *check)
{
    static const char *const names[] = {"fastai-004b-flat", "amp"};
    for (int arm = 0; arm < 2; arm++) {
        struct hc_rig rig;
        hc_rig_open(&rig, check);
        int w = hc_rig_add(&rig, "w", HC_ROLE_WEIGHT, 2, 1);
        hc_rig_start(&rig, hc_recipe_by_name(names[arm]));
        for (int step = 1; step <= 101 && !rig.failed; step++) {
            hc_rig_gradient(&rig, w, 0, step == 2 ? 128 : 1e-3);
            hc_rig_gradient(&rig, w, 1, 1e-3);
            hc_rig_step(&rig, 1e-3, 0.9);
            if (step <= 3 || step == 101)
                hc_say(check, "%-12s step %3d: master %-10.7g m %-10.4g v %-10.4g; beside it %.7g",
                       names[arm], step, hc_rig_get(&rig, HC_PIECE_MASTER, w, 0),
                       hc_rig_get(&rig, HC_PIECE_M, w, 0), hc_rig_get(&rig, HC_PIECE_V, w, 0),
                       hc_rig_get(&rig, HC_PIECE_MASTER, w, 1));
        }
        double master = hc_rig_get(&rig, HC_PIECE_MASTER, w, 0);
        double model = hc_rig_get(&rig, HC_PIECE_MODEL, w, 0);
        double beside = hc_rig_get(&rig, HC_PIECE_MASTER, w, 1);
        if (!rig.failed && arm == 0) {
            hc_claim_true(check, "static 512: the master is NaN for ever", isnan(master));
            hc_claim_true(check, "static 512: the model too", isnan(model));
            hc_claim_true(check, "static 512: other weights go on", beside < 1);
        } else if (!rig.failed) {
            struct hc_counters c = hc_rig_counters(&rig);
            hc_claim_true(check, "GradScaler: the master has moved on", master < 1 && master > 0);
            hc_claim_value(check, "GradScaler: skipped steps", 1, (double)c.skipped);
        }
        hc_rig_close(&rig);
    }
}

/* The statistics are moved by the forward pass, before anybody knows of the infinity: under
   GradScaler's rule a skipped step moves them like any other, as torch does. */
static void statistics_move(struct hc_check *check)
{
    struct hc_norm norm = hc_norm_new(check, HC_FP16, HC_FP32, 4, 1);
    struct hc_rig rig;
    for (int e = 0; e < 4; e++)
        hc_tensor_put(&norm.x, e, 2);
    build(&rig, check, hc_recipe_by_name("amp"));
    if (hc_norm_train(&norm) == HC_OK && !rig.failed) {
        clean_step(&rig, 0);
        hc_rig_put(&rig, HC_PIECE_GRADIENT, 0, 0, (double)INFINITY);
        hc_rig_step(&rig, 1e-2, 0.9);
        hc_claim_value(check, "the step was skipped", 1, (double)hc_rig_counters(&rig).skipped);
        hc_claim_within(check, "the running mean went from 0 to", 0.2, hc_tensor_get(&norm.mean, 0),
                        ldexp(0.2, -23));
    }
    hc_rig_close(&rig);
}

static const struct hc_case cases[] = {
    {.name = "underflow/skip-changes-nothing",
     .title = "GradScaler's rule: an inf or NaN in any gradient, at any step, leaves masters, "
              "model, momenta, decay and t as they were, and halves the scale",
     .source = "pytorch torch/amp/grad_scaler.py",
     .run = skip_changes_nothing},
    {.name = "underflow/skip-moves-statistics",
     .title = "GradScaler's rule: batch norm's running statistics do move in a skipped step",
     .source = "pytorch torch/amp/grad_scaler.py: only optimizer.step() is left out",
     .run = statistics_move},
    {.name = "underflow/static-scale-poisons-masters",
     .title = "static scale 512: one gradient of 128 makes the master NaN for ever; GradScaler "
              "skips it",
     .source = "fastai/fastai_old dev_nb/004b_mixed_precision.ipynb: loss_scale=512, never checked "
               "for overflow",
     .run = poisons},
};

const struct hc_case_table hc_cases_underflow_skip;
const struct hc_case_table hc_cases_underflow_skip = {cases, sizeof cases / sizeof cases[0]};
