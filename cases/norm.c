#include "cases/norm.h"

static struct hc_tensor filled(struct hc_check *check, enum hc_format format, int64_t n,
                               double value)
{
    struct hc_tensor t = hc_check_vector(check, format, n);
    for (int64_t i = 0; i < n; i++)
        hc_tensor_set(&t, i, value);
    return t;
}

struct hc_batchnorm hc_batchnorm_new(struct hc_check *check, enum hc_format data, enum hc_format statistics,
                           int64_t rows, int64_t channels)
{
    struct hc_batchnorm norm = {.check = check, .params = {.eps = 1e-5, .momentum = 0.1}};
    norm.x = hc_tensor4(data, rows, 1, 1, channels, NULL);
    norm.x.data = hc_check_memory(check, hc_tensor_bytes(&norm.x));
    norm.y = norm.x;
    norm.y.data = hc_check_memory(check, hc_tensor_bytes(&norm.y));
    norm.gamma = filled(check, HC_FP32, channels, 1);
    norm.beta = filled(check, HC_FP32, channels, 0);
    norm.mean = filled(check, statistics, channels, 0);
    norm.var = filled(check, statistics, channels, 1);
    norm.saved_mean = filled(check, HC_FP32, channels, 0);
    norm.saved_invstd = filled(check, HC_FP32, channels, 0);
    return norm;
}

struct hc_call hc_batchnorm_training(const struct hc_batchnorm *norm)
{
    return (struct hc_call){
        .op = HC_OP_bn_train,
        .params.bn = norm->params,
        .in = {norm->x, norm->gamma, norm->beta, norm->mean, norm->var},
        .out = {norm->y, norm->saved_mean, norm->saved_invstd, norm->mean, norm->var}};
}

struct hc_call hc_batchnorm_inference(const struct hc_batchnorm *norm)
{
    return (struct hc_call){.op = HC_OP_bn_infer,
                            .params.bn = norm->params,
                            .in = {norm->x, norm->gamma, norm->beta, norm->mean, norm->var},
                            .out = {norm->y}};
}

enum hc_status hc_batchnorm_train(const struct hc_batchnorm *norm)
{
    struct hc_call call = hc_batchnorm_training(norm);
    return hc_do(norm->check, &call);
}

enum hc_status hc_batchnorm_infer(const struct hc_batchnorm *norm)
{
    struct hc_call call = hc_batchnorm_inference(norm);
    return hc_do(norm->check, &call);
}
