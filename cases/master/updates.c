/* Small updates of a weight near 1: in half, and on an fp32 master. */
#include "cases/fixture/running_tally.h"
#include "cases/fixture/scalar.h"

#include <math.h>

static const char notebook[] = "fastai/fastai_old @c8285fbc dev_nb/004b_mixed_precision.ipynb: "
                               "'the update will make no effect'";

struct direction {
    enum hc_op op;    /* add: upwards, sub: downwards */
    int64_t crossing; /* the first step at which half(master) is not 1 */
    double model;     /* what it is then */
};

static const struct direction up = {HC_OP_add, 5, 1.0009765625};
static const struct direction down = {HC_OP_sub, 3, 0.99951171875};

/* w = w +- 1e-4 a thousand times, all in half: the weight never moves. */
static void lost_in_half(struct hc_check *check)
{
    struct hc_scalar half = {.check = check, .format = HC_FP16};
    double update = hc_decimal(HC_FP16, "1e-4");
    struct hc_comparisons tally = {0};
    for (int d = 0; d < 2; d++) {
        double w = 1;
        for (int64_t step = 1; step <= 1000; step++) {
            w = hc_scalar_op(&half, d ? HC_OP_sub : HC_OP_add, w, update, 0);
            if (half.failed)
                return;
            hc_running_tally_note(&tally, step, 1, w);
            if (hc_running_tally_power(step))
                hc_say(check, "step %4lld: half(w %c 1e-4) = %.10g", (long long)step, d ? '-' : '+',
                       w);
        }
    }
    hc_claim_comparisons(check, &tally);
}

/* Buggy arm: the weight in half. Fixed arm: an fp32 master, copied into half after each step. The
   master is held against MPFR, rounded once per step; the crossing against the claim. */
static void crosses(struct hc_check *check)
{
    const struct direction *claim = hc_check_case(check)->data;
    struct hc_scalar half = {.check = check, .format = HC_FP16};
    struct hc_scalar single = {.check = check, .format = HC_FP32};
    struct hc_scalar definition = {.format = HC_FP32};
    struct hc_scalar rounded = {.format = HC_FP16};
    double update = hc_decimal(HC_FP32, "1e-4");
    double half_update = hc_decimal(HC_FP16, "1e-4");
    double w = 1;
    double master = 1;
    double want = 1;
    double model = 1;
    int64_t step = 0;
    struct hc_comparisons tally = {0};
    hc_say(check, "step  half alone   fp32 master     half(master)");
    while (model == 1 && step < 20) {
        step++;
        w = hc_scalar_op(&half, claim->op, w, half_update, 0);
        master = hc_scalar_op(&single, claim->op, master, update, 0);
        want = hc_scalar_op(&definition, claim->op, want, update, 0);
        model = hc_scalar_model(&half, master);
        if (half.failed || single.failed)
            return;
        hc_running_tally_note(&tally, step, want, master);
        hc_say(check, "%4lld  %-11.10g  %-14.10g  %.11g", (long long)step, w, master, model);
    }
    hc_claim_comparisons(check, &tally);
    hc_claim_value(check, "the first step that half sees", (double)claim->crossing, (double)step);
    hc_claim_value(check, "half(master) at that step", claim->model, model);
    hc_claim_value(check, "half(master) by its definition", hc_scalar_model(&rounded, want), model);
    hc_claim_value(check, "half alone at that step", 1, w);
}

/* The largest update that is lost: half the distance to the neighbour, the tie going to the even
   significand, which is 1's. */
static void thresholds(struct hc_check *check)
{
    struct hc_scalar half = {.check = check, .format = HC_FP16};
    double above = ldexp(1, -11);
    double below = ldexp(1, -12);
    double above_next = hc_decode(HC_FP16, hc_encode(HC_FP16, above, 0, HC_NEAREST) + 1);
    double below_next = hc_decode(HC_FP16, hc_encode(HC_FP16, below, 0, HC_NEAREST) + 1);
    double got[4] = {hc_scalar_add(&half, 1, above), hc_scalar_add(&half, 1, above_next),
                     hc_scalar_sub(&half, 1, below), hc_scalar_sub(&half, 1, below_next)};
    if (half.failed)
        return;
    hc_claim_value(check, "1 + 2^-11", 1, got[0]);
    hc_claim_value(check, "1 + the next half above 2^-11", 1 + ldexp(1, -10), got[1]);
    hc_claim_value(check, "1 - 2^-12", 1, got[2]);
    hc_claim_value(check, "1 - the next half above 2^-12", 1 - ldexp(1, -11), got[3]);
}

static const struct hc_case cases[] = {
    {.name = "master/update-1e-4-lost-in-half",
     .title = "w = 1, update 1e-4: in half w stays 1.0 for ever, upwards and downwards",
     .source = notebook,
     .run = lost_in_half},
    {.name = "master/crosses-at-step-5-upwards",
     .title = "an fp32 master takes 1e-4 up: half sees it at step 5, as 1.0009765625 (not 1.0005)",
     .source = "fastai/fastai_old @c8285fbc dev_nb/004b_mixed_precision.ipynb: 'the original model "
               "will incorporate it as 1.0005'",
     .run = crosses,
     .data = &up},
    {.name = "master/crosses-at-step-3-downwards",
     .title = "an fp32 master takes 1e-4 down: half sees it at step 3, as 0.99951171875",
     .source = notebook,
     .run = crosses,
     .data = &down},
    {.name = "master/largest-lost-update",
     .title = "from 1 an update is lost up to 2^-11 upwards and 2^-12 downwards",
     .source = notebook,
     .run = thresholds},
};

HC_CASES(master_updates, cases);
