#include "cases/restated_pass.h"

#include <math.h>
#include <string.h>

/* Where an output (n, p, q) of a convolution and tap (r, s) of its filter meet the input; -1 in the
   padding, which is half the kernel wide. */
static int meet(const struct hc_restated_layer *l, int64_t output, int tap)
{
    int q = (int)(output % l->side);
    int p = (int)(output / l->side % l->side);
    int n = (int)(output / l->side / l->side);
    int h = p * l->stride + tap / l->kernel - (l->kernel - 1) / 2;
    int w = q * l->stride + tap % l->kernel - (l->kernel - 1) / 2;
    bool inside = h >= 0 && h < l->side_in && w >= 0 && w < l->side_in;
    return inside ? (n * l->side_in + h) * l->side_in + w : -1;
}

static double kept(const struct hc_restated_pass *pass, enum hc_format format, double x)
{
    return pass->rounds ? hc_round(format, x) : x;
}

static double sum(const struct hc_restated_pass *pass, double x, double y)
{
    return pass->rounds ? (double)(float)(x + y) : x + y;
}

int64_t hc_restated_values(const struct hc_restated_pass *pass, int v)
{
    const struct hc_restated_layer *l = &pass->net->layer[v - (v > 0)];
    int64_t side = v > 0 ? l->side : l->side_in;
    return pass->batch * side * side * (v > 0 ? l->channels : l->channels_in);
}

int64_t hc_restated_parameters(const struct hc_restated *net, int layer, int slot)
{
    const struct hc_restated_layer *l = &net->layer[layer];
    int64_t weights = (int64_t)l->kernel * l->kernel * l->channels_in * l->channels;
    if (l->kind == HC_RESTATED_CONV)
        return slot == 0 ? weights : l->channels;
    if (l->kind == HC_RESTATED_LINEAR && slot < 2)
        return slot == 0 ? weights : l->channels;
    return 0;
}

static double *room(struct hc_check *check, int64_t n)
{
    return hc_check_memory(check, (size_t)n * sizeof(double));
}

void hc_restated_open(struct hc_check *check, struct hc_restated_pass *pass)
{
    for (int v = 0; v <= pass->net->layers; v++) {
        pass->value[v] = room(check, hc_restated_values(pass, v));
        pass->back[v] = room(check, hc_restated_values(pass, v));
    }
    for (int l = 0; l < pass->net->layers; l++) {
        pass->sides[l] = room(check, hc_restated_values(pass, l + 1));
        pass->normal[l] = room(check, hc_restated_values(pass, l + 1));
        pass->deviation[l] = room(check, pass->net->layer[l].channels);
        for (int s = 0; s < HC_RESTATED_SLOTS; s++) {
            int64_t n = hc_restated_parameters(pass->net, l, s);
            pass->parameter[l][s] = room(check, n);
            pass->gradient[l][s] = room(check, n);
        }
    }
}

void hc_restated_same(struct hc_restated_pass *pass, const struct hc_restated_pass *as)
{
    pass->scale = as->scale;
    pass->labels = as->labels;
    pass->value[0] = as->value[0];
    memcpy(pass->sides, as->sides, sizeof pass->sides);
    memcpy(pass->parameter, as->parameter, sizeof pass->parameter);
}

/* y[., k] = sum over taps and channels of x w: a linear layer is a convolution of one pixel. */
static void multiply(struct hc_restated_pass *pass, int at, double *y)
{
    const struct hc_restated_layer *l = &pass->net->layer[at];
    const double *x = pass->value[l->from];
    const double *w = pass->parameter[at][0];
    int taps = l->kernel * l->kernel;
    int64_t pixels = (int64_t)pass->batch * l->side * l->side;
    for (int64_t o = 0; o < pixels; o++)
        for (int k = 0; k < l->channels; k++) {
            double all = l->kind == HC_RESTATED_LINEAR ? pass->parameter[at][1][k] : 0;
            for (int t = 0; t < taps; t++) {
                int from = meet(l, o, t);
                for (int c = 0; c < l->channels_in && from >= 0; c++)
                    all =
                        sum(pass, all,
                            x[from * l->channels_in + c] * w[(k * taps + t) * l->channels_in + c]);
            }
            y[o * l->channels + k] = kept(pass, pass->model, all);
        }
}

/* And back: of weights and, but for the image, of what came in. */
static void multiply_back(struct hc_restated_pass *pass, int at, const double *dy)
{
    const struct hc_restated_layer *l = &pass->net->layer[at];
    const double *x = pass->value[l->from];
    const double *w = pass->parameter[at][0];
    double *dx = pass->back[l->from];
    double *dw = pass->gradient[at][0];
    int taps = l->kernel * l->kernel;
    int64_t pixels = (int64_t)pass->batch * l->side * l->side;
    int64_t weights = hc_restated_parameters(pass->net, at, 0);
    memset(dw, 0, (size_t)weights * sizeof *dw);
    for (int64_t o = 0; o < pixels; o++)
        for (int k = 0; k < l->channels; k++)
            for (int t = 0; t < taps; t++) {
                int from = meet(l, o, t);
                double d = dy[o * l->channels + k];
                for (int c = 0; c < l->channels_in && from >= 0; c++) {
                    int in = from * l->channels_in + c;
                    int weight = (k * taps + t) * l->channels_in + c;
                    dw[weight] = sum(pass, dw[weight], d * x[in]);
                    dx[in] = sum(pass, dx[in], d * w[weight]);
                }
            }
    for (int64_t i = 0; i < hc_restated_values(pass, l->from); i++)
        dx[i] = kept(pass, pass->model, dx[i]);
    for (int64_t i = 0; i < weights; i++)
        dw[i] = kept(pass, pass->model, dw[i]) / pass->scale;
}

static bool is_positive(const struct hc_restated_pass *pass, int at, int64_t i, double z)
{
    return fabs(z) <= pass->kink ? pass->sides[at][i] > 0 : z > 0;
}

/* Batch norm with eps 1e-5 and the variance of the batch, leaky ReLU of slope 0.1. */
static void norm(struct hc_restated_pass *pass, int at, int c)
{
    const struct hc_restated_layer *l = &pass->net->layer[at];
    int64_t m = (int64_t)pass->batch * l->side * l->side;
    double *x = pass->normal[at] + c;
    double mean = 0;
    double variance = 0;
    for (int64_t i = 0; i < m; i++)
        mean = sum(pass, mean, x[i * l->channels]);
    mean /= (double)m;
    for (int64_t i = 0; i < m; i++)
        variance = sum(pass, variance, (x[i * l->channels] - mean) * (x[i * l->channels] - mean));
    double deviation = sqrt(variance / (double)m + 1e-5);
    pass->deviation[at][c] = deviation;
    for (int64_t i = 0; i < m; i++) {
        int64_t j = i * l->channels + c;
        pass->normal[at][j] = (pass->normal[at][j] - mean) / deviation;
        double z =
            kept(pass, pass->model,
                 pass->normal[at][j] * pass->parameter[at][1][c] + pass->parameter[at][2][c]);
        pass->value[at + 1][j] = is_positive(pass, at, j, z) ? z : kept(pass, pass->model, 0.1 * z);
    }
}

/* dz through the slope, then with a = normal values: dx = gamma / deviation (dz - mean dz - a mean
   (a dz)). */
static void norm_back(struct hc_restated_pass *pass, int at, int c, double *dz)
{
    const struct hc_restated_layer *l = &pass->net->layer[at];
    int64_t m = (int64_t)pass->batch * l->side * l->side;
    const double *a = pass->normal[at];
    double dgamma = 0;
    double dbeta = 0;
    for (int64_t j = c; j < m * l->channels; j += l->channels) {
        double z = a[j] * pass->parameter[at][1][c] + pass->parameter[at][2][c];
        if (!is_positive(pass, at, j, z))
            dz[j] = kept(pass, pass->model, 0.1 * dz[j]);
        dbeta = sum(pass, dbeta, dz[j]);
        dgamma = sum(pass, dgamma, dz[j] * a[j]);
    }
    for (int64_t j = c; j < m * l->channels; j += l->channels)
        dz[j] = kept(pass, pass->model,
                     pass->parameter[at][1][c] / pass->deviation[at][c] *
                         (dz[j] - dbeta / (double)m - a[j] * dgamma / (double)m));
    pass->gradient[at][1][c] = kept(pass, HC_FP32, dgamma) / pass->scale;
    pass->gradient[at][2][c] = kept(pass, HC_FP32, dbeta) / pass->scale;
}

static void forward(struct hc_restated_pass *pass, int at)
{
    const struct hc_restated_layer *l = &pass->net->layer[at];
    const double *x = pass->value[l->from];
    double *y = pass->value[at + 1];
    int64_t n = hc_restated_values(pass, at + 1);
    int pixels = l->side_in * l->side_in;
    if (l->kind == HC_RESTATED_CONV) {
        multiply(pass, at, pass->normal[at]);
        for (int c = 0; c < l->channels; c++)
            norm(pass, at, c);
    } else if (l->kind == HC_RESTATED_LINEAR) {
        multiply(pass, at, y);
    } else if (l->kind == HC_RESTATED_SUM) {
        for (int64_t i = 0; i < n; i++)
            y[i] = kept(pass, pass->model, x[i] + pass->value[l->shortcut][i]);
    } else {
        for (int64_t i = 0; i < n; i++) {
            y[i] = 0;
            for (int p = 0; p < pixels; p++)
                y[i] = sum(pass, y[i],
                           x[(i / l->channels * pixels + p) * l->channels + i % l->channels]);
            y[i] = kept(pass, pass->model, y[i] / pixels);
        }
    }
}

static void backward(struct hc_restated_pass *pass, int at)
{
    const struct hc_restated_layer *l = &pass->net->layer[at];
    double *dy = pass->back[at + 1];
    double *dx = pass->back[l->from];
    int64_t n = hc_restated_values(pass, at + 1);
    int pixels = l->side_in * l->side_in;
    if (l->kind == HC_RESTATED_CONV) {
        for (int c = 0; c < l->channels; c++)
            norm_back(pass, at, c, dy);
        multiply_back(pass, at, dy);
    } else if (l->kind == HC_RESTATED_LINEAR) {
        multiply_back(pass, at, dy);
        for (int k = 0; k < l->channels; k++) {
            double all = 0;
            for (int b = 0; b < pass->batch; b++)
                all = sum(pass, all, dy[b * l->channels + k]);
            pass->gradient[at][1][k] = kept(pass, pass->model, all) / pass->scale;
        }
    } else if (l->kind == HC_RESTATED_SUM) {
        for (int64_t i = 0; i < n; i++) {
            dx[i] += dy[i];
            pass->back[l->shortcut][i] += dy[i];
        }
    } else {
        for (int64_t i = 0; i < n * pixels; i++) {
            int64_t image = i / l->channels / pixels;
            dx[i] = kept(pass, pass->model, dy[image * l->channels + i % l->channels] / pixels);
        }
    }
}

/* The mean of log(sum exp z) - z of the label, and its gradient times the scale. */
static void cross_entropy(struct hc_restated_pass *pass)
{
    int classes = pass->net->classes;
    pass->loss = 0;
    for (int b = 0; b < pass->batch; b++) {
        const double *z = pass->value[pass->net->layers] + (ptrdiff_t)b * classes;
        double *dz = pass->back[pass->net->layers] + (ptrdiff_t)b * classes;
        int label = (int)pass->labels[b];
        double all = 0;
        for (int k = 0; k < classes; k++)
            all += exp(z[k] - z[label]);
        pass->loss += log(all) / pass->batch;
        for (int k = 0; k < classes; k++)
            dz[k] = kept(pass, pass->model,
                         (exp(z[k] - z[label]) / all - (k == label)) * pass->scale / pass->batch);
    }
}

void hc_restated_step(struct hc_restated_pass *pass)
{
    int layers = pass->net->layers;
    for (int v = 0; v <= layers; v++)
        memset(pass->back[v], 0, (size_t)hc_restated_values(pass, v) * sizeof(double));
    for (int l = 0; l < layers; l++)
        forward(pass, l);
    cross_entropy(pass);
    for (int l = layers - 1; l >= 0; l--)
        backward(pass, l);
}
