/* A batch norm layer on the backend under test. */
#ifndef HC_CASES_NORM_H
#define HC_CASES_NORM_H

#include "case.h"

/* Tensors in host memory that live as long as the check. x and y are [rows, 1, 1, channels]. */
struct hc_batchnorm {
    struct hc_check *check;
    struct hc_bn params;
    struct hc_tensor x;
    struct hc_tensor y;
    struct hc_tensor gamma; /* 1 */
    struct hc_tensor beta;  /* 0 */
    struct hc_tensor mean;  /* running, 0 */
    struct hc_tensor var;   /* running, 1 */
    struct hc_tensor saved_mean;
    struct hc_tensor saved_invstd;
};

/* x and y in `data`, gamma and beta in fp32, the running statistics in `statistics`; eps 1e-5,
   momentum 0.1. */
struct hc_batchnorm hc_batchnorm_new(struct hc_check *check, enum hc_format data, enum hc_format statistics,
                           int64_t rows, int64_t channels);

/* The calls; the statuses are those of hc_do. Training updates the running statistics in place. */
struct hc_call hc_batchnorm_training(const struct hc_batchnorm *norm);
struct hc_call hc_batchnorm_inference(const struct hc_batchnorm *norm);
enum hc_status hc_batchnorm_train(const struct hc_batchnorm *norm);
enum hc_status hc_batchnorm_infer(const struct hc_batchnorm *norm);

#endif
