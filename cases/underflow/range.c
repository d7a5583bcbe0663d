/* Which gradients vanish in half: by range, in gradients that were captured, by shares. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "cases/fixture/scalar.h"
#include "cases/fixture/scaling.h"
#include "cases/fixture/training/tiny_training.h"

/* Which gradients get through half precision at a loss scale. */

/* The gradient that the optimizer gets after an fp32 gradient was scaled, stored in half and
   unscaled. */
static bool through(struct hc_check *check, double g, double scale, double *kept)
{
    struct hc_tensor gradient = hc_check_vector(check, HC_FP32, 1);
    struct hc_tensor half = hc_check_vector(check, HC_FP16, 1);
    struct hc_tensor master = hc_check_vector(check, HC_FP32, 1);
    bool found;
    hc_tensor_set(&gradient, 0, g);
    if (hc_scale_into(check, &gradient, scale, &half) != HC_OK ||
        hc_unscale_into(check, &half, scale, false, &master, &found) != HC_OK)
        return false;
    *kept = hc_tensor_get(&master, 0);
    hc_say(check, "g = %-12.7g S = %-4g half(S g) = %-12.7g unscaled %.7g",
           hc_tensor_get(&gradient, 0), scale, hc_tensor_get(&half, 0), *kept);
    return true;
}

/* Buggy arm: scale 1. Fixed arm: scale 512, which loses only the rounding of half(S g), a subnormal
   number: 2^-25 / 512. */
static void lost(struct hc_check *check)
{
    const double at = ldexp(1, -25);
    const double above = (double)nextafterf((float)at, 1);
    static const char *const small[] = {"2e-8", "1e-9"};
    double kept;
    if (!through(check, at, 1, &kept))
        return;
    hc_claim_value(check, "2^-25 at scale 1", 0, kept);
    if (!through(check, above, 1, &kept))
        return;
    hc_claim_value(check, "the next number above at scale 1", ldexp(1, -24), kept);
    for (int i = 0; i < 2; i++) {
        double g = strtod(small[i], NULL);
        if (!through(check, g, 1, &kept))
            return;
        hc_claim_value(check, "at scale 1", 0, kept);
        if (!through(check, g, 512, &kept))
            return;
        hc_claim_true(check, "at scale 512 it is not lost", kept > 0);
        hc_claim_within(check, "at scale 512", g, kept, ldexp(1, -34));
    }
}

/* Half keeps 2^-25 < |S g| < 65520, so 512 keeps 2^-34 < |g| < 127.96875. The neighbours of both
   ends in fp32, against those exact numbers and against the claim's digits. */
static void static_512(struct hc_check *check)
{
    const float low = 0x1p-34f;
    const float high = 127.96875f;
    const float g[4] = {low, nextafterf(low, 1), nextafterf(high, 0), high};
    const double want[4] = {0, ldexp(1, -24), 65504, (double)INFINITY};
    struct hc_tensor gradient = hc_check_vector(check, HC_FP32, 4);
    struct hc_tensor half = hc_check_vector(check, HC_FP16, 4);
    for (int i = 0; i < 4; i++)
        hc_tensor_set(&gradient, i, (double)g[i]);
    if (hc_scale_into(check, &gradient, 512, &half) != HC_OK)
        return;
    for (int i = 0; i < 4; i++) {
        char what[48];
        (void)snprintf(what, sizeof what, "half(512 g), g = %.10g", (double)g[i]);
        hc_claim_value(check, what, want[i], hc_tensor_get(&half, i));
    }
    hc_claim_within(check, "lost up to, as claimed", 5.8e-11, (double)low, 0.05e-11);
    hc_claim_within(check, "infinite from, as claimed", 127.97, (double)high, 0.005);
}

/* Scale 8 moves the smallest half, 2^-24, down to 2^-27: every gradient from there on is kept, and
   the next smaller power of two, 2^-28, is lost. Without a scale those in [2^-27, 2^-25] are
   zeros. */
static void scale_8(struct hc_check *check)
{
    enum { COUNT = 4096 };
    struct hc_tensor gradient = hc_check_vector(check, HC_FP32, COUNT);
    struct hc_tensor plain = hc_check_vector(check, HC_FP16, COUNT);
    struct hc_tensor scaled = hc_check_vector(check, HC_FP16, COUNT);
    for (int i = 0; i < COUNT; i++) {
        double at = hc_random_uniform(hc_check_seed(check), 3, (uint64_t)i);
        hc_tensor_set(&gradient, i, i == 0 ? ldexp(1, -28) : exp2(-27 + 3 * at));
    }
    hc_tensor_set(&gradient, 1, ldexp(1, -27));
    if (hc_scale_into(check, &gradient, 1, &plain) != HC_OK ||
        hc_scale_into(check, &gradient, 8, &scaled) != HC_OK)
        return;
    int zeros = 0;
    struct hc_comparisons kept = {0};
    for (int i = 0; i < COUNT; i++) {
        double g = hc_tensor_get(&gradient, i);
        zeros += hc_tensor_get(&plain, i) == 0;
        hc_running_tally_note(&kept, i, hc_round(HC_FP16, 8 * g), hc_tensor_get(&scaled, i));
        if (i && hc_tensor_get(&scaled, i) == 0)
            hc_claim_true(check, "scale 8 keeps every gradient from 2^-27 on", false);
    }
    hc_say(check, "of %d gradients in [2^-27, 2^-24) %d are 0 without a scale, none at 8",
           COUNT - 1, zeros);
    hc_claim_comparisons(check, &kept);
    hc_claim_value(check, "2^-28 at scale 8", 0, hc_tensor_get(&scaled, 0));
    hc_claim_value(check, "2^-27 at scale 8", ldexp(1, -24), hc_tensor_get(&scaled, 1));
    hc_claim_value(check, "2^-27 without a scale", 0, hc_tensor_get(&plain, 1));
}

/* What half makes of the gradients of a small training. */

/* All gradients of the tiny network that the last step left, as one fp32 vector. */
static struct hc_tensor capture(struct hc_tiny *tiny)
{
    int n = hc_update_parameters(tiny->update);
    int64_t total = 0;
    for (int i = 0; i < n; i++) {
        struct hc_tensor t = hc_update_tensor(tiny->update, HC_STATE_GRADIENT, i);
        total += hc_tensor_count(&t);
    }
    struct hc_tensor all = hc_check_vector(tiny->check, HC_FP32, total);
    unsigned char *to = all.data;
    for (int i = 0; i < n; i++) {
        struct hc_tensor t = hc_update_tensor(tiny->update, HC_STATE_GRADIENT, i);
        if (!hc_check_ok(tiny->check, hc_update_read(tiny->update, HC_STATE_GRADIENT, i, to)))
            tiny->failed = true;
        to += hc_tensor_bytes(&t);
    }
    return all;
}

/* What half would lose of these gradients at each scale. The last scale is the largest without an
   overflow, which a dynamic scale would reach. *lost becomes the number of zeros without a scale.
   False if the backend failed. */
static bool captured_shares(struct hc_check *check, const struct hc_tensor *g, const char *look,
                            struct hc_picture *picture, int64_t *lost)
{
    enum { SCALES = 6 };
    const double scales[SCALES] = {1, 8, 128, 512, 65536, hc_largest_scale(g)};
    struct hc_tensor half = hc_check_vector(check, HC_FP16, hc_tensor_count(g));
    double percent = 100 / (double)hc_tensor_count(g);
    struct hc_comparisons tally = {0};
    struct hc_stored s[SCALES];
    for (int i = 0; i < SCALES; i++) {
        if (hc_scale_into(check, g, scales[i], &half) != HC_OK)
            return false;
        s[i] = hc_stored_count(g, scales[i], &half, &tally);
        hc_say(check, "scale 2^%-2.0f zeros %8.4f %%, subnormal %8.4f %%, infinite %lld%s",
               log2(scales[i]), percent * (double)s[i].zero, percent * (double)s[i].subnormal,
               (long long)s[i].infinite, i == SCALES - 1 ? "  (dynamic)" : "");
        hc_point(check, picture, look, scales[i], percent * (double)s[i].zero);
        if (i > 0 && scales[i] > scales[i - 1])
            hc_claim_true(check, "a larger scale loses no more", s[i].zero <= s[i - 1].zero);
    }
    hc_claim_comparisons(check, &tally);
    hc_claim_value(check, "dynamic: infinite", 0, (double)s[SCALES - 1].infinite);
    hc_claim_value(check, "dynamic: zeros", 0, (double)s[SCALES - 1].zero);
    *lost = s[0].zero;
    return true;
}

/* Gradients of a small training, computed in fp32; it is always the same training. */
static void captured(struct hc_check *check)
{
    static const int looks[] = {1, 10, 40};
    static const char *const names[] = {"step 1", "step 10", "step 40"};
    static const struct hc_frame frame = {.title = "Gradients of a training that are zero in half",
                                          .x = "loss scale",
                                          .y = "% of the gradients",
                                          .log_x = true,
                                          .marks = {{512, "static 512"}}};
    enum { LOOKS = sizeof looks / sizeof looks[0] };
    int64_t lost[LOOKS] = {0};
    int look = 0;
    struct hc_tiny tiny;
    struct hc_picture *shares = hc_picture_new(check, &frame);
    struct hc_picture *exponents = hc_exponents_picture(check);
    hc_tiny_open(&tiny, check, 1);
    hc_tiny_start(&tiny, hc_recipe_by_name("fp32"));
    for (int step = 1; look < LOOKS && !tiny.failed; step++) {
        double loss = hc_tiny_step(&tiny, step, 1e-2);
        if (step != looks[look] || tiny.failed)
            continue;
        struct hc_tensor g = capture(&tiny);
        hc_say(check, "step %d, loss %.4g", step, loss);
        if (tiny.failed)
            break;
        hc_exponents_draw(check, exponents, names[look], &g, 1);
        if (!captured_shares(check, &g, names[look], shares, &lost[look]))
            break;
        look++;
    }
    hc_tiny_close(&tiny);
    if (look == LOOKS)
        hc_claim_true(check, "more is lost at step 40 than at step 1", lost[LOOKS - 1] > lost[0]);
}

/* The share of gradients that half loses, against the loss scale. */

enum { COUNT_SHARES = 16384 };

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
    hc_claim_within(check, what, COUNT_SHARES * p, (double)got,
                    6 * sqrt(COUNT_SHARES * p * (1 - p)) + 6);
}

static void draw(struct hc_check *check, struct hc_picture *picture, double scale,
                 const struct hc_stored *s)
{
    hc_point(check, picture, "zero", scale, 100.0 * (double)s->zero / COUNT_SHARES);
    hc_point(check, picture, "subnormal", scale, 100.0 * (double)s->subnormal / COUNT_SHARES);
    hc_point(check, picture, "infinite", scale, 100.0 * (double)s->infinite / COUNT_SHARES);
}

/* The last scale is the largest without an overflow, which a dynamic scale would reach. It depends
   on the largest gradient alone, so the count of zeros is practically independent of it. */
static void by_scale(struct hc_check *check)
{
    enum { SCALES_SHARES = 6 };
    const struct spread *spread = hc_check_case(check)->data;
    struct hc_tensor g = hc_log_normal(check, COUNT_SHARES, spread->mean, spread->deviation);
    const double dynamic = hc_largest_scale(&g);
    const double scales[SCALES_SHARES] = {1, 8, 128, 512, 65536, dynamic};
    struct hc_picture *shares = hc_shares_picture(check, dynamic);
    struct hc_picture *exponents = hc_exponents_picture(check);
    struct hc_tensor half = hc_check_vector(check, HC_FP16, COUNT_SHARES);
    struct hc_comparisons tally = {0};
    int64_t before = COUNT_SHARES + 1;
    int64_t small = 0;
    for (int64_t i = 0; i < COUNT_SHARES; i++)
        small += fabs(hc_tensor_get(&g, i)) < exp2(spread->cut);
    hc_exponents_say(check, &g);
    claim_share(check, "gradients as small as the source has them", spread->p, small);
    hc_exponents_draw(check, exponents, "as they are", &g, 1);
    hc_exponents_draw(check, exponents, "times the dynamic scale", &g, dynamic);
    for (int e = 0; e <= (int)log2(dynamic); e++)
        hc_point(check, shares, "real share of zeros", exp2(e), 100 * below(spread, -25 - e));
    hc_say(check, "scale    zeros       subnormal   infinite");
    for (int i = 0; i < SCALES_SHARES; i++) {
        double log2_scale = log2(scales[i]);
        if (hc_scale_into(check, &g, scales[i], &half) != HC_OK)
            return;
        struct hc_stored s = hc_stored_count(&g, scales[i], &half, &tally);
        hc_say(check, "2^%-5g %8.4f %%  %8.4f %%  %8.4f %%", log2(scales[i]),
               100.0 * (double)s.zero / COUNT_SHARES, 100.0 * (double)s.subnormal / COUNT_SHARES,
               100.0 * (double)s.infinite / COUNT_SHARES);
        draw(check, shares, scales[i], &s);
        claim_share(check, "zeros", below(spread, -25 - log2_scale), s.zero);
        if (i < SCALES_SHARES - 1) {
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
    struct hc_tensor g = hc_log_normal(check, COUNT_SHARES, between.mean, between.deviation);
    struct hc_tensor half = hc_check_vector(check, HC_FP16, COUNT_SHARES);
    struct hc_tensor single = hc_check_vector(check, HC_FP32, COUNT_SHARES);
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
                   log2(scale), 100.0 * (double)s.zero / COUNT_SHARES, (long long)s.infinite,
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
                  (double)last.zero < COUNT_SHARES * below(&between, -34) / 2);
}

static const char micikevicius[] =
    "Micikevicius et al., Mixed precision training, ICLR 2018, arXiv 1710.03740, figures 2 and 3";

static const struct hc_case cases[] = {
    {"underflow/lost-below-2-to-minus-25",
     "a gradient up to 2^-25 is lost in half; a loss scale of 512 keeps it",
     "fastai/fastai_old @c8285fbc dev_nb/004b_mixed_precision.ipynb: 'Your gradients may be "
     "replaced by 0 because they are too low'",
     .run = lost},
    {"underflow/static-512-range", "a loss scale of 512 keeps gradients between 5.8e-11 and 127.97",
     "fastai/fastai_old @c8285fbc dev_nb/004b_mixed_precision.ipynb: loss_scale:float=512.; "
     "vxlabs.com 2019, 'Improving fastai's mixed precision support with NVIDIA's Automatic Mixed "
     "Precision': 'in some cases won't get you as far as dynamic loss scaling'",
     .run = static_512},
    {"underflow/scale-8-keeps-2-to-minus-27",
     "scale 8 is enough to keep all gradients from 2^-27 on",
     "Micikevicius et al., Mixed precision training, ICLR 2018, arXiv 1710.03740, section 3.2",
     .run = scale_8},
    {"underflow/share-of-captured-gradients",
     "gradients of a small training: the share that half loses falls with the scale, and rises as "
     "the training learns",
     "Micikevicius et al., Mixed precision training, ICLR 2018, arXiv 1710.03740, figure 3",
     .level = HC_STANDARD, .run = captured},
    {"underflow/dynamic-scale-settles",
     "a dynamic scale climbs to the largest power of two without an overflow and stays there",
     "pytorch 2.15.0 torch/amp/grad_scaler.py; vxlabs.com 2019, 'Improving fastai's mixed "
     "precision support with NVIDIA's Automatic Mixed Precision': 'the scaling factor is "
     "continuously adapted to squeeze the most out of the available precision'",
     .run = dynamic},
    {"underflow/share-lost-by-scale-speech",
     "5 % of the gradients below 2^-24, as in a speech model: the zeros at each scale are what the "
     "distribution says",
     micikevicius, .run = by_scale, .data = &speech},
    {"underflow/share-lost-by-scale-ssd",
     "67 % of the gradients are zeros in half, as in an SSD detector: what a scale brings back is "
     "what the distribution says",
     micikevicius, .run = by_scale, .data = &ssd},
    {"underflow/share-lost-by-scale",
     "log-normal gradients: the share that half loses at scales 1, 8, 128, 512 and 2^16 is what "
     "the distribution says",
     micikevicius, .run = by_scale, .data = &between},
};

HC_CASES(underflow_range, cases);
