/* Loss scales that are fixed, scheduled, or kept in spite of an overflow. */
#include <math.h>
#include <stdio.h>

#include "case.h"
#include "cases/fixture/training/update_fixture.h"
#include "op/output.h"

/* What an infinity does without an overflow check, beside GradScaler's rule. (What every recipe
   lets change in such a step: cases/skip.) */

/* Scale 512 and g = 128: half(512 g) is infinite, nothing checks for it, and m, v and the master
   are lost; a hundred clean steps later they still are. The fixed arm, GradScaler's rule, skips the
   step. */
static void poisons(struct hc_check *check)
{
    static const char *const names[] = {"fastai-004b-flat", "amp"};
    hc_say(check, "recipe           step  master      m           v           another master");
    for (int arm = 0; arm < 2; arm++) {
        struct hc_fixture fixture;
        hc_fixture_open_weights(&fixture, check, hc_recipe_by_name(names[arm]), 2, 1);
        for (int step = 1; step <= 101 && !fixture.failed; step++) {
            hc_fixture_gradient(&fixture, 0, 0, step == 2 ? 128 : 1e-3);
            hc_fixture_gradient(&fixture, 0, 1, 1e-3);
            hc_fixture_step(&fixture, 1e-3, 0.9);
            if (step <= 3 || step == 101)
                hc_say(check, "%-16s %4d  %-10.7g  %-10.4g  %-10.4g  %.7g", names[arm], step,
                       hc_fixture_get(&fixture, HC_STATE_MASTER, 0, 0),
                       hc_fixture_get(&fixture, HC_STATE_M, 0, 0),
                       hc_fixture_get(&fixture, HC_STATE_V, 0, 0),
                       hc_fixture_get(&fixture, HC_STATE_MASTER, 0, 1));
        }
        double master = hc_fixture_get(&fixture, HC_STATE_MASTER, 0, 0);
        double model = hc_fixture_get(&fixture, HC_STATE_MODEL, 0, 0);
        double beside = hc_fixture_get(&fixture, HC_STATE_MASTER, 0, 1);
        if (!fixture.failed && arm == 0) {
            hc_claim_true(check, "static 512: the master is NaN for ever", isnan(master));
            hc_claim_true(check, "static 512: the model too", isnan(model));
            hc_claim_true(check, "static 512: other weights go on", beside < 1);
        } else if (!fixture.failed) {
            struct hc_counters c = hc_fixture_counters(&fixture);
            hc_claim_true(check, "GradScaler: the master has moved on", master < 1 && master > 0);
            hc_claim_value(check, "GradScaler: skipped steps", 1, (double)c.skipped);
        }
        hc_fixture_close(&fixture);
    }
}

/* The learning rate's schedule and a skipped step, in the trainer itself. */

/* The columns of steps.csv that matter here. */
struct row {
    long long step;
    double scale;
    int skipped;
    double lr;
};

static bool read_row(FILE *file, struct row *row)
{
    char line[4096];
    return fgets(line, sizeof line, file) &&
           sscanf(line, "%lld,%*[^,],%*[^,],%lf,%d,%lf", &row->step, &row->scale, &row->skipped,
                  &row->lr) == 4;
}

/* Checks every row: the rate is the schedule's at that step, skipped or not; the scale halves after
   a skipped step. The file has 9 digits. */
static void compare(struct hc_check *check, FILE *file, int64_t steps, double max_lr, double scale)
{
    char header[4096];
    struct row row;
    int64_t rows = 0;
    int skipped = 0;
    bool more = fgets(header, sizeof header, file) != NULL;
    while (more && read_row(file, &row)) {
        hc_say(check, "step %2lld: scale 2^%-2.0f lr %.6g%s", row.step, log2(row.scale), row.lr,
               row.skipped ? ", skipped" : "");
        double lr = hc_one_cycle(max_lr, steps, rows).lr;
        hc_claim_within(check, "lr", lr, row.lr, 5e-9 * lr);
        hc_claim_within(check, "scale", scale, row.scale, 5e-9 * scale);
        scale = row.skipped ? scale / 2 : scale;
        skipped += row.skipped;
        rows++;
    }
    hc_claim_value(check, "steps", (double)steps, (double)rows);
    hc_claim_true(check, "some were skipped, some were not", skipped > 0 && skipped < rows);
}

/* GradScaler starts at 2^24, so that the first steps overflow: 16 steps of the tiny Darknet. */
static void moves_on(struct hc_check *check)
{
    enum { STEPS = 16, BATCH = 2 };
    char folder[HC_MAX_TEMPORARY];
    char path[HC_MAX_TEMPORARY + 16];
    struct hc_dataset data;
    struct hc_recipe recipe = *hc_recipe_by_name("amp");
    struct hc_data_options set = {.classes = "airplane,dog",
                                  .seed = hc_check_seed(check),
                                  .train_per_class = STEPS * BATCH / 2,
                                  .test_per_class = 1};
    struct hc_train_options options = {.recipe = &recipe,
                                       .network = &hc_darknet_tiny,
                                       .data = &data,
                                       .backend = hc_check_backend(check),
                                       .digest = hc_check_digest(check),
                                       .epochs = 1,
                                       .batch = BATCH,
                                       .max_lr = 1e-3,
                                       .seed = hc_check_seed(check),
                                       .out = folder};
    struct hc_train_result result;
    recipe.scaler.initial = 0x1p24F;
    if (!hc_check_ok(check, hc_dataset_open(&set, &data)))
        return;
    if (!hc_check_ok(check, hc_output_folder(folder, "halfcheck-schedule"))) {
        hc_dataset_close(&data);
        return;
    }
    if (hc_check_ok(check, hc_train(&options, &result))) {
        (void)snprintf(path, sizeof path, "%s/steps.csv", folder);
        FILE *file = fopen(path, "r");
        if (file) {
            compare(check, file, STEPS, options.max_lr, ldexp(1, 24));
            (void)fclose(file);
        } else {
            (void)hc_check_ok(check, hc_fail(HC_IO, "%s: cannot be read", path));
        }
    }
    hc_output_folder_remove(folder);
    hc_dataset_close(&data);
}

/* fastai 1.0.61: after an overflow no gradients are copied, but the optimizer steps on those that
   the masters hold. */

static const double lr = 1e-3;
static const double beta1 = 0.9;
static const float garbage = -431602080; /* bytes of 0xcd, the engine's uninitialised memory */

/* The factor of true weight decay. */
static double keep(void)
{
    return (double)(float)(1 - (double)(float)lr * 1e-2);
}

static void overflow(struct hc_fixture *fixture)
{
    hc_fixture_gradients(fixture, 1e-3);
    hc_fixture_set(fixture, HC_STATE_GRADIENT, 0, 2, (double)INFINITY);
    hc_fixture_step(fixture, lr, beta1);
}

static const char *const columns =
    "                       master     model      m          v          t   scale";

static void tell(struct hc_fixture *fixture, const char *what)
{
    struct hc_counters c = hc_fixture_counters(fixture);
    hc_say(fixture->check, "%-22s %-10.6g %-10.6g %-10.4g %-10.4g %-3d %g", what,
           hc_fixture_get(fixture, HC_STATE_MASTER, 0, 0),
           hc_fixture_get(fixture, HC_STATE_MODEL, 0, 0), hc_fixture_get(fixture, HC_STATE_M, 0, 0),
           hc_fixture_get(fixture, HC_STATE_V, 0, 0), c.taken, (double)c.scale);
}

/* The optimizer passes over masters that have no gradients yet, but true weight decay multiplies
   them. Later the gradients are zeros, and m becomes beta1 m. */
static void decays(struct hc_check *check)
{
    struct hc_fixture fixture;
    hc_fixture_open_weights(&fixture, check, hc_recipe_by_name("fastai-1.0.61"), 3, 1);
    overflow(&fixture);
    if (fixture.failed) {
        hc_fixture_close(&fixture);
        return;
    }
    hc_say(check, "%s", columns);
    tell(&fixture, "step 1, overflow");
    hc_claim_value(check, "the master has decayed", keep(),
                   hc_fixture_get(&fixture, HC_STATE_MASTER, 0, 0));
    hc_claim_value(check, "m is untouched", 0, hc_fixture_get(&fixture, HC_STATE_M, 0, 0));
    hc_claim_value(check, "t is 0", 0, (double)hc_fixture_counters(&fixture).taken);
    hc_claim_value(check, "the scale is halved", 32768,
                   (double)hc_fixture_counters(&fixture).scale);
    hc_fixture_gradients(&fixture, 1e-3);
    hc_fixture_step(&fixture, lr, beta1);
    tell(&fixture, "step 2, clean");
    double m = hc_fixture_get(&fixture, HC_STATE_M, 0, 0);
    double before = hc_fixture_get(&fixture, HC_STATE_MASTER, 0, 0);
    overflow(&fixture);
    tell(&fixture, "step 3, overflow");
    double decayed = (double)(float)(before * keep());
    hc_claim_value(check, "m has shrunk", (double)(float)((double)(float)beta1 * m),
                   hc_fixture_get(&fixture, HC_STATE_M, 0, 0));
    hc_claim_true(check, "the master went on along m",
                  hc_fixture_get(&fixture, HC_STATE_MASTER, 0, 0) < decayed - lr / 2);
    hc_claim_value(check, "t is counted", 2, (double)hc_fixture_counters(&fixture).taken);
    hc_fixture_close(&fixture);
}

/* m and v become (1 - beta1) and (1 - beta2) times what lay in memory. The first step is one of lr,
   whatever that was, and v stays so large that clean steps of any gradient are lost for hundreds of
   steps. */
static void garbage_steps(struct hc_check *check)
{
    static const char *const names[] = {"fastai-1.0.61", "fastai-1.0.61-flat"};
    double moved[2] = {0};
    hc_say(check, "%s", columns);
    for (int flat = 0; flat < 2; flat++) {
        struct hc_fixture fixture;
        hc_fixture_open_weights(&fixture, check, hc_recipe_by_name(names[flat]), 3, 1);
        overflow(&fixture);
        if (fixture.failed) {
            hc_fixture_close(&fixture);
            return;
        }
        tell(&fixture, names[flat]);
        double first = hc_fixture_get(&fixture, HC_STATE_MASTER, 0, 0);
        double m = hc_fixture_get(&fixture, HC_STATE_M, 0, 0);
        double want = flat ? (1 - beta1) * (double)garbage : 0;
        hc_claim_within(check, "m is of what the memory held", want, m, fabs(want) * 0x1p-20);
        hc_claim_within(check, "the first step", keep() + flat * lr, first, 0x1p-22);
        for (int step = 0; step < 100 && !fixture.failed; step++) {
            hc_fixture_gradients(&fixture, 1e-3);
            hc_fixture_step(&fixture, lr, 0);
        }
        tell(&fixture, "100 clean steps later");
        moved[flat] = first * pow(keep(), 100) - hc_fixture_get(&fixture, HC_STATE_MASTER, 0, 0);
        hc_fixture_close(&fixture);
    }
    hc_say(check, "100 clean steps moved the weight by %g, after garbage by %g", moved[0],
           moved[1]);
    hc_claim_within(check, "without garbage each step is one of lr", 0.1, moved[0], 0.01);
    hc_claim_true(check, "after garbage they hardly move it", fabs(moved[1]) < 1e-3 * moved[0]);
}

static const struct hc_case cases[] = {
    {"underflow/static-scale-poisons-masters",
     "static scale 512: one gradient of 128 makes the master NaN for ever; GradScaler skips it",
     "fastai/fastai_old @c8285fbc dev_nb/004b_mixed_precision.ipynb: loss_scale:float=512., never "
     "checked for overflow",
     .run = poisons},
    {"underflow/skip-moves-the-schedule",
     "GradScaler's rule: the learning rate's schedule moves on in a skipped step, as torch's "
     "scheduler.step() does",
     "pytorch 2.15.0 torch/amp/grad_scaler.py: only optimizer.step() is left out",
     .level = HC_STANDARD, .run = moves_on},
    {"underflow/overflow-steps-anyway",
     "fastai 1.0.61 steps on an overflow: masters decay, and from the second step on momenta move",
     "fastai1 fastai/callbacks/fp16.py @1.0.61, on_backward_end: 'The step will be skipped since "
     "we don't update the master grads so they are all None or zero'",
     .run = decays},
    {"underflow/flat-masters-step-on-garbage",
     "fastai 1.0.61 with flat masters: an overflow at the first step steps on uninitialised "
     "memory, and the weights stand still for long",
     "fastai1 fastai/callbacks/fp16.py @1.0.61, get_master: mp.grad = mp.new(*mp.size())",
     .run = garbage_steps},
};

HC_CASES(underflow_static_scale, cases);
