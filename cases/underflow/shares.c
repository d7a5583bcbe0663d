/* The share of gradients that half loses, against the loss scale. */
#include "cases/fixture/scaling.h"

#include <math.h>

enum { COUNT = 16384 };

/* log2 |g| is normal with this mean and deviation, so that the share `p` lies below 2^cut. */
struct spread {
    double mean;
    double deviation;
    double cut;
    double p;
};

/* As wide as the histograms of Micikevicius et al.: one in between, with 23 % of zeros in half; one
   like their speech model's weight gradients (5 % below 2^-24); one like the activation gradients
   of their SSD detector (67 % zeros). */
static const struct spread between = {-22, 4, -25, 0.2266};
static const struct spread speech = {-17.4206, 4, -24, 0.05};
static const struct spread ssd = {-26.7597, 4, -25, 0.67};

/* P(log2 |g| <= x), by the normal distribution. */
static double below(const struct spread *g, double x)
{
    return erfc((g->mean - x) / g->deviation / sqrt(2)) / 2;
}

/* A count of COUNT draws of probability p stays within 6 standard deviations except once in 5e8,
   and within 6 more draws where it is Poisson distributed. */
static void claim_share(struct hc_check *check, const char *what, double p, int64_t got)
{
    hc_claim_within(check, what, COUNT * p, (double)got, 6 * sqrt(COUNT * p * (1 - p)) + 6);
}

static void draw(struct hc_check *check, struct hc_picture *picture, double scale,
                 const struct hc_stored *s)
{
    hc_point(check, picture, "zero", scale, 100.0 * (double)s->zero / COUNT);
    hc_point(check, picture, "subnormal", scale, 100.0 * (double)s->subnormal / COUNT);
    hc_point(check, picture, "infinite", scale, 100.0 * (double)s->infinite / COUNT);
}

/* The last scale is the largest without an overflow, which a dynamic scale would reach. It depends
   on the largest gradient alone, so the count of zeros is practically independent of it. */
static void by_scale(struct hc_check *check)
{
    enum { SCALES = 6 };
    const struct spread *spread = hc_check_case(check)->data;
    struct hc_tensor g = hc_log_normal(check, COUNT, spread->mean, spread->deviation);
    const double dynamic = hc_largest_scale(&g);
    const double scales[SCALES] = {1, 8, 128, 512, 65536, dynamic};
    struct hc_picture *shares = hc_shares_picture(check, dynamic);
    struct hc_picture *exponents = hc_exponents_picture(check);
    struct hc_tensor half = hc_check_vector(check, HC_FP16, COUNT);
    struct hc_comparisons tally = {0};
    int64_t before = COUNT + 1;
    int64_t small = 0;
    for (int64_t i = 0; i < COUNT; i++)
        small += fabs(hc_tensor_get(&g, i)) < exp2(spread->cut);
    hc_exponents_say(check, &g);
    claim_share(check, "gradients as small as the source has them", spread->p, small);
    hc_exponents_draw(check, exponents, "as they are", &g, 1);
    hc_exponents_draw(check, exponents, "times the dynamic scale", &g, dynamic);
    for (int e = 0; e <= (int)log2(dynamic); e++)
        hc_point(check, shares, "real share of zeros", exp2(e), 100 * below(spread, -25 - e));
    hc_say(check, "scale    zeros       subnormal   infinite");
    for (int i = 0; i < SCALES; i++) {
        double log2_scale = log2(scales[i]);
        if (hc_scale_into(check, &g, scales[i], &half) != HC_OK)
            return;
        struct hc_stored s = hc_stored_count(&g, scales[i], &half, &tally);
        hc_say(check, "2^%-5g %8.4f %%  %8.4f %%  %8.4f %%", log2(scales[i]),
               100.0 * (double)s.zero / COUNT, 100.0 * (double)s.subnormal / COUNT,
               100.0 * (double)s.infinite / COUNT);
        draw(check, shares, scales[i], &s);
        claim_share(check, "zeros", below(spread, -25 - log2_scale), s.zero);
        if (i < SCALES - 1) {
            claim_share(check, "infinite", 1 - below(spread, log2(65520) - log2_scale), s.infinite);
            hc_claim_true(check, "a larger scale loses fewer", s.zero < before || before == 0);
        } else {
            hc_claim_value(check, "dynamic: infinite", 0, (double)s.infinite);
        }
        before = s.zero;
    }
    hc_claim_comparisons(check, &tally);
}

/* The scale's next value by the op scaler_update, in place. */
static enum hc_status update(struct hc_check *check, const struct hc_scaler *scaler, float *scale,
                             int32_t counts[HC_COUNTS], bool found)
{
    float flag = found ? 1 : 0;
    struct hc_call call = {.op = HC_OP_scaler_update, .params.scaler = hc_scaler_params(scaler)};
    call.in[HC_SCALER_SCALE] = call.out[HC_SCALER_NEW_SCALE] = hc_tensor1(HC_FP32, 1, scale);
    call.in[HC_SCALER_COUNTS] = call.out[HC_SCALER_NEW_COUNTS] =
        hc_tensor1(HC_I32, HC_COUNTS, counts);
    call.in[HC_SCALER_FOUND_INF] = hc_tensor1(HC_FP32, 1, &flag);
    return hc_do(check, &call);
}

/* GradScaler's rule, from a scale of 1 and growing after 3 clean steps instead of 2000, on constant
   gradients. It climbs to the largest scale without an overflow, and from then on tries the next
   one every 4 steps and comes back. */
static void dynamic(struct hc_check *check)
{
    const struct hc_scaler rule = {.rule = HC_SCALER_TORCH, .interval = 3};
    int32_t counts[HC_COUNTS] = {0};
    float now = 1;
    struct hc_tensor g = hc_log_normal(check, COUNT, between.mean, between.deviation);
    struct hc_tensor half = hc_check_vector(check, HC_FP16, COUNT);
    struct hc_tensor single = hc_check_vector(check, HC_FP32, COUNT);
    struct hc_comparisons tally = {0};
    struct hc_stored last = {0};
    double settled = hc_largest_scale(&g);
    double highest = 0;
    int steps = 3 * (int)log2(settled) + 3 + 4 * 3;
    int skipped = 0;
    for (int step = 1; step <= steps; step++) {
        double scale = (double)now;
        bool found;
        if (hc_scale_into(check, &g, scale, &half) != HC_OK ||
            hc_unscale_into(check, &half, scale, true, &single, &found) != HC_OK)
            return;
        struct hc_stored s = hc_stored_count(&g, scale, &half, &tally);
        hc_claim_true(check, "found just when the scale is too large", found == (scale > settled));
        if (update(check, &rule, &now, counts, found) != HC_OK)
            return;
        if ((double)now != scale && (step <= 3 || step % 9 == 0 || scale >= settled))
            hc_say(check, "step %2d: scale 2^%-2.0f zeros %7.4f %%, infinite %lld%s", step,
                   log2(scale), 100.0 * (double)s.zero / COUNT, (long long)s.infinite,
                   found ? ", skipped" : "");
        highest = fmax(highest, scale);
        skipped += found;
        last = found ? last : s;
    }
    hc_claim_comparisons(check, &tally);
    hc_claim_value(check, "the highest scale tried", 2 * settled, highest);
    hc_claim_value(check, "steps skipped", 3, skipped);
    claim_share(check, "zeros in the end", below(&between, -25 - log2(settled)), last.zero);
    hc_claim_true(check, "512 would lose more",
                  (double)last.zero < COUNT * below(&between, -34) / 2);
}

static const char micikevicius[] =
    "Micikevicius et al., Mixed precision training, ICLR 2018, arXiv 1710.03740, figures 2 and 3";

static const struct hc_case cases[] = {
    {.name = "underflow/dynamic-scale-settles",
     .title = "a dynamic scale climbs to the largest power of two without an overflow and "
              "stays there",
     .source = "pytorch 2.15.0 torch/amp/grad_scaler.py; vxlabs.com 2019, 'Improving fastai's "
               "mixed precision support with NVIDIA's Automatic Mixed Precision': 'the scaling "
               "factor is continuously adapted to squeeze the most out of the available precision'",
     .run = dynamic},
    {.name = "underflow/share-lost-by-scale-speech",
     .title = "5 % of the gradients below 2^-24, as in a speech model: the zeros at each "
              "scale are what the distribution says",
     .source = micikevicius,
     .run = by_scale,
     .data = &speech},
    {.name = "underflow/share-lost-by-scale-ssd",
     .title = "67 % of the gradients are zeros in half, as in an SSD detector: what a scale brings "
              "back is what the distribution says",
     .source = micikevicius,
     .run = by_scale,
     .data = &ssd},
    {.name = "underflow/share-lost-by-scale",
     .title =
         "log-normal gradients: the share that half loses at scales 1, 8, 128, 512 and 2^16 is "
         "what the distribution says",
     .source = micikevicius,
     .run = by_scale,
     .data = &between},
};

HC_CASES(underflow_shares, cases);
