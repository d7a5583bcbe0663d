#include "cases/scaling.h"

#include <math.h>

enum hc_status hc_scale_into(struct hc_check *check, const struct hc_tensor *gradients,
                             double scale, const struct hc_tensor *out)
{
    float s = (float)scale;
    struct hc_call call = {.op = HC_OP_scale, .in = {*gradients, hc_tensor1(HC_FP32, 1, &s)}};
    call.out[0] = *out;
    return hc_do(check, &call);
}

enum hc_status hc_unscale_into(struct hc_check *check, const struct hc_tensor *scaled, double scale,
                               bool reciprocal, const struct hc_tensor *out, bool *found)
{
    float s = (float)scale;
    float seen = 0;
    struct hc_call call = {.op = HC_OP_unscale, .params.unscale.reciprocal = reciprocal};
    call.in[0] = *scaled;
    call.in[1] = hc_tensor1(HC_FP32, 1, &s);
    call.in[2] = hc_tensor1(HC_FP32, 1, &seen);
    call.out[0] = *out;
    call.out[1] = call.in[2];
    enum hc_status status = hc_do(check, &call);
    *found = seen != 0;
    return status;
}

struct hc_tensor hc_log_normal(struct hc_check *check, int64_t n, double mean, double deviation)
{
    struct hc_tensor t = hc_check_vector(check, HC_FP32, n);
    uint64_t seed = hc_check_seed(check);
    for (int64_t i = 0; i < n; i++) {
        double g = exp2(mean + deviation * hc_random_normal(seed, 1, (uint64_t)i));
        hc_tensor_set(&t, i, hc_random(seed, 2, (uint64_t)i) & 1 ? -g : g);
    }
    return t;
}

struct hc_stored hc_stored_count(const struct hc_tensor *g, double scale,
                                 const struct hc_tensor *half, struct hc_running_tally *tally)
{
    struct hc_stored s = {0};
    for (int64_t i = 0; i < hc_tensor_count(g); i++) {
        double got = hc_tensor_get(half, i);
        s.zero += got == 0;
        s.subnormal += got != 0 && fabs(got) < ldexp(1, -14);
        s.infinite += isinf(got);
        hc_running_tally_note(tally, i, hc_round(HC_FP16, scale * hc_tensor_get(g, i)), got);
    }
    return s;
}

double hc_largest_scale(const struct hc_tensor *g)
{
    double largest = 0;
    for (int64_t i = 0; i < hc_tensor_count(g); i++)
        largest = fmax(largest, fabs(hc_tensor_get(g, i)));
    return exp2(ceil(log2(65520 / largest)) - 1);
}

enum { BINS = 44, LOWEST = -70 };

/* Counts by exponent, in bins of two; what lies outside goes into the outer ones. */
static void count_exponents(const struct hc_tensor *g, double scale, int64_t bins[BINS])
{
    for (int64_t i = 0; i < hc_tensor_count(g); i++) {
        double value = fabs(scale * hc_tensor_get(g, i));
        int bin = value > 0 ? (ilogb(value) - LOWEST) / 2 : 0;
        bins[bin < 0 ? 0 : bin >= BINS ? BINS - 1 : bin]++;
    }
}

void hc_exponents_say(struct hc_check *check, const struct hc_tensor *g)
{
    static const char bar[] = "##################################################";
    int64_t bins[BINS] = {0};
    int64_t n = hc_tensor_count(g);
    count_exponents(g, 1, bins);
    hc_say(check, "exponents of the gradients (lost without a scale: up to 2^-25)");
    for (int b = 0; b < BINS; b++)
        if (bins[b])
            hc_say(check, "2^%3d  %6.2f %%  %.*s", 2 * b + LOWEST,
                   100 * (double)bins[b] / (double)n, (int)(bins[b] * 100 / n), bar);
}

struct hc_picture *hc_shares_picture(struct hc_check *check, double dynamic)
{
    const struct hc_frame frame = {.title = "What half makes of the gradients, by loss scale",
                                   .x = "loss scale",
                                   .y = "% of the gradients",
                                   .log_x = true,
                                   .marks = {{dynamic, "dynamic"}, {512, "static 512"}}};
    return hc_picture_new(check, &frame);
}

struct hc_picture *hc_exponents_picture(struct hc_check *check)
{
    static const struct hc_frame frame = {
        .title = "The gradients' exponents, and the range of half",
        .x = "log2 |g|, in bins of 2",
        .y = "% of the gradients",
        .bars = true,
        .marks = {{-25, "zero"}, {-14, "subnormal"}, {16, "finite"}}};
    return hc_picture_new(check, &frame);
}

void hc_exponents_draw(struct hc_check *check, struct hc_picture *picture, const char *series,
                       const struct hc_tensor *g, double scale)
{
    int64_t bins[BINS] = {0};
    count_exponents(g, scale, bins);
    for (int b = 0; b < BINS; b++)
        if (bins[b] || (b > 0 && bins[b - 1]) || (b + 1 < BINS && bins[b + 1]))
            hc_point(check, picture, series, 2 * b + LOWEST + 1,
                     100 * (double)bins[b] / (double)hc_tensor_count(g));
}
