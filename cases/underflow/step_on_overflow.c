/* fastai 1.0.61: after an overflow no gradients are copied, but the optimizer steps on those that
   the masters hold. */
#include "cases/fixture/update_fixture.h"

#include <math.h>

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
    {.name = "underflow/overflow-steps-anyway",
     .title = "fastai 1.0.61 steps on an overflow: masters decay, and from the second step on "
              "momenta move",
     .source =
         "fastai1 fastai/callbacks/fp16.py @1.0.61, on_backward_end: 'The step will be skipped "
         "since we don't update the master grads so they are all None or zero'",
     .run = decays},
    {.name = "underflow/flat-masters-step-on-garbage",
     .title =
         "fastai 1.0.61 with flat masters: an overflow at the first step steps on uninitialised "
         "memory, and the weights stand still for long",
     .source = "fastai1 fastai/callbacks/fp16.py @1.0.61, get_master: mp.grad = mp.new(*mp.size())",
     .run = garbage_steps},
};

HC_CASES(underflow_step_on_overflow, cases);
