/* The stand-in for cuDNN's older batch norm, by its documentation: data and parameters by the
   extents and strides of their descriptors, alpha and beta, and running averages updated by the
   factor. */
#include <math.h>
#include <stdlib.h>

#include "kernels/cuda/emulate/dnn.h"
#include "kernels/cuda/emulate/library.h"
#include "kernels/element/load.h"

struct tensor {
    int type; /* -1: not set */
    int extent[4];
    int stride[4];
};

int hc_dnn_create_tensor(void **tensor)
{
    struct tensor *t = calloc(1, sizeof *t);
    *tensor = t;
    if (!t)
        return HC_DNN_NO_MEMORY;
    t->type = -1;
    return 0;
}

int hc_dnn_destroy_tensor(void *tensor)
{
    free(tensor);
    return 0;
}

int hc_dnn_set_tensor(void *tensor, int type, int n, int c, int h, int w, int n_stride,
                      int c_stride, int h_stride, int w_stride)
{
    struct tensor *t = tensor;
    if (!t || n < 1 || c < 1 || h < 1 || w < 1)
        return HC_DNN_BAD_PARAM;
    *t = (struct tensor){type, {n, c, h, w}, {n_stride, c_stride, h_stride, w_stride}};
    return 0;
}

/* [1, C, 1, 1] of fp32. */
int hc_dnn_derive_norm(void *parameters, void *x, int mode)
{
    const struct tensor *from = x;
    if (!from || from->type < 0 || mode != HC_DNN_NORM_SPATIAL)
        return HC_DNN_BAD_PARAM;
    int c = from->extent[1];
    return hc_dnn_set_tensor(parameters, HC_DNN_FP32, 1, c, 1, 1, c, 1, 1, 1);
}

/* The data of one call, `rows` elements of each channel. */
struct work {
    const struct tensor *data;
    enum hc_format format;
    int channels;
    int64_t rows;
};

static bool begin(struct work *w, void *handle, int mode, void *x, void *y, void *parameters)
{
    const struct tensor *t = x;
    const struct tensor *p = parameters;
    if (!handle || !t || x != y || t->type < 0 || !p || p->type != HC_DNN_FP32 ||
        mode != HC_DNN_NORM_SPATIAL || p->extent[1] != t->extent[1])
        return false;
    *w = (struct work){.data = t,
                       .format = t->type == HC_DNN_FP16   ? HC_FP16
                                 : t->type == HC_DNN_BF16 ? HC_BF16
                                                          : HC_FP32,
                       .channels = t->extent[1],
                       .rows = (int64_t)t->extent[0] * t->extent[2] * t->extent[3]};
    return true;
}

/* The number of the element in row i of channel c. */
static int64_t place(const struct work *w, int64_t i, int c)
{
    const struct tensor *t = w->data;
    int64_t q = i % t->extent[3];
    int64_t p = i / t->extent[3] % t->extent[2];
    int64_t n = i / t->extent[3] / t->extent[2];
    return n * t->stride[0] + c * t->stride[1] + p * t->stride[2] + q * t->stride[3];
}

static float at(const struct work *w, const void *data, int64_t i, int c)
{
    return hc_load(w->format, data, place(w, i, c));
}

/* data = alpha * value + beta * data. With beta 0 data is not read. */
static void write(const struct work *w, void *data, int64_t i, int c, const void *alpha,
                  const void *beta, float value)
{
    float a = *(const float *)alpha;
    float b = *(const float *)beta;
    float before = b != 0 ? b * at(w, data, i, c) : 0;
    hc_store(w->format, data, place(w, i, c), b != 0 ? a * value + before : a * value);
}

static float invert(double variance, double epsilon)
{
    return (float)(1 / sqrt(variance + epsilon));
}

static void normalize(const struct work *w, int c, const void *alpha, const void *beta,
                      const void *x, void *y, float mean, float invstd, float gamma, float bias)
{
    for (int64_t i = 0; i < w->rows; i++)
        write(w, y, i, c, alpha, beta, (at(w, x, i, c) - mean) * invstd * gamma + bias);
}

/* runningMean = runningMean * (1 - factor) + newMean * factor */
static void blend(float *running, double factor, double batch)
{
    *running = (float)((double)*running * (1 - factor) + batch * factor);
}

int hc_dnn_norm_train(void *handle, int mode, const void *alpha, const void *beta, void *x_tensor,
                      const void *x, void *y_tensor, void *y, void *parameters, const void *gamma,
                      const void *bias, double factor, void *running_mean, void *running_variance,
                      double epsilon, void *saved_mean, void *saved_invstd)
{
    struct work w;
    if (!begin(&w, handle, mode, x_tensor, y_tensor, parameters))
        return HC_DNN_BAD_PARAM;
    for (int c = 0; c < w.channels; c++) {
        double mean = 0;
        double squares = 0;
        for (int64_t i = 0; i < w.rows; i++)
            mean += (double)at(&w, x, i, c) / (double)w.rows;
        for (int64_t i = 0; i < w.rows; i++)
            squares += ((double)at(&w, x, i, c) - mean) * ((double)at(&w, x, i, c) - mean);
        float invstd = invert(squares / (double)w.rows, epsilon);
        ((float *)saved_mean)[c] = (float)mean;
        ((float *)saved_invstd)[c] = invstd;
        blend((float *)running_mean + c, factor, mean);
        blend((float *)running_variance + c, factor, squares / (double)(w.rows - 1));
        normalize(&w, c, alpha, beta, x, y, (float)mean, invstd, ((const float *)gamma)[c],
                  ((const float *)bias)[c]);
    }
    return 0;
}

int hc_dnn_norm_infer(void *handle, int mode, const void *alpha, const void *beta, void *x_tensor,
                      const void *x, void *y_tensor, void *y, void *parameters, const void *gamma,
                      const void *bias, const void *mean, const void *variance, double epsilon)
{
    struct work w;
    if (!begin(&w, handle, mode, x_tensor, y_tensor, parameters))
        return HC_DNN_BAD_PARAM;
    for (int c = 0; c < w.channels; c++)
        normalize(&w, c, alpha, beta, x, y, ((const float *)mean)[c],
                  invert((double)((const float *)variance)[c], epsilon), ((const float *)gamma)[c],
                  ((const float *)bias)[c]);
    return 0;
}

static void blend_parameter(void *to, int c, const void *alpha, const void *beta, double value)
{
    float b = *(const float *)beta;
    float *result = (float *)to + c;
    *result = *(const float *)alpha * (float)value + (b != 0 ? b * *result : 0);
}

int hc_dnn_norm_bwd(void *handle, int mode, const void *alpha, const void *beta,
                    const void *alpha_parameters, const void *beta_parameters, void *x_tensor,
                    const void *x, void *dy_tensor, const void *dy, void *dx_tensor, void *dx,
                    void *parameters, const void *gamma, void *dgamma, void *dbias, double epsilon,
                    const void *saved_mean, const void *saved_invstd)
{
    struct work w;
    (void)epsilon; /* is in saved_invstd */
    if (!begin(&w, handle, mode, x_tensor, dy_tensor, parameters) || dx_tensor != x_tensor)
        return HC_DNN_BAD_PARAM;
    for (int c = 0; c < w.channels; c++) {
        float mean = ((const float *)saved_mean)[c];
        float invstd = ((const float *)saved_invstd)[c];
        float gain = ((const float *)gamma)[c] * invstd;
        double sum = 0;
        double product = 0;
        for (int64_t i = 0; i < w.rows; i++) {
            float g = at(&w, dy, i, c);
            sum += (double)g;
            product += (double)g * (double)((at(&w, x, i, c) - mean) * invstd);
        }
        float by_sum = (float)(sum / (double)w.rows);
        float by_product = (float)(product / (double)w.rows);
        for (int64_t i = 0; i < w.rows; i++) {
            float hat = (at(&w, x, i, c) - mean) * invstd;
            write(&w, dx, i, c, alpha, beta, gain * (at(&w, dy, i, c) - by_sum - hat * by_product));
        }
        blend_parameter(dgamma, c, alpha_parameters, beta_parameters, product);
        blend_parameter(dbias, c, alpha_parameters, beta_parameters, sum);
    }
    return 0;
}
