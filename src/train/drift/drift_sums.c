#include "train/drift/drift_sums.h"

#include <math.h>

/* How many elements the parameters of layer l have. */
static int64_t elements(const struct hc_drift_run *s, int l)
{
    const struct hc_layer *layer = &hc_net_plan(s->net)->layer[l];
    int64_t n = 0;
    for (int p = 0; p < layer->parameters; p++)
        n += hc_parameter_count(hc_net_parameters(s->net)[layer->parameter + p]);
    return n;
}

static void add(struct hc_drift_sums *t, const struct hc_drift_sums *more)
{
    t->difference += more->difference;
    t->want += more->want;
    t->got += more->got;
    t->both += more->both;
    t->zeros += more->zeros;
    t->lost += more->lost;
    t->count += more->count;
}

static struct hc_drift_sums sums_of(const double *want, const double *got, int64_t n)
{
    struct hc_drift_sums t = {.count = (double)n};
    for (int64_t i = 0; i < n; i++) {
        double off = got[i] - want[i];
        t.difference += off * off;
        t.want += want[i] * want[i];
        t.got += got[i] * got[i];
        t.both += got[i] * want[i];
        t.zeros += got[i] == 0 && want[i] != 0;
    }
    return t;
}

void hc_drift_sum_gradients(hc_drift_layer_sums sums, const struct hc_drift_run *s,
                            const double *want)
{
    int64_t at = 0;
    for (int l = 0; l < hc_net_plan(s->net)->layers; l++) {
        int64_t n = elements(s, l);
        struct hc_drift_sums t = sums_of(want + at, s->g + at, n);
        add(&sums[l], &t);
        add(&sums[HC_MAX_LAYERS], &t);
        at += n;
    }
}

void hc_drift_sum_lost(hc_drift_layer_sums sums, const struct hc_drift_run *s, const double *before,
                       const double *after, const double *now)
{
    int64_t at = 0;
    for (int l = 0; l < hc_net_plan(s->net)->layers; l++) {
        struct hc_drift_sums t = {0};
        for (int64_t end = at + elements(s, l); at < end; at++)
            t.lost += before[at] != after[at] && now[at] == s->before[at];
        add(&sums[l], &t);
        add(&sums[HC_MAX_LAYERS], &t);
    }
}

struct hc_drift_layer hc_drift_sum_layer(const struct hc_drift_sums *t)
{
    return (struct hc_drift_layer){.error = sqrt(t->difference / t->want),
                                   .cosine = t->both / sqrt(t->want * t->got),
                                   .underflow = t->zeros / t->count,
                                   .lost = t->lost / t->count};
}

bool hc_all_finite(const double *x, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        if (!isfinite(x[i]))
            return false;
    return true;
}

double hc_length(const double *x, int64_t n)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++)
        sum += x[i] * x[i];
    return sqrt(sum);
}

double hc_squares(const double *x, const double *y, int64_t n)
{
    double sum = 0;
    for (int64_t i = 0; i < n; i++)
        sum += (x[i] - y[i]) * (x[i] - y[i]);
    return sum;
}
