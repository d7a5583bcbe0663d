/* A kernel that is wrong at known places: the sweep must find all of them, and no others. */
#include <criterion/criterion.h>

#include "check/check_inner.h"
#include "check/generate/boundary.h"
#include "check/sweep/pairs.h"
#include "check/sweep/sweep.h"
#include "num/rng.h"

enum { SEED = 9, SEEDED_ROWS = 32, EVERY = 1000, WRONG = 0x1234 };

static const struct hc_case what = {.name = "test"};
static const enum hc_op ops[] = {HC_OP_add, HC_OP_sub, HC_OP_mul, HC_OP_div};

/* Every thousandth y has the same result. */
static enum hc_status wrong_kernel(struct hc_queue *queue, const struct hc_call *call)
{
    const uint16_t *y = call->in[HC_Y].data;
    uint16_t *out = call->out[HC_OUT].data;
    enum hc_status status = hc_backend_by_name("exact")->kernel[call->op](queue, call);
    for (int64_t i = 0; i < hc_tensor_count(&call->out[HC_OUT]); i++)
        if (y[i] % EVERY == 7)
            out[i] = WRONG;
    return status;
}

static int64_t wrong_results(enum hc_op op, enum hc_format format)
{
    static struct hc_pairs pairs;
    uint16_t rows[HC_BOUNDARY_CODES + SEEDED_ROWS];
    int64_t wrong = 0;
    hc_boundary_codes(format, rows);
    for (uint64_t i = 0; i < SEEDED_ROWS; i++)
        rows[HC_BOUNDARY_CODES + i] = (uint16_t)hc_random(SEED, 1, i);
    hc_pairs_init(&pairs, op, format);
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        hc_pairs_at(&pairs, rows[r]);
        for (uint32_t y = 7; y < 65536; y += EVERY)
            wrong += pairs.want[y] != WRONG;
    }
    return wrong;
}

Test(sweep_pairs, counts_wrong_results_exactly)
{
    struct hc_backend wrong = *hc_backend_by_name("exact");
    for (size_t o = 0; o < sizeof ops / sizeof *ops; o++)
        wrong.kernel[ops[o]] = wrong_kernel;
    for (size_t o = 0; o < 2 * sizeof ops / sizeof *ops; o++) {
        enum hc_op op = ops[o / 2];
        enum hc_format format = o % 2 ? HC_BF16 : HC_FP16;
        struct hc_check check = {
            .what = &what, .backend = &wrong, .seed = SEED, .level = HC_STANDARD};
        cr_assert_eq(wrong.open(&wrong, &check.queue, 1), HC_OK);
        hc_sweep_pairs(&check, op, format);
        wrong.close(check.queue);
        hc_check_end(&check);
        cr_expect_eq(check.result.verdict, HC_FAIL);
        cr_expect_eq(check.result.checked, (HC_BOUNDARY_CODES + SEEDED_ROWS) * 65536);
        cr_expect_eq(check.result.wrong, wrong_results(op, format), "%s %s: %lld, not %lld",
                     hc_ops[op].name, hc_formats[format].name, (long long)check.result.wrong,
                     (long long)wrong_results(op, format));
    }
}
