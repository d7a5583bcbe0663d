/* The network's ops in fp64: all tensors but the labels are fp64, every operation is rounded once to
   fp64, parameters are the fp32 numbers that the other formats have too. For backends on the CPU; none
   needs scratch. */
#ifndef HC_KERNELS_EXACT_DOUBLE_H
#define HC_KERNELS_EXACT_DOUBLE_H

#include <stdbool.h>

#include "op/call.h"

static inline bool hc_is_double(const struct hc_call *call)
{
    return call->in[0].format == HC_FP64;
}

/* The optimizers, of a step that is not left out. */
void hc_double_sgd(const struct hc_call *call);
void hc_double_adam(const struct hc_call *call, bool decoupled);

enum hc_status hc_double_gemm(const struct hc_call *call);
enum hc_status hc_double_conv(const struct hc_call *call); /* all three */
enum hc_status hc_double_bn_train(const struct hc_call *call);
enum hc_status hc_double_bn_infer(const struct hc_call *call);
enum hc_status hc_double_bn_bwd(const struct hc_call *call);
enum hc_status hc_double_leaky(const struct hc_call *call);
enum hc_status hc_double_leaky_bwd(const struct hc_call *call);
enum hc_status hc_double_pool(const struct hc_call *call);
enum hc_status hc_double_pool_bwd(const struct hc_call *call);
enum hc_status hc_double_xent(const struct hc_call *call);
enum hc_status hc_double_xent_bwd(const struct hc_call *call);

#endif
