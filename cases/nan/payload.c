/* NaNs where the contract (op/call.h) settles their bits. What is copied keeps all bits. A
   conversion to nearest among fp32, bf16 and fp16 keeps the sign and the upper bits of the payload
   and makes the NaN quiet (IEEE 754-2019, 6.2.1 and 6.2.3). Expected bits are put together field by
   field. */
#include <stdio.h>

#include "cases/fixture/defined.h"

/* A format's NaN by its fields: an exponent of ones above the fraction, whose upper bit says
   quiet. */
struct layout {
    enum hc_format format;
    int exponent;
    int fraction;
};

static const struct layout layouts[] = {
    {HC_FP32, 8, 23}, {HC_BF16, 8, 7}, {HC_FP16, 5, 10}, {HC_FP64, 11, 52}};

enum { LAYOUTS = 3, FP64 = 3, N = 2048 };

static uint64_t nan_of(const struct layout *l, uint64_t sign, uint64_t fraction)
{
    uint64_t ones = ((uint64_t)1 << l->exponent) - 1;
    return (sign << (l->exponent + l->fraction)) | (ones << l->fraction) | fraction;
}

/* NaN number i of a format: all fractions where they are few, else random ones; both signs. */
static uint64_t fraction_of(struct hc_check *check, const struct layout *l, int64_t i)
{
    uint64_t count = (uint64_t)1 << l->fraction;
    if (count <= N / 2)
        return 1 + (uint64_t)(i / 2) % (count - 1);
    uint64_t fraction = hc_random(hc_check_seed(check), 5, (uint64_t)i) % count;
    /* Payloads whose upper bits are 0 lose everything but the quiet bit when they are cut. */
    fraction = i % 16 < 4 ? fraction % 256 : fraction;
    return fraction ? fraction : 1;
}

/* The fraction, cut or filled up from below. */
static uint64_t converted(const struct layout *from, const struct layout *to, uint64_t fraction)
{
    int shift = to->fraction - from->fraction;
    uint64_t quiet = (uint64_t)1 << (to->fraction - 1);
    fraction = shift >= 0 ? fraction << shift : fraction >> -shift;
    /* bf16 is the upper half of fp32: nothing is computed. */
    return from->format == HC_BF16 && to->format == HC_FP32 ? fraction : fraction | quiet;
}

static void one_cast(struct hc_check *check, enum hc_op op, const struct layout *from,
                     const struct layout *to)
{
    char what[64];
    struct hc_call call = {.op = op};
    bool canonical = hc_check_backend(check)->canonical_nan;
    call.in[HC_X] = hc_check_vector(check, from->format, N);
    call.out[HC_OUT] = hc_check_vector(check, to->format, N);
    for (int64_t i = 0; i < N; i++)
        hc_tensor_set_bits(&call.in[HC_X], i,
                           nan_of(from, (uint64_t)i % 2, fraction_of(check, from, i)));
    if (hc_do(check, &call) != HC_OK)
        return;
    (void)snprintf(what, sizeof what, "bits of NaNs from %s in %s", hc_formats[from->format].name,
                   hc_formats[to->format].name);
    int64_t wrong = 0;
    for (int64_t i = 0; i < N; i++) {
        uint64_t got = hc_tensor_bits(&call.out[HC_OUT], i);
        uint64_t ones = nan_of(to, 0, 0);
        uint64_t want =
            nan_of(to, (uint64_t)i % 2, converted(from, to, fraction_of(check, from, i)));
        bool nan = (got & ones) == ones && (got & (((uint64_t)1 << to->fraction) - 1)) != 0;
        wrong += canonical ? !nan : got != want;
    }
    hc_claim_value(check, what, 0, (double)wrong);
}

static void casts(struct hc_check *check)
{
    for (int from = 0; from < LAYOUTS; from++)
        for (int to = 0; to < LAYOUTS; to++)
            if (from != to)
                one_cast(check, HC_OP_cast, &layouts[from], &layouts[to]);
    one_cast(check, HC_OP_master_to_model, &layouts[0], &layouts[1]);
    one_cast(check, HC_OP_master_to_model, &layouts[0], &layouts[2]);
}

static struct hc_tensor nans(struct hc_check *check, const struct layout *l, int64_t n)
{
    struct hc_tensor t = hc_check_vector(check, l->format, n);
    for (int64_t i = 0; i < n; i++)
        hc_tensor_set_bits(&t, i, nan_of(l, (uint64_t)i % 2, fraction_of(check, l, i)));
    return t;
}

static void claim_same(struct hc_check *check, const char *what, const struct hc_tensor *want,
                       const struct hc_tensor *got)
{
    int64_t wrong = 0;
    for (int64_t i = 0; i < hc_tensor_count(want); i++)
        wrong += hc_tensor_bits(want, i) != hc_tensor_bits(got, i);
    hc_claim_value(check, what, 0, (double)wrong);
}

/* A step that is left out copies its inputs to its outputs. */
static void step(struct hc_check *check, enum hc_op op, const struct layout *l)
{
    const struct hc_optimizer_slots *s = hc_optimizer_slots(op);
    float found = 1;
    enum hc_format f = l->format == HC_FP64 ? HC_FP64 : HC_FP32;
    struct hc_call call = {.op = op};
    if (op == HC_OP_sgd)
        call.params.sgd.arithmetic = f;
    else
        call.params.adam = (struct hc_adam){.beta2 = 0.999, .eps = 1e-8, .arithmetic = f};
    for (int i = 0; i < s->hyper; i++)
        call.in[i] = nans(check, l, N);
    call.in[s->hyper] = hc_hyper_tensor(check, (double)1e-3F, (double)0.9F, 1);
    call.in[s->found_inf] = hc_tensor1(HC_FP32, 1, &found);
    for (int i = 0; i < s->new_compensation; i++)
        call.out[i] = hc_check_vector(check, l->format, N);
    if (hc_do(check, &call) != HC_OK)
        return;
    claim_same(check, "a weight of a step left out", &call.in[s->w], &call.out[s->new_w]);
    claim_same(check, "its first moment", &call.in[s->m], &call.out[s->new_m]);
    if (s->v >= 0)
        claim_same(check, "its second moment", &call.in[s->v], &call.out[s->new_v]);
}

/* Gradients that are not copied on an overflow keep their bits; so do the rows of the step log that
   are not this step's, and the scalars that go into it. */
static void copies(struct hc_check *check)
{
    static const enum hc_op ops[] = {HC_OP_sgd, HC_OP_adam, HC_OP_adamw};
    bool fp64 = hc_check_backend(check)->fp64;
    for (int o = 0; o < 3; o++)
        for (int l = 0; l < LAYOUTS + fp64; l++)
            step(check, ops[o], &layouts[l]);
    float one = 1;
    struct hc_call kept = {
        .op = HC_OP_unscale,
        .in = {[HC_UNSCALE_X] = nans(check, &layouts[2], N),
               [HC_UNSCALE_SCALE] = hc_tensor1(HC_FP32, 1, &one),
               [HC_UNSCALE_FOUND_INF] = hc_tensor1(HC_FP32, 1, &one),
               [HC_UNSCALE_OVERRIDE] = nans(check, &layouts[0], N)},
        .out = {[HC_UNSCALE_OUT] = hc_check_vector(check, HC_FP32, N),
                [HC_UNSCALE_NEW_FOUND_INF] = hc_check_vector(check, HC_FP32, 1)}};
    if (hc_do(check, &kept) != HC_OK)
        return;
    claim_same(check, "gradients kept in place of those that overflowed",
               &kept.in[HC_UNSCALE_OVERRIDE], &kept.out[HC_UNSCALE_OUT]);
    struct hc_call log = {.op = HC_OP_step_log,
                          .in = {[HC_STEP_LOG_ROWS] = nans(check, &layouts[0], 24),
                                 [HC_STEP_LOG_COUNTS] = hc_check_vector(check, HC_I32, HC_COUNTS)},
                          .out = {[HC_STEP_LOG_NEW_ROWS] = hc_check_vector(check, HC_FP32, 24)}};
    log.in[HC_STEP_LOG_ROWS].rank = log.out[HC_STEP_LOG_NEW_ROWS].rank = 2;
    log.in[HC_STEP_LOG_ROWS].shape[0] = log.out[HC_STEP_LOG_NEW_ROWS].shape[0] = 6;
    log.in[HC_STEP_LOG_ROWS].shape[1] = log.out[HC_STEP_LOG_NEW_ROWS].shape[1] =
        HC_STEP_LOG_COLUMNS;
    hc_tensor_set(&log.in[HC_STEP_LOG_COUNTS], HC_COUNT_STEPS, 8); /* row 2 of 6 */
    for (int s = 0; s < HC_STEP_LOG_COLUMNS; s++) {
        log.in[HC_STEP_LOG_SCALARS + s] = hc_check_vector(check, HC_FP32, 1);
        hc_tensor_set_bits(&log.in[HC_STEP_LOG_SCALARS + s], 0,
                           hc_tensor_bits(&log.in[HC_STEP_LOG_ROWS], 2 * HC_STEP_LOG_COLUMNS + s));
    }
    if (hc_do(check, &log) == HC_OK)
        claim_same(check, "a step log and its new row", &log.in[HC_STEP_LOG_ROWS],
                   &log.out[HC_STEP_LOG_NEW_ROWS]);
}

static const struct hc_case cases[] = {
    {"nan/casts-keep-sign-and-payload",
     "a NaN that is converted to nearest among fp32, bf16 and fp16 keeps its sign and the upper "
     "bits of its payload, and is quiet",
     "IEEE 754-2019, 6.2.3 NaN propagation; contract in src/op/call.h", .level = HC_QUICK,
     .run = casts},
    {"nan/copies-keep-every-bit", "NaNs that an op copies keep all bits, signalling ones too",
     "IEEE 754-2019, 6.2 and 5.5.1 (copy); contract in src/op/call.h", .level = HC_QUICK,
     .run = copies},
};

HC_CASES(nan_payload, cases);
