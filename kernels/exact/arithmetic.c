/* The six IEEE operations, in H and fp64. */
#include "kernels/element/arithmetic.h"

#include "kernels/exact/exact.h"
#include "kernels/element/load.h"

static double double_add(double x, double y)
{
    return x + y;
}

static double double_sub(double x, double y)
{
    return x - y;
}

static double double_mul(double x, double y)
{
    return x * y;
}

static double double_div(double x, double y)
{
    return x / y;
}

static enum hc_status binary(const struct hc_call *call, float (*of_h)(float, float),
                             double (*of_fp64)(double, double))
{
    enum hc_format f = call->out[0].format;
    const void *x = call->in[0].data;
    const void *y = call->in[1].data;
    int64_t n = hc_tensor_count(&call->out[0]);
    double *wide = call->out[0].data;
    for (int64_t i = 0; i < n && f == HC_FP64; i++)
        wide[i] = of_fp64(((const double *)x)[i], ((const double *)y)[i]);
    for (int64_t i = 0; i < n && f != HC_FP64; i++)
        hc_store(f, call->out[0].data, i, of_h(hc_load(f, x, i), hc_load(f, y, i)));
    return HC_OK;
}

enum hc_status hc_exact_add(struct hc_queue *queue, const struct hc_call *call)
{
    (void)queue;
    return binary(call, hc_element_add, double_add);
}

enum hc_status hc_exact_sub(struct hc_queue *queue, const struct hc_call *call)
{
    (void)queue;
    return binary(call, hc_element_sub, double_sub);
}

enum hc_status hc_exact_mul(struct hc_queue *queue, const struct hc_call *call)
{
    (void)queue;
    return binary(call, hc_element_mul, double_mul);
}

enum hc_status hc_exact_div(struct hc_queue *queue, const struct hc_call *call)
{
    (void)queue;
    return binary(call, hc_element_div, double_div);
}

enum hc_status hc_exact_sqrt(struct hc_queue *queue, const struct hc_call *call)
{
    (void)queue;
    enum hc_format f = call->out[0].format;
    const void *x = call->in[0].data;
    int64_t n = hc_tensor_count(&call->out[0]);
    double *wide = call->out[0].data;
    for (int64_t i = 0; i < n && f == HC_FP64; i++)
        wide[i] = sqrt(((const double *)x)[i]);
    for (int64_t i = 0; i < n && f != HC_FP64; i++)
        hc_store(f, call->out[0].data, i, hc_element_sqrt(hc_load(f, x, i)));
    return HC_OK;
}

enum hc_status hc_exact_fma(struct hc_queue *queue, const struct hc_call *call)
{
    (void)queue;
    enum hc_format f = call->out[0].format;
    const void *x = call->in[0].data;
    const void *y = call->in[1].data;
    const void *z = call->in[2].data;
    int64_t n = hc_tensor_count(&call->out[0]);
    double *wide = call->out[0].data;
    for (int64_t i = 0; i < n && f == HC_FP64; i++)
        wide[i] = fma(((const double *)x)[i], ((const double *)y)[i], ((const double *)z)[i]);
    for (int64_t i = 0; i < n && f != HC_FP64; i++)
        hc_store(f, call->out[0].data, i,
                 hc_element_fma(f, hc_load(f, x, i), hc_load(f, y, i), hc_load(f, z, i)));
    return HC_OK;
}
