/* The ops that count steps, at large counts: the loss scale's rule, the rates of a step, and its
   row in the step log. Counts stay below 2^31; t is one of them, rounded to fp32. */
#include <math.h>

#include "case.h"

static const int32_t counts[] = {0,        1,        255,        65535,      65536,     65537,
                                 16777214, 16777215, 16777216,   16777217,   16777218,  33554433,
                                 33554435, 67108869, 0x3fffffff, 0x40000001, 0x7ffffffd};

enum { COUNTS = sizeof counts / sizeof counts[0] };

static struct hc_tensor all_at(struct hc_check *check, int32_t count)
{
    struct hc_tensor t = hc_check_vector(check, HC_I32, HC_COUNTS);
    for (int i = 0; i < HC_COUNTS; i++)
        hc_tensor_set(&t, i, i == HC_COUNT_HELD_BACK || i == HC_COUNT_GAVE_UP ? 0 : count);
    return t;
}

static double count(const struct hc_tensor *t, int i)
{
    return hc_tensor_get(t, i);
}

/* A rule that skips and halves, and doubles after 2,000 clean steps. */
static void rule(struct hc_check *check)
{
    for (int c = 0; c < COUNTS; c++)
        for (int found = 0; found < 2; found++) {
            struct hc_call call = {.op = HC_OP_scaler_update,
                                   .params.scaler = {.growth = 2,
                                                     .backoff = 0.5F,
                                                     .min_checked_scale = -1,
                                                     .when = HC_WHEN_MULTIPLE,
                                                     .interval = 2000,
                                                     .skip_on_overflow = true}};
            call.in[HC_SCALER_SCALE] = hc_check_vector(check, HC_FP32, 1);
            call.in[HC_SCALER_COUNTS] = all_at(check, counts[c]);
            call.in[HC_SCALER_FOUND_INF] = hc_check_vector(check, HC_FP32, 1);
            call.out[HC_SCALER_NEW_SCALE] = hc_check_vector(check, HC_FP32, 1);
            call.out[HC_SCALER_NEW_COUNTS] = hc_check_vector(check, HC_I32, HC_COUNTS);
            hc_tensor_set(&call.in[HC_SCALER_SCALE], 0, 1024);
            hc_tensor_set(&call.in[HC_SCALER_FOUND_INF], 0, found);
            if (hc_do(check, &call) != HC_OK)
                return;
            const struct hc_tensor *got = &call.out[HC_SCALER_NEW_COUNTS];
            double n = counts[c];
            bool due = !found && (counts[c] + 1) % 2000 == 0;
            hc_claim_value(check, "steps", n + 1, count(got, HC_COUNT_STEPS));
            hc_claim_value(check, "found", n + found, count(got, HC_COUNT_FOUND));
            hc_claim_value(check, "skipped", n + found, count(got, HC_COUNT_SKIPPED));
            hc_claim_value(check, "taken", n + !found, count(got, HC_COUNT_TAKEN));
            hc_claim_value(check, "clean", found ? 0 : n + 1, count(got, HC_COUNT_CLEAN));
            hc_claim_value(check, "scale",
                           found ? 512
                           : due ? 2048
                                 : 1024,
                           hc_tensor_get(&call.out[HC_SCALER_NEW_SCALE], 0));
        }
}

/* The scale grows at the interval and not a step before or after it, by each of the three ways to
   count. */
static void growth(struct hc_check *check)
{
    static const int32_t intervals[] = {1, 2, 2000, 65536, 16777217};
    for (int i = 0; i < 5; i++)
        for (int when = 0; when < 3; when++)
            for (int beside = -2; beside <= 1; beside++) {
                int32_t clean = intervals[i] + beside;
                struct hc_call call = {.op = HC_OP_scaler_update,
                                       .params.scaler = {.growth = 2,
                                                         .backoff = 0.5F,
                                                         .min_checked_scale = -1,
                                                         .when = (enum hc_growth_when)when,
                                                         .interval = intervals[i],
                                                         .skip_on_overflow = true}};
                if (clean < 0)
                    continue;
                call.in[HC_SCALER_SCALE] = hc_check_vector(check, HC_FP32, 1);
                call.in[HC_SCALER_COUNTS] = hc_check_vector(check, HC_I32, HC_COUNTS);
                call.out[HC_SCALER_NEW_SCALE] = hc_check_vector(check, HC_FP32, 1);
                call.out[HC_SCALER_NEW_COUNTS] = hc_check_vector(check, HC_I32, HC_COUNTS);
                hc_tensor_set(&call.in[HC_SCALER_SCALE], 0, 8);
                hc_tensor_set(&call.in[HC_SCALER_COUNTS], HC_COUNT_CLEAN, clean);
                if (hc_do(check, &call) != HC_OK)
                    return;
                int32_t n = clean + 1;
                bool due = when == HC_WHEN_EQUAL     ? n == intervals[i]
                           : when == HC_WHEN_REACHED ? n >= intervals[i]
                                                     : n % intervals[i] == 0;
                hc_claim_value(check, "scale beside the interval", due ? 16 : 8,
                               hc_tensor_get(&call.out[HC_SCALER_NEW_SCALE], 0));
            }
}

/* Row r of a table holds r + 1 and (r + 1) / 1024. */
static void rates(struct hc_check *check)
{
    static const int64_t lengths[] = {1, 2, 7, 64};
    for (int l = 0; l < 4; l++)
        for (int c = 0; c < COUNTS + 5; c++) {
            /* The first row, one in the middle, the last, and two beyond it. */
            const int64_t near[] = {0, lengths[l] / 2, lengths[l] - 1, lengths[l], lengths[l] + 1};
            int32_t step = c < COUNTS ? counts[c] : (int32_t)near[c - COUNTS];
            int64_t row = step < lengths[l] ? step : lengths[l] - 1;
            struct hc_call call = {.op = HC_OP_rates};
            call.in[HC_RATES_TABLE] =
                hc_tensor2(HC_FP32, lengths[l], 2, hc_check_memory(check, sizeof(float) * 2 * 64));
            call.in[HC_RATES_COUNTS] = hc_check_vector(check, HC_I32, HC_COUNTS);
            call.out[HC_RATES_HYPER] = hc_check_vector(check, HC_FP32, HC_HYPER_COUNT);
            for (int64_t r = 0; r < lengths[l]; r++) {
                hc_tensor_set(&call.in[HC_RATES_TABLE], 2 * r, (double)r + 1);
                hc_tensor_set(&call.in[HC_RATES_TABLE], 2 * r + 1, ((double)r + 1) / 1024);
            }
            hc_tensor_set(&call.in[HC_RATES_COUNTS], HC_COUNT_STEPS, step);
            hc_tensor_set(&call.in[HC_RATES_COUNTS], HC_COUNT_TAKEN, step);
            if (hc_do(check, &call) != HC_OK)
                return;
            hc_claim_value(check, "rate of a step", (double)(row + 1),
                           hc_tensor_get(&call.out[HC_RATES_HYPER], HC_HYPER_LR));
            hc_claim_value(check, "beta1 of a step", (double)(row + 1) / 1024,
                           hc_tensor_get(&call.out[HC_RATES_HYPER], HC_HYPER_BETA1));
            hc_claim_value(check, "t of a step, rounded once", hc_round(HC_FP32, (double)step + 1),
                           hc_tensor_get(&call.out[HC_RATES_HYPER], HC_HYPER_STEP));
        }
}

static void step_log(struct hc_check *check)
{
    enum { ROWS = 7 };
    for (int c = 0; c < COUNTS; c++) {
        struct hc_call call = {.op = HC_OP_step_log};
        float scalar = 77;
        call.in[HC_STEP_LOG_ROWS] =
            hc_tensor2(HC_FP32, ROWS, 4, hc_check_memory(check, sizeof(float) * 4 * ROWS));
        call.in[HC_STEP_LOG_COUNTS] = hc_check_vector(check, HC_I32, HC_COUNTS);
        call.in[HC_STEP_LOG_SCALARS + 1] = hc_tensor1(HC_FP32, 1, &scalar);
        call.out[HC_STEP_LOG_NEW_ROWS] =
            hc_tensor2(HC_FP32, ROWS, 4, hc_check_memory(check, sizeof(float) * 4 * ROWS));
        for (int64_t i = 0; i < 4 * ROWS; i++)
            hc_tensor_set(&call.in[HC_STEP_LOG_ROWS], i, (double)i + 1);
        hc_tensor_set(&call.in[HC_STEP_LOG_COUNTS], HC_COUNT_STEPS, counts[c]);
        if (hc_do(check, &call) != HC_OK)
            return;
        for (int64_t i = 0; i < 4 * ROWS; i++) {
            bool mine = i / 4 == counts[c] % ROWS;
            hc_claim_value(check, "an entry of the step log",
                           mine ? (i % 4 == 1 ? 77 : 0) : (double)i + 1,
                           hc_tensor_get(&call.out[HC_STEP_LOG_NEW_ROWS], i));
        }
    }
}

static const char contract[] = "contract in src/op/control.h";

static const struct hc_case cases[] = {
    {.name = "scaler/counts-one-by-one",
     .title = "counts of steps go on one by one, from 0 to the last below 2^31",
     .source = contract,
     .level = HC_QUICK,
     .run = rule},
    {.name = "scaler/growth-just-at-the-interval",
     .title = "a scale grows at the step that its rule names, and not one step before or after",
     .source = contract,
     .level = HC_QUICK,
     .run = growth},
    {.name = "scaler/rates-of-every-step",
     .title = "a step gets the rates of its row, a step beyond the table those of the last row, "
              "and t rounded once",
     .source = contract,
     .level = HC_QUICK,
     .run = rates},
    {.name = "scaler/step-log-of-every-step",
     .title = "a step's scalars go into its row of the step log, and nothing else changes",
     .source = contract,
     .level = HC_QUICK,
     .run = step_log},
};

HC_CASES(scaler_counts, cases);
