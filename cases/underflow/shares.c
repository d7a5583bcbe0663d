/* The share of gradients that half loses, against the loss scale. */
#include "cases/scaling.h"
#include "cases/trail.h"

#include <math.h>
#include <string.h>

/* log2 |g| is normal with this mean and deviation: 23 % lie below 2^-25, as much spread over the
   exponents as the histograms of Micikevicius et al. show. */
enum { COUNT = 65536, MEAN = -22, DEVIATION = 4 };

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
        hc_trail_note(trail, i, HC_FP16, hc_round(HC_FP16, scale * hc_tensor_get(g, i)), got);
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
    static const char bar[] = "##################################################";
    int64_t bins[16] = {0};
    for (int64_t i = 0; i < COUNT; i++) {
        int exponent = ilogb(hc_tensor_get(g, i));
        int bin = (exponent + 40) / 2;
        bins[bin < 0 ? 0 : bin > 15 ? 15 : bin]++;
    }
    hc_say(check, "exponents of the gradients (lost without a scale: up to 2^-25)");
    for (int b = 0; b < 16; b++)
        hc_say(check, "2^%3d  %5.2f %%  %.*s", 2 * b - 40, 100.0 * (double)bins[b] / COUNT,
               (int)(bins[b] * 200 / COUNT), bar);
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

static const struct hc_case cases[] = {
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
