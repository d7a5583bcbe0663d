/* The share of gradients that half loses, against the loss scale. */
#include "cases/scaling.h"
#include "cases/toy.h"
#include "cases/trail.h"

#include <math.h>

/* log2 |g| is normal with this mean and deviation: 23 % lie below 2^-25, as much spread over the
   exponents as the histograms of Micikevicius et al. show. */
enum { COUNT = 16384, MEAN = -22, DEVIATION = 4 };

struct shares {
    int64_t zero;
    int64_t subnormal;
    int64_t infinite;
};

/* Counts what became of the gradients, and holds each against half(S g): S g is exact in fp64. */
static struct shares count(const struct hc_tensor *g, double scale, const struct hc_tensor *half,
                           struct hc_trail *trail)
{
    struct shares s = {0};
    for (int64_t i = 0; i < hc_tensor_count(g); i++) {
        double got = hc_tensor_get(half, i);
        s.zero += got == 0;
        s.subnormal += got != 0 && fabs(got) < ldexp(1, -14);
        s.infinite += isinf(got);
        hc_trail_note(trail, i, hc_round(HC_FP16, scale * hc_tensor_get(g, i)), got);
    }
    return s;
}

/* P(log2 |g| <= x), by the normal distribution. */
static double below(double x)
{
    return erfc((MEAN - x) / DEVIATION / sqrt(2)) / 2;
}

/* A count of COUNT draws of probability p stays within 6 standard deviations but once in 5e8, and
   within 6 more draws where it is Poisson. */
static void claim_share(struct hc_check *check, const char *what, double p, int64_t got)
{
    hc_claim_within(check, what, COUNT * p, (double)got, 6 * sqrt(COUNT * p * (1 - p)) + 6);
}

static void histogram(struct hc_check *check, const struct hc_tensor *g)
{
    enum { BINS = 24, LOWEST = -42 };
    static const char bar[] = "##################################################";
    int64_t bins[BINS] = {0};
    int64_t n = hc_tensor_count(g);
    for (int64_t i = 0; i < n; i++) {
        double value = fabs(hc_tensor_get(g, i));
        int bin = value > 0 ? (ilogb(value) - LOWEST) / 2 : 0;
        bins[bin < 0 ? 0 : bin >= BINS ? BINS - 1 : bin]++;
    }
    hc_say(check, "exponents of the gradients (lost without a scale: up to 2^-25)");
    for (int b = 0; b < BINS; b++)
        if (bins[b])
            hc_say(check, "2^%3d  %6.2f %%  %.*s", 2 * b + LOWEST,
                   100 * (double)bins[b] / (double)n, (int)(bins[b] * 100 / n), bar);
}

static void by_scale(struct hc_check *check)
{
    static const double scales[] = {1, 8, 128, 512, 65536};
    struct hc_tensor g = hc_log_normal(check, COUNT, MEAN, DEVIATION);
    struct hc_tensor half = hc_check_vector(check, HC_FP16, COUNT);
    struct hc_trail trail = {0};
    int64_t before = COUNT + 1;
    histogram(check, &g);
    hc_say(check, "scale   zeros       subnormal   infinite");
    for (size_t i = 0; i < sizeof scales / sizeof scales[0]; i++) {
        double log2_scale = log2(scales[i]);
        if (hc_scale_into(check, &g, scales[i], &half) != HC_OK)
            return;
        struct shares s = count(&g, scales[i], &half, &trail);
        hc_say(check, "%-7g %8.4f %%  %8.4f %%  %8.4f %%", scales[i],
               100.0 * (double)s.zero / COUNT, 100.0 * (double)s.subnormal / COUNT,
               100.0 * (double)s.infinite / COUNT);
        claim_share(check, "zeros", below(-25 - log2_scale), s.zero);
        claim_share(check, "infinite", 1 - below(log2(65520) - log2_scale), s.infinite);
        hc_claim_true(check, "a larger scale loses fewer", s.zero < before);
        before = s.zero;
    }
    hc_trail_claim(check, &trail);
}

/* The largest power of two at which no gradient overflows: S max |g| < 65520, exact in fp64. */
static double largest_scale(const struct hc_tensor *g)
{
    double largest = 0;
    for (int64_t i = 0; i < hc_tensor_count(g); i++)
        largest = fmax(largest, fabs(hc_tensor_get(g, i)));
    return exp2(ceil(log2(65520 / largest)) - 1);
}

/* GradScaler's rule, from 1 on and growing after 3 clean steps instead of 2000, on gradients that
   stay as they are: it climbs to the largest scale at which none overflows, and from then on tries
   the next one every 4 steps and comes back. */
static void dynamic(struct hc_check *check)
{
    const struct hc_scaler rule = {HC_SCALER_TORCH, 1, 2, 0.5F, 3};
    struct hc_scaler_state state = hc_scaler_start(&rule);
    struct hc_tensor g = hc_log_normal(check, COUNT, MEAN, DEVIATION);
    struct hc_tensor half = hc_check_vector(check, HC_FP16, COUNT);
    struct hc_tensor single = hc_check_vector(check, HC_FP32, COUNT);
    struct hc_trail trail = {0};
    struct shares last = {0};
    double settled = largest_scale(&g);
    double highest = 0;
    int steps = 3 * (int)log2(settled) + 3 + 4 * 3;
    int skipped = 0;
    for (int step = 1; step <= steps; step++) {
        double scale = (double)state.scale;
        bool found;
        if (hc_scale_into(check, &g, scale, &half) != HC_OK ||
            hc_unscale_into(check, &half, scale, true, &single, &found) != HC_OK)
            return;
        struct shares s = count(&g, scale, &half, &trail);
        hc_claim_true(check, "found just when the scale is too large", found == (scale > settled));
        hc_scalers[HC_SCALER_TORCH].update(&rule, &state, found);
        if ((double)state.scale != scale)
            hc_say(check, "step %2d: scale 2^%-2.0f zeros %7.4f %%, infinite %lld%s", step,
                   log2(scale), 100.0 * (double)s.zero / COUNT, (long long)s.infinite,
                   found ? ", skipped" : "");
        highest = fmax(highest, scale);
        skipped += found;
        last = found ? last : s;
    }
    hc_trail_claim(check, &trail);
    hc_claim_value(check, "the highest scale tried", 2 * settled, highest);
    hc_claim_value(check, "steps skipped", 3, skipped);
    claim_share(check, "zeros in the end", below(-25 - log2(settled)), last.zero);
    hc_claim_true(check, "512 would lose more", (double)last.zero < COUNT * below(-34) / 2);
}

/* All gradients of the toy network's parameters, as the last step left them, as one fp32 vector. */
static struct hc_tensor capture(struct hc_toy *toy)
{
    int n = hc_update_parameters(toy->update);
    int64_t total = 0;
    for (int i = 0; i < n; i++) {
        struct hc_tensor t = hc_update_tensor(toy->update, HC_PIECE_GRADIENT, i);
        total += hc_tensor_count(&t);
    }
    struct hc_tensor all = hc_check_vector(toy->check, HC_FP32, total);
    unsigned char *to = all.data;
    for (int i = 0; i < n; i++) {
        struct hc_tensor t = hc_update_tensor(toy->update, HC_PIECE_GRADIENT, i);
        if (!hc_check_ok(toy->check, hc_update_read(toy->update, HC_PIECE_GRADIENT, i, to)))
            toy->failed = true;
        to += hc_tensor_bytes(&t);
    }
    return all;
}

/* What half would lose of these gradients at each scale, the last one being the largest without an
   overflow, where a dynamic one goes. *lost: zeros without a scale; false when the backend could
   not. */
static bool captured_shares(struct hc_check *check, const struct hc_tensor *g, int64_t *lost)
{
    enum { SCALES = 6 };
    const double scales[SCALES] = {1, 8, 128, 512, 65536, largest_scale(g)};
    struct hc_tensor half = hc_check_vector(check, HC_FP16, hc_tensor_count(g));
    double percent = 100 / (double)hc_tensor_count(g);
    struct hc_trail trail = {0};
    struct shares s[SCALES];
    for (int i = 0; i < SCALES; i++) {
        if (hc_scale_into(check, g, scales[i], &half) != HC_OK)
            return false;
        s[i] = count(g, scales[i], &half, &trail);
        hc_say(check, "scale 2^%-2.0f zeros %8.4f %%, subnormal %8.4f %%, infinite %lld%s",
               log2(scales[i]), percent * (double)s[i].zero, percent * (double)s[i].subnormal,
               (long long)s[i].infinite, i == SCALES - 1 ? "  (dynamic)" : "");
        if (i > 0 && scales[i] > scales[i - 1])
            hc_claim_true(check, "a larger scale loses no more", s[i].zero <= s[i - 1].zero);
    }
    hc_trail_claim(check, &trail);
    hc_claim_value(check, "dynamic: infinite", 0, (double)s[SCALES - 1].infinite);
    hc_claim_value(check, "dynamic: zeros", 0, (double)s[SCALES - 1].zero);
    *lost = s[0].zero;
    return true;
}

/* Gradients of a real, if small, training, computed in fp32; always the same training. */
static void captured(struct hc_check *check)
{
    static const int looks[] = {1, 10, 40};
    enum { LOOKS = sizeof looks / sizeof looks[0] };
    int64_t lost[LOOKS] = {0};
    int look = 0;
    struct hc_toy toy;
    hc_toy_open(&toy, check, 1);
    hc_toy_start(&toy, hc_recipe_by_name("fp32"));
    for (int step = 1; look < LOOKS && !toy.failed; step++) {
        double loss = hc_toy_step(&toy, step, 1e-2);
        if (step != looks[look] || toy.failed)
            continue;
        struct hc_tensor g = capture(&toy);
        hc_say(check, "step %d, loss %.4g", step, loss);
        if (toy.failed)
            break;
        histogram(check, &g);
        if (!captured_shares(check, &g, &lost[look]))
            break;
        look++;
    }
    hc_toy_close(&toy);
    if (look == LOOKS)
        hc_claim_true(check, "more is lost at step 40 than at step 1", lost[LOOKS - 1] > lost[0]);
}

static const struct hc_case cases[] = {
    {.name = "underflow/share-of-captured-gradients",
     .title = "gradients of a small training: the share that half loses falls with the scale, and "
              "rises as the training learns",
     .source = "Micikevicius et al., Mixed precision training, ICLR 2018, arXiv 1710.03740, "
               "figure 3",
     .level = HC_STANDARD,
     .run = captured},
    {.name = "underflow/dynamic-scale-settles",
     .title = "a dynamic scale climbs to the largest power of two without an overflow and "
              "stays there",
     .source = "pytorch torch/amp/grad_scaler.py; seeds/004: 'the scaling factor is continuously "
               "adapted to squeeze the most out of the available precision'",
     .run = dynamic},
    {.name = "underflow/share-lost-by-scale",
     .title =
         "log-normal gradients: the share that half loses at scales 1, 8, 128, 512 and 2^16 is "
         "what the distribution says",
     .source = "Micikevicius et al., Mixed precision training, ICLR 2018, arXiv 1710.03740, "
               "figure 3",
     .run = by_scale},
};

const struct hc_case_table hc_cases_underflow_shares;
const struct hc_case_table hc_cases_underflow_shares = {cases, sizeof cases / sizeof cases[0]};
