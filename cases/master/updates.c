/* Updates that are small beside the weight, alone and a thousand in a row. */
#include <math.h>

#include "cases/fixture/scalar.h"

/* Small updates of a weight near 1: in half, and on an fp32 master. */

static const char notebook[] = "fastai/fastai_old @c8285fbc dev_nb/004b_mixed_precision.ipynb: "
                               "'the update will make no effect'";

struct direction {
    enum hc_op op;    /* add: upwards, sub: downwards */
    int64_t crossing; /* the first step at which half(master) is not 1 */
    double model;     /* what it is then */
};

static const struct direction up_updates = {HC_OP_add, 5, 1.0009765625};
static const struct direction down_updates = {HC_OP_sub, 3, 0.99951171875};

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

/* A thousand updates of 1e-4 under five ways to keep a weight, against the real sum. */

enum { STEPS = 1000, WEIGHTS = 256 };

/* Kahan's summation: the part c that was lost is subtracted from the next update. */
static double kahan(struct hc_scalar *scalar, double w, double *c, double update)
{
    double y = hc_scalar_sub(scalar, update, *c);
    double t = hc_scalar_add(scalar, w, y);
    *c = hc_scalar_sub(scalar, hc_scalar_sub(scalar, t, w), y);
    return t;
}

/* Stochastic rounding of many half weights: w + update is exact in fp32 (1678 2^-24 is even), and
   goes up with the probability that keeps its mean. */
struct crowd {
    struct hc_check *check;
    struct hc_tensor half;
    struct hc_tensor single;
    struct hc_tensor update;
    struct hc_tensor down;
    struct hc_tensor up;
};

static struct crowd crowd_new(struct hc_check *check, double update)
{
    struct crowd c = {.check = check};
    c.half = hc_check_vector(check, HC_FP16, WEIGHTS);
    c.single = hc_check_vector(check, HC_FP32, WEIGHTS);
    c.update = hc_check_vector(check, HC_FP32, WEIGHTS);
    c.down = hc_check_vector(check, HC_FP16, WEIGHTS);
    c.up = hc_check_vector(check, HC_FP16, WEIGHTS);
    for (int i = 0; i < WEIGHTS; i++) {
        hc_tensor_set(&c.half, i, 1);
        hc_tensor_set(&c.update, i, update);
    }
    return c;
}

static enum hc_status cast(const struct crowd *c, const struct hc_tensor *from,
                           const struct hc_tensor *to, enum hc_direction direction)
{
    struct hc_call call = {.op = HC_OP_cast,
                           .in = {[HC_X] = *from},
                           .out = {[HC_OUT] = *to},
                           .params.cast.direction = direction};
    return hc_do(c->check, &call);
}

static enum hc_status crowd_step(struct crowd *c, int step)
{
    struct hc_call add = {.op = HC_OP_add,
                          .in = {[HC_X] = c->single, [HC_Y] = c->update},
                          .out = {[HC_OUT] = c->single}};
    enum hc_status status = cast(c, &c->half, &c->single, HC_NEAREST);
    if (status == HC_OK)
        status = hc_do(c->check, &add);
    if (status == HC_OK)
        status = cast(c, &c->single, &c->down, HC_DOWNWARD);
    if (status == HC_OK)
        status = cast(c, &c->single, &c->up, HC_UPWARD);
    for (int i = 0; i < WEIGHTS && status == HC_OK; i++) {
        double sum = hc_tensor_get(&c->single, i);
        double down = hc_tensor_get(&c->down, i);
        double up = hc_tensor_get(&c->up, i);
        double uniform =
            hc_random_uniform(hc_check_seed(c->check), 6, (uint64_t)(step * WEIGHTS + i));
        hc_tensor_set(&c->half, i, sum > down && uniform < (sum - down) / (up - down) ? up : down);
    }
    return status;
}

static double crowd_mean(const struct crowd *c)
{
    double sum = 0;
    for (int i = 0; i < WEIGHTS; i++)
        sum += hc_tensor_get(&c->half, i);
    return sum / WEIGHTS;
}

/* The real value 1 + n d, where d is the update as the arm has it. */
static double real_sum(int n, double update)
{
    struct hc_real *x = hc_real_new(update);
    struct hc_real *y = hc_real_new(n);
    hc_real_mul(x, x, y);
    hc_real_set(y, 1);
    hc_real_add(x, x, y);
    double sum = hc_real_double(x);
    hc_real_free(x);
    hc_real_free(y);
    return sum;
}

/* The weights of all arms over the steps, and how far they are from the real sum. */
struct drawing {
    struct hc_check *check;
    struct hc_picture *weights;
    struct hc_picture *distances;
};

static struct drawing drawing_new(struct hc_check *check)
{
    static const struct hc_frame weights = {
        .title = "A weight of 1 after n updates of 1e-4", .x = "updates", .y = "weight"};
    static const struct hc_frame distances = {
        .title = "Distance of that weight from the real sum (none drawn where it is 0)",
        .x = "updates",
        .y = "|weight - real sum|",
        .log_y = true};
    return (struct drawing){check, hc_picture_new(check, &weights),
                            hc_picture_new(check, &distances)};
}

/* The update rounded into the arm's format. */
static void draw(const struct drawing *d, const char *arm, int n, double weight, double update)
{
    hc_point(d->check, d->weights, arm, n, weight);
    hc_point(d->check, d->distances, arm, n, fabs(weight - real_sum(n, update)));
}

/* Bounds at step n; u = 2^-11, updates d are below u. Master: n roundings of at most 2^-24 each,
   since w < 2. Kahan: |w| >= |y|, so c is exactly what t lost (Dekker), and w - c moves by d (1 +
   u) - c u a step: |w - real| <= |c| + n u (d + |c|), |c| <= u. Stochastic: the mean is the real
   value and a step's variance at most (2 u)^2 / 4, so the mean of N weights lies within 6 u sqrt(n
   / N) except once in 5e8 seeds. */
static void drift(struct hc_check *check)
{
    struct hc_scalar half = {.check = check, .format = HC_FP16};
    struct hc_scalar bfloat = {.check = check, .format = HC_BF16};
    struct hc_scalar single = {.check = check, .format = HC_FP32};
    struct hc_scalar definition = {.format = HC_FP16};
    const double u = ldexp(1, -11);
    const double d16 = hc_decimal(HC_FP16, "1e-4");
    const double db = hc_decimal(HC_BF16, "1e-4");
    const double d32 = hc_decimal(HC_FP32, "1e-4");
    double w16 = 1, wb = 1, master = 1, compensated = 1, c = 0, want = 1, want_c = 0;
    struct crowd crowd = crowd_new(check, d16);
    struct hc_comparisons tally = {0};
    const struct drawing drawing = drawing_new(check);
    hc_say(check, "step  real       fp16  bf16  master     half(master)  Kahan      stochastic");
    for (int n = 1; n <= STEPS; n++) {
        w16 = hc_scalar_add(&half, w16, d16);
        wb = hc_scalar_add(&bfloat, wb, db);
        master = hc_scalar_add(&single, master, d32);
        compensated = kahan(&half, compensated, &c, d16);
        want = kahan(&definition, want, &want_c, d16);
        if (half.failed || bfloat.failed || single.failed || crowd_step(&crowd, n) != HC_OK)
            return;
        hc_running_tally_note(&tally, n, want, compensated);
        hc_running_tally_note(&tally, n, want_c, c);
        hc_point(check, drawing.weights, "real sum", n, real_sum(n, d32));
        draw(&drawing, "fp16", n, w16, d16);
        draw(&drawing, "bf16", n, wb, db);
        draw(&drawing, "fp32 master", n, master, d32);
        draw(&drawing, "fp16 with Kahan's sum", n, compensated, d16);
        draw(&drawing, "fp16, stochastic (mean of 256)", n, crowd_mean(&crowd), d16);
        if (!hc_running_tally_row(n))
            continue;
        hc_say(check, "%4d  %-9.7g  %-4g  %-4g  %-9.7g  %-12.7g  %-9.7g  %.7g", n, real_sum(n, d32),
               w16, wb, master, hc_round(HC_FP16, master), compensated, crowd_mean(&crowd));
    }
    hc_claim_comparisons(check, &tally);
    hc_claim_value(check, "fp16: 1.0 for ever", 1, w16);
    hc_claim_value(check, "bf16: 1.0 for ever", 1, wb);
    hc_claim_within(check, "the real sum, as claimed", 1.1, real_sum(STEPS, d32),
                    STEPS * ldexp(1, -38));
    hc_claim_within(check, "fp32 master", real_sum(STEPS, d32), master, STEPS * ldexp(1, -24));
    hc_claim_within(check, "fp16 with Kahan's sum", real_sum(STEPS, d16), compensated,
                    u + STEPS * u * (d16 + u));
    hc_claim_within(check, "fp16, stochastic, mean", real_sum(STEPS, d16), crowd_mean(&crowd),
                    6 * u * sqrt((double)STEPS / WEIGHTS));
}

static const struct hc_case cases[] = {
    {"master/update-1e-4-lost-in-half",
     "w = 1, update 1e-4: in half w stays 1.0 for ever, upwards and downwards", notebook,
     .run = lost_in_half},
    {"master/crosses-at-step-5-upwards",
     "an fp32 master takes 1e-4 up: half sees it at step 5, as 1.0009765625 (not 1.0005)",
     "fastai/fastai_old @c8285fbc dev_nb/004b_mixed_precision.ipynb: 'the original model will "
     "incorporate it as 1.0005'",
     .run = crosses, .data = &up_updates},
    {"master/crosses-at-step-3-downwards",
     "an fp32 master takes 1e-4 down: half sees it at step 3, as 0.99951171875", notebook,
     .run = crosses, .data = &down_updates},
    {"master/largest-lost-update",
     "from 1 an update is lost up to 2^-11 upwards and 2^-12 downwards", notebook,
     .run = thresholds},
    {"master/drift-over-a-thousand-updates",
     "1000 updates of 1e-4: 1.0 in fp16 and bf16; 1.1 on an fp32 master, with Kahan's sum and with "
     "stochastic rounding",
     "PyTorch forums 11815, 'Training with Half Precision': 'You also need to be sure to maintain "
     "a full 32 bit copy of your parameters'; torchao PR 1124, 'Add BF16 stochastic rounding "
     "option for optimizers'",
     .run = drift},
};

HC_CASES(master_updates, cases);
