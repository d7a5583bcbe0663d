#include "cases/shadow.h"

static void add_product(struct hc_reference_net *s, struct hc_real *sum, const struct hc_real *a,
                        const struct hc_real *b)
{
    hc_real_mul(s->term, a, b);
    hc_real_add(sum, sum, s->term);
}

static void add_square(struct hc_reference_net *s, struct hc_real *sum, const struct hc_real *a,
                       const struct hc_real *b)
{
    hc_real_sub(s->term, a, b);
    add_product(s, sum, s->term, s->term);
}

static void divide(struct hc_reference_net *s, struct hc_real *x, double by)
{
    hc_real_set(s->term, by);
    hc_real_div(x, x, s->term);
}

static int side_of(const struct hc_reference_net *s, int v)
{
    return v == 0 ? HC_REFERENCE_NET_SIDE : s->plan->layer[v - 1].side;
}

static int channels_of(const struct hc_reference_net *s, int v)
{
    return v == 0 ? HC_REFERENCE_NET_CHANNELS : s->plan->layer[v - 1].channels;
}

static void convolve(struct hc_reference_net *s, const struct hc_layer *l, int at, struct hc_real *sum)
{
    int side = side_of(s, l->in);
    int channels = channels_of(s, l->in);
    int k = at % l->channels;
    int q = at / l->channels % l->side;
    int p = at / l->channels / l->side % l->side;
    int n = at / l->channels / l->side / l->side;
    hc_real_set(sum, 0);
    for (int tap = 0; tap < l->kernel * l->kernel; tap++) {
        int h = p * l->stride + tap / l->kernel - l->pad;
        int w = q * l->stride + tap % l->kernel - l->pad;
        for (int c = 0; c < channels && h >= 0 && h < side && w >= 0 && w < side; c++)
            add_product(
                s, sum, s->value[l->in][((n * side + h) * side + w) * channels + c],
                s->parameter[l->parameter][(k * l->kernel * l->kernel + tap) * channels + c]);
    }
}

static void normalize_and_leak(struct hc_reference_net *s, const struct hc_layer *l, struct hc_real **y,
                               int c)
{
    int n = HC_REFERENCE_NET_BATCH * l->side * l->side;
    hc_real_set(s->mean, 0);
    hc_real_set(s->variance, 0);
    for (int i = 0; i < n; i++)
        hc_real_add(s->mean, s->mean, y[i * l->channels + c]);
    divide(s, s->mean, n);
    for (int i = 0; i < n; i++)
        add_square(s, s->variance, y[i * l->channels + c], s->mean);
    divide(s, s->variance, n);
    hc_real_set(s->term, (double)(float)HC_NORM_EPS);
    hc_real_add(s->variance, s->variance, s->term);
    hc_real_sqrt(s->variance, s->variance);
    for (int i = 0; i < n; i++) {
        struct hc_real *z = y[i * l->channels + c];
        hc_real_sub(z, z, s->mean);
        hc_real_div(z, z, s->variance);
        hc_real_mul(z, z, s->parameter[l->parameter + 1][c]);
        hc_real_add(z, z, s->parameter[l->parameter + 2][c]);
        hc_real_set(s->term, (double)(float)HC_LEAKY_SLOPE);
        if (!(hc_real_double(z) > 0))
            hc_real_mul(z, z, s->term);
    }
}

static void pool_or_linear(struct hc_reference_net *s, const struct hc_layer *l, struct hc_real **y)
{
    int channels = channels_of(s, l->in);
    int pixels = side_of(s, l->in) * side_of(s, l->in);
    for (int i = 0; i < HC_REFERENCE_NET_BATCH * l->channels; i++) {
        int n = i / l->channels;
        int k = i % l->channels;
        hc_real_set(y[i], 0);
        for (int j = 0; j < pixels && l->kind == HC_LAYER_POOL; j++)
            hc_real_add(y[i], y[i], s->value[l->in][(n * pixels + j) * channels + k]);
        if (l->kind == HC_LAYER_POOL) {
            divide(s, y[i], pixels);
            continue;
        }
        for (int c = 0; c < channels; c++)
            add_product(s, y[i], s->value[l->in][n * channels + c],
                        s->parameter[l->parameter][k * channels + c]);
        hc_real_add(y[i], y[i], s->parameter[l->parameter + 1][k]);
    }
}

/* The mean of log(sum_j exp(z_j - z_label)). */
static void cross_entropy(struct hc_reference_net *s, struct hc_real **z)
{
    hc_real_set(s->loss, 0);
    for (int n = 0; n < HC_REFERENCE_NET_BATCH; n++) {
        hc_real_set(s->mean, 0);
        for (int j = 0; j < HC_REFERENCE_NET_CLASSES; j++) {
            hc_real_sub(s->term, z[n * HC_REFERENCE_NET_CLASSES + j],
                        z[n * HC_REFERENCE_NET_CLASSES + s->labels[n]]);
            hc_real_exp(s->term, s->term);
            hc_real_add(s->mean, s->mean, s->term);
        }
        hc_real_log(s->mean, s->mean);
        hc_real_add(s->loss, s->loss, s->mean);
    }
    divide(s, s->loss, HC_REFERENCE_NET_BATCH);
}

void hc_reference_net_forward(struct hc_reference_net *s)
{
    for (int l = 0; l < s->plan->layers; l++) {
        const struct hc_layer *layer = &s->plan->layer[l];
        struct hc_real **y = s->value[l + 1];
        int count = HC_REFERENCE_NET_BATCH * layer->side * layer->side * layer->channels;
        if (layer->kind == HC_LAYER_CONV) {
            for (int i = 0; i < count; i++)
                convolve(s, layer, i, y[i]);
            for (int c = 0; c < layer->channels; c++)
                normalize_and_leak(s, layer, y, c);
        } else if (layer->kind == HC_LAYER_ADD) {
            for (int i = 0; i < count; i++)
                hc_real_add(y[i], s->value[layer->in][i], s->value[layer->skip][i]);
        } else {
            pool_or_linear(s, layer, y);
        }
    }
    cross_entropy(s, s->value[s->plan->layers]);
}

void hc_reference_net_open(struct hc_check *check, struct hc_reference_net *s, struct hc_net *net,
                    const float *images, const int32_t *labels)
{
    *s = (struct hc_reference_net){.plan = hc_net_plan(net), .labels = labels};
    s->mean = hc_real_new(0);
    s->variance = hc_real_new(0);
    s->term = hc_real_new(0);
    s->loss = hc_real_new(0);
    for (int v = 0; v <= s->plan->layers; v++)
        for (int i = 0; i < HC_REFERENCE_NET_MAX; i++)
            s->value[v][i] = hc_real_new(v == 0 && i < HC_REFERENCE_NET_PIXELS ? (double)images[i] : 0);
    for (int p = 0; p < s->plan->parameters; p++) {
        struct hc_tensor t = hc_parameter_tensor(hc_net_parameters(net)[p]);
        int64_t n = hc_tensor_count(&t);
        struct hc_tensor host =
            hc_tensor1(t.format, n, hc_check_memory(check, hc_tensor_bytes(&t)));
        s->parameter[p] = hc_check_memory(check, (size_t)n * sizeof(struct hc_real *));
        (void)hc_check_ok(check, hc_storage_read(hc_net_parameters(net)[p]->storage, host.data));
        for (int64_t i = 0; i < n; i++)
            s->parameter[p][i] = hc_real_new(hc_tensor_get(&host, i));
    }
}

void hc_reference_net_close(struct hc_reference_net *s, struct hc_net *net)
{
    for (int v = 0; v <= s->plan->layers; v++)
        for (int i = 0; i < HC_REFERENCE_NET_MAX; i++)
            hc_real_free(s->value[v][i]);
    for (int p = 0; p < s->plan->parameters; p++)
        for (int64_t i = 0; i < hc_parameter_count(hc_net_parameters(net)[p]); i++)
            hc_real_free(s->parameter[p][i]);
    hc_real_free(s->mean);
    hc_real_free(s->variance);
    hc_real_free(s->term);
    hc_real_free(s->loss);
}
