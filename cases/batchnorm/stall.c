/* Running statistics that stall: every operation in 16 bits, or 16-bit storage under fp32
   arithmetic. */
#include "cases/fixture/batchnorm.h"
#include "cases/fixture/running_tally.h"
#include "cases/fixture/scalar.h"

#include <math.h>
#include <stdlib.h>

struct row {
    enum hc_format format;
    const char *momentum;
    double start;
    double target;
    double stalls; /* as claimed */
};

/* r (1 - m) + m x, every operation rounded; m and 1 - m are rounded decimals. */
static double every_operation(struct hc_scalar *scalar, const struct row *row, double r)
{
    double m = hc_decimal(scalar->format, row->momentum);
    struct hc_scalar definition = {.format = scalar->format};
    double keep = hc_scalar_sub(&definition, 1, hc_decimal(HC_FP64, row->momentum));
    return hc_scalar_add(scalar, hc_scalar_mul(scalar, r, keep),
                         hc_scalar_mul(scalar, m, row->target));
}

static void say(struct hc_check *check, const struct row *row, int step, double r)
{
    if (hc_running_tally_row(step))
        hc_say(check, "%s, momentum %s, step %4d: %.8g of %g", hc_formats[row->format].name,
               row->momentum, step, r, row->target);
}

/* The distance that is left after n steps shrinks by 1 - m a step. */
static double real(const struct row *row, int n)
{
    double m = strtod(row->momentum, NULL);
    return row->target - (row->target - row->start) * pow(1 - m, n);
}

static struct hc_picture *trajectory(struct hc_check *check, const char *statistic)
{
    const struct hc_frame frame = {
        .title = hc_check_case(check)->title, .x = "steps", .y = statistic};
    return hc_picture_new(check, &frame);
}

static void rounded_operations(struct hc_check *check)
{
    enum { STEPS = 1000 };
    const struct row *row = hc_check_case(check)->data;
    struct hc_scalar got = {.check = check, .format = row->format};
    struct hc_scalar definition = {.format = row->format};
    struct hc_comparisons tally = {0};
    struct hc_picture *picture = trajectory(check, "running statistic");
    double r = row->start;
    double want = row->start;
    int moved = 0;
    for (int step = 1; step <= STEPS; step++) {
        double before = want;
        want = every_operation(&definition, row, want);
        r = every_operation(&got, row, r);
        if (got.failed)
            return;
        moved = want == before ? moved : step;
        hc_running_tally_note(&tally, step, want, r);
        hc_point(check, picture, "real", step, real(row, step));
        hc_point(check, picture, hc_formats[row->format].name, step, r);
        say(check, row, step, r);
    }
    hc_say(check, "it stands still after step %d", moved);
    hc_claim_comparisons(check, &tally);
    hc_claim_value(check, "stalls at, as claimed", row->stalls, r);
    hc_claim_true(check, "and moves no more", moved < STEPS);
    hc_claim_true(check, "which is not where it should go", r != row->target);
}

/* One step of bn_train's contract: fp32 arithmetic, rounded into the storage's format. */
static double stored(const struct row *row, double r)
{
    struct hc_scalar single = {.format = HC_FP32};
    struct hc_scalar storage = {.format = row->format};
    double m = hc_decimal(HC_FP32, row->momentum);
    double step = hc_scalar_mul(&single, m, hc_scalar_sub(&single, row->target, r));
    return hc_scalar_cast(&storage, HC_FP32, hc_scalar_add(&single, r, step));
}

/* Buggy arm: 16-bit statistics. Fixed arm: fp32 statistics, which keep approaching: after n steps
   0.99^n of the distance is left. The roundings of a step are at most 1.02 u 1000 (difference and
   product are below 1 % of the sum) and shrink by 0.99 a step, so they add up to at most a hundred
   of them. */
static void storage(struct hc_check *check)
{
    const struct row *row = hc_check_case(check)->data;
    enum { ROWS = 8, STEPS = 2000 };
    struct hc_batchnorm norm = hc_batchnorm_new(check, row->format, row->format, ROWS, 1);
    struct hc_batchnorm fixed = hc_batchnorm_new(check, row->format, HC_FP32, ROWS, 1);
    struct hc_comparisons tally = {0};
    struct hc_picture *picture = trajectory(check, "running mean");
    double want = row->start;
    norm.params.momentum = fixed.params.momentum = strtod(row->momentum, NULL);
    for (int i = 0; i < ROWS; i++) {
        hc_tensor_set(&norm.x, i, row->target);
        hc_tensor_set(&fixed.x, i, row->target);
    }
    for (int step = 1; step <= STEPS; step++) {
        want = stored(row, want);
        if (hc_batchnorm_train(&norm) != HC_OK || hc_batchnorm_train(&fixed) != HC_OK)
            return;
        hc_running_tally_note(&tally, step, want, hc_tensor_get(&norm.mean, 0));
        hc_point(check, picture, "real", step, real(row, step));
        hc_point(check, picture, hc_formats[row->format].name, step, hc_tensor_get(&norm.mean, 0));
        hc_point(check, picture, "fp32", step, hc_tensor_get(&fixed.mean, 0));
        if (hc_running_tally_row(step))
            hc_say(check, "step %4d: running mean %.8g in %s, %.8g in fp32", step,
                   hc_tensor_get(&norm.mean, 0), hc_formats[row->format].name,
                   hc_tensor_get(&fixed.mean, 0));
    }
    hc_claim_comparisons(check, &tally);
    hc_claim_value(check, "16-bit storage stalls at", row->stalls, hc_tensor_get(&norm.mean, 0));
    hc_claim_within(check, "fp32 storage", row->target, hc_tensor_get(&fixed.mean, 0),
                    row->target * (pow(0.99, STEPS) + ldexp(102, -24)));
}

static const struct row rows[] = {
    {HC_FP16, "0.01", 0, 1000, 998.5}, {HC_BF16, "0.01", 0, 1000, 520},
    {HC_FP16, "0.1", 0, 1000, 997},    {HC_BF16, "0.1", 0, 1000, 968},
    {HC_BF16, "0.01", 1, 2, 1.671875}, {HC_FP16, "0.01", 0, 1000, 975},
    {HC_BF16, "0.01", 0, 1000, 800},
};

static const char source[] =
    "PyTorch forums 11815, 'Training with Half Precision': 'make sure that the BatchNormalization "
    "layers use float32 for accumulation or you will have convergence issues'";

static const struct hc_case cases[] = {
    {.name = "batchnorm/running-mean-half-operations",
     .title = "running mean towards 1000, momentum 0.01, every operation in half: stalls at 998.5",
     .source = source,
     .run = rounded_operations,
     .data = &rows[0]},
    {.name = "batchnorm/running-mean-bf16-operations",
     .title = "running mean towards 1000, momentum 0.01, every operation in bf16: stalls at 520",
     .source = source,
     .run = rounded_operations,
     .data = &rows[1]},
    {.name = "batchnorm/running-mean-half-operations-0.1",
     .title = "running mean towards 1000, momentum 0.1, every operation in half: stalls at 997",
     .source = source,
     .run = rounded_operations,
     .data = &rows[2]},
    {.name = "batchnorm/running-mean-bf16-operations-0.1",
     .title = "running mean towards 1000, momentum 0.1, every operation in bf16: stalls at 968",
     .source = source,
     .run = rounded_operations,
     .data = &rows[3]},
    {.name = "batchnorm/running-variance-bf16-operations",
     .title =
         "running variance from 1 to 2, momentum 0.01, every operation in bf16: stalls at 1.67",
     .source = source,
     .run = rounded_operations,
     .data = &rows[4]},
    {.name = "batchnorm/running-mean-half-storage",
     .title = "running mean towards 1000, momentum 0.01, fp32 arithmetic on half storage: stalls "
              "at 975; fp32 storage arrives",
     .source = source,
     .run = storage,
     .data = &rows[5]},
    {.name = "batchnorm/running-mean-bf16-storage",
     .title = "running mean towards 1000, momentum 0.01, fp32 arithmetic on bf16 storage: stalls "
              "at 800; fp32 storage arrives",
     .source = source,
     .run = storage,
     .data = &rows[6]},
};

HC_CASES(batchnorm_stall, cases);
