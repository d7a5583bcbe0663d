/* Batch norm in parts, against batch norm of the whole batch. Numbers are fp64, so that the parts
   may differ from MPFR's values of the whole by no more than some 2^-50 of them. */
#include <math.h>

#include "kernels/exact/testing.h"
#include "num/rng.h"

enum { ROWS = 40, CHANNELS = 19, RANKS = 4 };

/* Rows of each rank: uneven, and one has none. */
static const int32_t shares[RANKS] = {7, 0, 30, 3};

static struct hc_tensor drawn(struct hc_tensor t, uint64_t stream, double shift)
{
    t = made(t);
    for (int64_t i = 0; i < hc_tensor_count(&t); i++)
        hc_tensor_set(&t, i, shift + hc_random_normal(5, stream, (uint64_t)i));
    return t;
}

static struct hc_tensor by_channel(enum hc_format format)
{
    return hc_tensor1(format, CHANNELS, NULL);
}

/* bn_train of `rows` rows with a mean of 100. */
static struct hc_call whole_of(enum hc_format x, int64_t rows)
{
    enum hc_format wide = x == HC_FP64 ? HC_FP64 : HC_FP32;
    struct hc_tensor channels = by_channel(wide);
    struct hc_call call = {.op = HC_OP_bn_train,
                           .in = {drawn(hc_tensor2(x, rows, CHANNELS, NULL), 1, 100),
                                  drawn(channels, 2, 3), drawn(channels, 3, 0),
                                  drawn(channels, 4, 0), drawn(channels, 5, 9)},
                           .params.bn = {.eps = 1e-5, .momentum = 0.1}};
    call.out[HC_BN_Y] = made(call.in[HC_BN_X]);
    for (int o = HC_BN_SAVED_MEAN; o <= HC_BN_NEW_VARIANCE; o++)
        call.out[o] = made(channels);
    return call;
}

/* Rows of x from `first` on, in its memory. */
static struct hc_tensor rows_of(const struct hc_tensor *x, int64_t first, int64_t rows)
{
    char *data = x->data;
    return hc_tensor2(x->format, rows, CHANNELS,
                      data + first * CHANNELS * hc_formats[x->format].bytes);
}

static struct hc_tensor row_of(const struct hc_tensor *t, int64_t row)
{
    return hc_tensor1(t->format, CHANNELS, rows_of(t, row, 1).data);
}

/* The statistics of whole's rows, of which each rank has its share; those of a rank without rows
   are NaN. */
static struct hc_call combined(const struct hc_call *whole, int ranks, const int32_t *share)
{
    const struct hc_tensor *x = &whole->in[HC_BN_X];
    enum hc_format wide = x->format == HC_FP64 ? HC_FP64 : HC_FP32;
    struct hc_tensor means = made(hc_tensor2(wide, ranks, CHANNELS, NULL));
    struct hc_tensor variances = made(means);
    struct hc_tensor counts = made(hc_tensor1(HC_I32, ranks, NULL));
    int64_t first = 0;
    for (int r = 0; r < ranks; r++) {
        struct hc_call moments = {.op = HC_OP_bn_moments,
                                  .in = {rows_of(x, first, share[r])},
                                  .out = {row_of(&means, r), row_of(&variances, r)}};
        hc_tensor_set(&counts, r, share[r]);
        first += share[r];
        if (share[r] > 0)
            call_exact(&moments);
        for (int64_t c = 0; c < CHANNELS && share[r] == 0; c++) {
            hc_tensor_set(&moments.out[HC_BN_MOMENTS_MEAN], c, (double)NAN);
            hc_tensor_set(&moments.out[HC_BN_MOMENTS_VARIANCE], c, (double)NAN);
        }
    }
    struct hc_call call = {
        .op = HC_OP_bn_combine,
        .in = {means, variances, counts, whole->in[HC_BN_MEAN], whole->in[HC_BN_VARIANCE]},
        .params.bn = whole->params.bn};
    for (int o = 0; o < hc_ops[HC_OP_bn_combine].outputs; o++)
        call.out[o] = made(by_channel(wide));
    call_exact(&call);
    return call;
}

static void assert_near(const struct hc_call *call, int out, int64_t i, double got)
{
    struct hc_exact want = hc_reference_value(call, out, i);
    cr_assert(fabs(got - want.hi) <= 0x1p-44 * fmax(fabs(want.hi), 0x1p-6),
              "%s out%d[%lld]: want %.17g, got %.17g", hc_ops[call->op].name, out, (long long)i,
              want.hi, got);
}

Test(norm_ranks, ranks_of_any_size_come_to_the_statistics_of_the_whole_batch)
{
    struct hc_call whole = whole_of(HC_FP64, ROWS);
    struct hc_call parts = combined(&whole, RANKS, shares);
    static const int same_as[][2] = {{HC_BN_COMBINE_SAVED_MEAN, HC_BN_SAVED_MEAN},
                                     {HC_BN_COMBINE_SAVED_INVSTD, HC_BN_SAVED_INVSTD},
                                     {HC_BN_COMBINE_NEW_MEAN, HC_BN_NEW_MEAN},
                                     {HC_BN_COMBINE_NEW_VARIANCE, HC_BN_NEW_VARIANCE}};
    for (int s = 0; s < 4; s++)
        for (int64_t c = 0; c < CHANNELS; c++)
            assert_near(&whole, same_as[s][1], c, hc_tensor_get(&parts.out[same_as[s][0]], c));
}

/* A share of 1 is exact, so nothing is rounded that batch norm does not round. */
Test(norm_ranks, one_rank_alone_has_the_bits_of_batch_norm)
{
    const int32_t all = ROWS;
    for (int f = HC_FP64; f <= HC_FP16; f++) {
        if (f == HC_TF32)
            continue;
        struct hc_call whole = whole_of((enum hc_format)f, ROWS);
        struct hc_call parts = combined(&whole, 1, &all);
        struct hc_call apply = {.op = HC_OP_bn_infer,
                                .in = {whole.in[HC_BN_X], whole.in[HC_BN_GAMMA],
                                       whole.in[HC_BN_BETA], parts.out[HC_BN_COMBINE_SAVED_MEAN],
                                       parts.out[HC_BN_COMBINE_SAVED_VARIANCE]},
                                .out = {made(whole.out[HC_BN_Y])},
                                .params.bn = whole.params.bn};
        call_exact(&whole);
        call_exact(&apply);
        cr_assert_arr_eq(apply.out[HC_BN_Y].data, whole.out[HC_BN_Y].data,
                         hc_tensor_bytes(&whole.out[HC_BN_Y]));
        cr_assert_arr_eq(parts.out[HC_BN_COMBINE_SAVED_INVSTD].data,
                         whole.out[HC_BN_SAVED_INVSTD].data,
                         hc_tensor_bytes(&whole.out[HC_BN_SAVED_INVSTD]));
        cr_assert_arr_eq(parts.out[HC_BN_COMBINE_NEW_MEAN].data, whole.out[HC_BN_NEW_MEAN].data,
                         hc_tensor_bytes(&whole.out[HC_BN_NEW_MEAN]));
    }
}

/* bn_bwd on the whole, and each rank's dx from the sums of all. */
Test(norm_ranks, the_sums_of_all_ranks_come_to_the_gradient_of_the_whole_batch)
{
    struct hc_tensor channels = by_channel(HC_FP64);
    struct hc_tensor x = drawn(hc_tensor2(HC_FP64, ROWS, CHANNELS, NULL), 1, 1);
    struct hc_call whole = {.op = HC_OP_bn_bwd,
                            .in = {x, drawn(x, 2, 0.5), drawn(channels, 3, 2),
                                   drawn(channels, 4, 1), drawn(channels, 5, 4)},
                            .out = {made(x), made(channels), made(channels)}};
    struct hc_tensor sum[2] = {made(channels), made(channels)};
    int64_t first = 0;
    for (int r = 0; r < RANKS; first += shares[r++]) {
        struct hc_call sums = {.op = HC_OP_bn_bwd_sums,
                               .in = {rows_of(&x, first, shares[r]),
                                      rows_of(&whole.in[HC_BN_BWD_DY], first, shares[r]),
                                      whole.in[HC_BN_BWD_MEAN], whole.in[HC_BN_BWD_INVSTD]},
                               .out = {made(channels), made(channels)}};
        if (shares[r] == 0)
            continue;
        call_exact(&sums);
        for (int64_t c = 0; c < 2 * CHANNELS; c++)
            hc_tensor_set(&sum[c / CHANNELS], c % CHANNELS,
                          hc_tensor_get(&sum[c / CHANNELS], c % CHANNELS) +
                              hc_tensor_get(&sums.out[c / CHANNELS], c % CHANNELS));
    }
    for (int64_t c = 0; c < CHANNELS; c++) {
        assert_near(&whole, HC_BN_BWD_DGAMMA, c, hc_tensor_get(&sum[HC_BN_BWD_SUMS_DGAMMA], c));
        assert_near(&whole, HC_BN_BWD_DBETA, c, hc_tensor_get(&sum[HC_BN_BWD_SUMS_DBETA], c));
        hc_tensor_set(&sum[0], c, hc_tensor_get(&sum[0], c) / ROWS);
        hc_tensor_set(&sum[1], c, hc_tensor_get(&sum[1], c) / ROWS);
    }
    struct hc_call apply = {.op = HC_OP_bn_bwd_apply,
                            .in = {x, whole.in[HC_BN_BWD_DY], whole.in[HC_BN_BWD_GAMMA],
                                   whole.in[HC_BN_BWD_MEAN], whole.in[HC_BN_BWD_INVSTD],
                                   sum[HC_BN_BWD_SUMS_DGAMMA], sum[HC_BN_BWD_SUMS_DBETA]},
                            .out = {made(x)}};
    call_exact(&apply);
    for (int64_t i = 0; i < ROWS * CHANNELS; i++)
        assert_near(&whole, HC_BN_BWD_DX, i, hc_tensor_get(&apply.out[HC_BN_BWD_APPLY_DX], i));
}

Test(norm_ranks, statistics_over_no_elements_are_sums_over_nothing)
{
    static const int32_t none[2] = {0, 0};
    struct hc_call whole = whole_of(HC_FP32, 1);
    struct hc_call parts = combined(&whole, 2, none);
    for (int64_t c = 0; c < CHANNELS; c++) {
        cr_assert_eq(hc_tensor_get(&parts.out[HC_BN_COMBINE_SAVED_MEAN], c), 0);
        cr_assert_eq(hc_tensor_get(&parts.out[HC_BN_COMBINE_SAVED_VARIANCE], c), 0);
        for (int o = 0; o < 5; o++)
            cr_assert(same(HC_FP32, wanted(&parts, o, c), hc_tensor_bits(&parts.out[o], c)) ||
                          o >= HC_BN_COMBINE_SAVED_INVSTD,
                      "out%d", o);
    }
}

Test(norm_ranks, no_ranks_and_counts_of_another_number_of_ranks_are_refused)
{
    static const int32_t one = 3;
    struct hc_call whole = whole_of(HC_FP32, 3);
    struct hc_call call = combined(&whole, 1, &one);
    call.in[HC_BN_COMBINE_COUNTS].shape[0] = 2;
    cr_assert_eq(hc_call_check(&call), HC_INVALID);
    cr_assert_str_eq(hc_message(), "bn_combine: counts has shape [2], not [1]");
    call.in[HC_BN_COMBINE_COUNTS].shape[0] = 0;
    call.in[HC_BN_COMBINE_MEANS].shape[0] = call.in[HC_BN_COMBINE_VARIANCES].shape[0] = 0;
    cr_assert_eq(hc_call_check(&call), HC_INVALID);
    cr_assert_str_eq(hc_message(), "bn_combine: no ranks");
}
