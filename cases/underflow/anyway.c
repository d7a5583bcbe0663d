/* fastai 1.0.61: an overflow keeps gradients from being copied, and the optimizer steps all the same on
   what the masters hold. */
#include "cases/rig.h"

#include <math.h>

static const double lr = 1e-3;
static const double beta1 = 0.9;
static const float garbage = -431602080; /* bytes of 0xcd, the engine's uninitialised memory */

/* The factor of true weight decay. */
static double keep(void)
{
    return (double)(float)(1 - (double)(float)lr * 1e-2);
}

static void start(struct hc_rig *rig, struct hc_check *check, const char *name)
{
    hc_rig_open(rig, check);
    hc_rig_add(rig, "w", HC_ROLE_WEIGHT, 3, 1);
    hc_rig_start(rig, hc_recipe_by_name(name));
}

static void overflow(struct hc_rig *rig)
{
    hc_rig_gradients(rig, 1e-3);
    hc_rig_put(rig, HC_PIECE_GRADIENT, 0, 2, (double)INFINITY);
    hc_rig_step(rig, lr, beta1);
}

static void tell(struct hc_rig *rig, const char *what)
{
    struct hc_counters c = hc_rig_counters(rig);
    hc_say(rig->check, "%-28s master %.9g, model %.9g, m %.6g, v %.6g, t %d, scale %g", what,
           hc_rig_get(rig, HC_PIECE_MASTER, 0, 0), hc_rig_get(rig, HC_PIECE_MODEL, 0, 0),
           hc_rig_get(rig, HC_PIECE_M, 0, 0), hc_rig_get(rig, HC_PIECE_V, 0, 0), c.taken,
           (double)c.scale);
}

/* Masters that have no gradients yet are passed over by the optimizer, but true decay multiplies them;
   later the gradients are zeros, and m becomes beta1 m. */
static void decays(struct hc_check *check)
{
    struct hc_rig rig;
    start(&rig, check, "fastai-1.0.61");
    overflow(&rig);
    if (rig.failed) {
        hc_rig_close(&rig);
        return;
    }
    tell(&rig, "overflow at the first step");
    hc_claim_value(check, "the master has decayed", keep(),
                   hc_rig_get(&rig, HC_PIECE_MASTER, 0, 0));
    hc_claim_value(check, "m is untouched", 0, hc_rig_get(&rig, HC_PIECE_M, 0, 0));
    hc_claim_value(check, "t is 0", 0, (double)hc_rig_counters(&rig).taken);
    hc_claim_value(check, "the scale is halved", 32768, (double)hc_rig_counters(&rig).scale);
    hc_rig_gradients(&rig, 1e-3);
    hc_rig_step(&rig, lr, beta1);
    tell(&rig, "a clean step");
    double m = hc_rig_get(&rig, HC_PIECE_M, 0, 0);
    double before = hc_rig_get(&rig, HC_PIECE_MASTER, 0, 0);
    overflow(&rig);
    tell(&rig, "overflow at the third");
    double decayed = (double)(float)(before * keep());
    hc_claim_value(check, "m has shrunk", (double)(float)((double)(float)beta1 * m),
                   hc_rig_get(&rig, HC_PIECE_M, 0, 0));
    hc_claim_true(check, "the master went on along m",
                  hc_rig_get(&rig, HC_PIECE_MASTER, 0, 0) < decayed - lr / 2);
    hc_claim_value(check, "t is counted", 2, (double)hc_rig_counters(&rig).taken);
    hc_rig_close(&rig);
}

/* (1 - beta1) and (1 - beta2) times what lay in memory: the first step is one of lr, whatever the memory
   held, and v stays so large that clean steps of any gradient are lost for hundreds of steps. */
static void garbage_steps(struct hc_check *check)
{
    static const char *const names[] = {"fastai-1.0.61", "fastai-1.0.61-flat"};
    double moved[2] = {0};
    for (int flat = 0; flat < 2; flat++) {
        struct hc_rig rig;
        start(&rig, check, names[flat]);
        overflow(&rig);
        if (rig.failed) {
            hc_rig_close(&rig);
            return;
        }
        tell(&rig, names[flat]);
        double first = hc_rig_get(&rig, HC_PIECE_MASTER, 0, 0);
        double m = hc_rig_get(&rig, HC_PIECE_M, 0, 0);
        double want = flat ? (1 - beta1) * (double)garbage : 0;
        hc_claim_within(check, "m is of what the memory held", want, m, fabs(want) * 0x1p-20);
        hc_claim_within(check, "the first step", keep() + flat * lr, first, 0x1p-22);
        for (int step = 0; step < 100 && !rig.failed; step++) {
            hc_rig_gradients(&rig, 1e-3);
            hc_rig_step(&rig, lr, 0);
        }
        tell(&rig, "a hundred clean steps later");
        moved[flat] = first * pow(keep(), 100) - hc_rig_get(&rig, HC_PIECE_MASTER, 0, 0);
        hc_rig_close(&rig);
    }
    hc_say(check, "a hundred clean steps moved the weight by %g, after garbage by %g", moved[0],
           moved[1]);
    hc_claim_within(check, "without garbage each step is one of lr", 0.1, moved[0], 0.01);
    hc_claim_true(check, "after garbage they hardly move it", fabs(moved[1]) < 1e-3 * moved[0]);
}

static const struct hc_case cases[] = {
    {.name = "underflow/overflow-steps-anyway",
     .title =
         "fastai 1.0.61: at an overflow masters decay, and from the second step on momenta move",
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

const struct hc_case_table hc_cases_underflow_anyway;
const struct hc_case_table hc_cases_underflow_anyway = {cases, sizeof cases / sizeof cases[0]};
