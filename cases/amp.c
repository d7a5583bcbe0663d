#include "cases/amp.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static bool run(struct hc_amp *amp, struct hc_call *call)
{
    if (!amp->failed && hc_do(amp->check, call) != HC_OK)
        amp->failed = true;
    return !amp->failed;
}

static struct hc_tensor one(float *value)
{
    return hc_tensor1(HC_FP32, 1, value);
}

void hc_amp_open(struct hc_amp *amp, struct hc_check *check, float scale, int32_t interval)
{
    const struct hc_scaler torch = {.rule = HC_SCALER_TORCH, .interval = interval};
    *amp = (struct hc_amp){.check = check,
                           .lr = 0.125,
                           .scale = scale,
                           .rule = hc_scaler_params(&torch),
                           .guarded = true};
    for (int o = 0; o < HC_AMP_OPTIMIZERS; o++)
        for (int p = 0; p < HC_AMP_PARAMETERS; p++) {
            struct hc_tensor *w = &amp->optimizer[o].w[p];
            *w = hc_check_vector(check, HC_FP32, HC_AMP_ELEMENTS);
            amp->optimizer[o].g[p] = hc_tensor1(HC_FP32, HC_AMP_ELEMENTS, NULL);
            for (int e = 0; e < HC_AMP_ELEMENTS; e++)
                hc_tensor_set(w, e, 1);
        }
}

void hc_amp_backward(struct hc_amp *amp, int o, int p, double g)
{
    struct hc_tensor *grad = &amp->optimizer[o].g[p];
    struct hc_tensor real = hc_check_vector(amp->check, HC_FP32, HC_AMP_ELEMENTS);
    struct hc_tensor half = hc_check_vector(amp->check, HC_FP16, HC_AMP_ELEMENTS);
    struct hc_tensor wide = hc_check_vector(amp->check, HC_FP32, HC_AMP_ELEMENTS);
    for (int e = 0; e < HC_AMP_ELEMENTS; e++)
        hc_tensor_set(&real, e, g);
    struct hc_call scale = {.op = HC_OP_scale, .in = {real, one(&amp->scale)}, .out = {half}};
    struct hc_call cast = {
        .op = HC_OP_cast, .in = {half}, .out = {wide}, .params.cast = {HC_NEAREST}};
    if (!run(amp, &scale) || !run(amp, &cast))
        return;
    if (!grad->data) {
        *grad = wide;
        return;
    }
    struct hc_call add = {.op = HC_OP_add, .in = {*grad, wide}, .out = {*grad}};
    (void)run(amp, &add);
}

void hc_amp_zero(struct hc_amp *amp, int o)
{
    for (int p = 0; p < HC_AMP_PARAMETERS; p++)
        amp->optimizer[o].g[p].data = NULL;
}

enum hc_status hc_amp_unscale(struct hc_amp *amp, int o)
{
    struct hc_amp_optimizer *optimizer = &amp->optimizer[o];
    if (amp->guarded && optimizer->stage == HC_AMP_UNSCALED)
        return hc_fail(HC_INVALID, "unscale: already called for this optimizer since the update");
    if (amp->guarded && optimizer->stage == HC_AMP_STEPPED)
        return hc_fail(HC_INVALID, "unscale: called after step");
    for (int p = 0; p < HC_AMP_PARAMETERS; p++) {
        struct hc_tensor g = optimizer->g[p];
        struct hc_tensor found = one(&optimizer->found);
        if (!g.data)
            continue;
        if (g.format != HC_FP32)
            return hc_fail(HC_INVALID, "unscale: gradients in %s", hc_formats[g.format].name);
        struct hc_call call = {.op = HC_OP_unscale,
                               .in = {g, one(&amp->scale), found},
                               .out = {g, found},
                               .params.unscale = {.reciprocal = true}};
        if (!run(amp, &call))
            return HC_OK;
        optimizer->recorded = true;
    }
    optimizer->stage = HC_AMP_UNSCALED;
    return HC_OK;
}

static void descend(struct hc_amp *amp, struct hc_amp_optimizer *optimizer)
{
    float hyper[3] = {(float)amp->lr, 0, 1};
    for (int p = 0; p < HC_AMP_PARAMETERS; p++) {
        struct hc_tensor w = optimizer->w[p];
        struct hc_tensor momentum = hc_check_vector(amp->check, HC_FP32, HC_AMP_ELEMENTS);
        if (!optimizer->g[p].data)
            continue;
        struct hc_call call = {.op = HC_OP_sgd,
                               .in = {w, optimizer->g[p], momentum, hc_tensor1(HC_FP32, 3, hyper),
                                      one(&optimizer->found)},
                               .out = {w, momentum},
                               .params.sgd = {.arithmetic = HC_FP32}};
        if (!run(amp, &call))
            return;
    }
}

enum hc_status hc_amp_step(struct hc_amp *amp, int o)
{
    struct hc_amp_optimizer *optimizer = &amp->optimizer[o];
    enum hc_status status = HC_OK;
    if (amp->guarded && optimizer->stage == HC_AMP_STEPPED)
        return hc_fail(HC_INVALID, "step: already called since the update");
    if (optimizer->stage == HC_AMP_READY)
        status = hc_amp_unscale(amp, o);
    if (status != HC_OK || amp->failed)
        return status;
    if (amp->guarded && !optimizer->recorded)
        return hc_fail(HC_INVALID, "step: no gradient was looked at for this optimizer");
    descend(amp, optimizer);
    optimizer->stage = HC_AMP_STEPPED;
    return HC_OK;
}

enum hc_status hc_amp_update(struct hc_amp *amp)
{
    struct hc_tensor scale = one(&amp->scale);
    struct hc_tensor counts = hc_tensor1(HC_I32, HC_COUNTS, amp->counts);
    float found = 0;
    bool recorded = false;
    for (int o = 0; o < HC_AMP_OPTIMIZERS; o++) {
        recorded = recorded || amp->optimizer[o].recorded;
        if (amp->optimizer[o].found != 0)
            found = 1;
    }
    if (amp->guarded && !recorded)
        return hc_fail(HC_INVALID, "update: no gradient was looked at");
    struct hc_call call = {.op = HC_OP_scaler_update,
                           .in = {scale, counts, one(&found)},
                           .out = {scale, counts},
                           .params.scaler = amp->rule};
    (void)run(amp, &call);
    for (int o = 0; o < HC_AMP_OPTIMIZERS; o++) {
        amp->optimizer[o].stage = HC_AMP_READY;
        amp->optimizer[o].recorded = false;
        amp->optimizer[o].found = 0;
    }
    return HC_OK;
}

double hc_amp_clip(struct hc_amp *amp, int o, double most)
{
    float squares = 0;
    float factor;
    struct hc_call clip = {.op = HC_OP_clip,
                           .in = {one(&squares)},
                           .out = {one(&factor)},
                           .params.clip = {.max_norm = most}};
    for (int p = 0; p < HC_AMP_PARAMETERS; p++) {
        struct hc_call sum = {.op = HC_OP_sum_squares,
                              .in = {amp->optimizer[o].g[p], one(&squares)},
                              .out = {one(&squares)},
                              .params.reduce = {HC_FP32}};
        if (sum.in[0].data && !run(amp, &sum))
            return (double)NAN;
    }
    (void)run(amp, &clip);
    for (int p = 0; p < HC_AMP_PARAMETERS; p++) {
        struct hc_tensor g = amp->optimizer[o].g[p];
        struct hc_call scale = {.op = HC_OP_scale, .in = {g, one(&factor)}, .out = {g}};
        if (g.data && !run(amp, &scale))
            return (double)NAN;
    }
    return sqrt((double)squares);
}

double hc_amp_seen(double scale, double g)
{
    return hc_round(HC_FP16, scale * (double)(float)g) / scale;
}

double hc_amp_gradient(const struct hc_amp *amp, int o, int p)
{
    const struct hc_tensor *g = &amp->optimizer[o].g[p];
    return g->data ? hc_tensor_get(g, 0) : (double)NAN;
}

double hc_amp_way(const struct hc_amp *amp, int o, int p)
{
    return 1 - hc_tensor_get(&amp->optimizer[o].w[p], 0);
}

void hc_amp_claim(struct hc_amp *amp, const char *what, double want, double got)
{
    if (!amp->failed)
        (void)hc_claim_value(amp->check, what, want, got);
}

void hc_amp_holds(struct hc_amp *amp, const char *what, bool held)
{
    if (!amp->failed)
        (void)hc_claim_true(amp->check, what, held);
}

void hc_amp_near(struct hc_amp *amp, const char *what, double want, double got, double bound)
{
    if (!amp->failed)
        (void)hc_claim_within(amp->check, what, want, got, bound);
}

/* fl(1 - fl(lr g)), lr a power of two: the product is exact but for g's own error; the difference is
   within u, u = 2^-24 being half an ulp of numbers in [1, 2], and of twice those below 1. */
void hc_amp_claim_way(struct hc_amp *amp, const char *what, int o, int p, double g,
                      double roundings)
{
    double want = amp->lr * g;
    assert(!isfinite(want) || fabs(want) <= 0.5);
    hc_amp_near(amp, what, want, hc_amp_way(amp, o, p), 0x1p-24 * (1 + roundings * fabs(want)));
}

void hc_amp_claim_refused(struct hc_amp *amp, const char *what, enum hc_status status,
                          const char *line)
{
    char claim[200];
    (void)snprintf(claim, sizeof claim, "%s is refused: \"%s\"", what, line);
    hc_amp_holds(amp, claim, status == HC_INVALID && strcmp(hc_message(), line) == 0);
}
