/* gemm_q: a thread for each element of the result. */
#include "kernels/cuda/kernel/arguments.h"

#include "kernels/cuda/cuda.h"
#include "kernels/cuda/launch.h"
#include "kernels/cuda/op/families.h"

enum hc_status hc_cuda_gemm_q(struct hc_queue *queue, const struct hc_call *call)
{
    const struct hc_tensor *a = &call->in[HC_GEMM_Q_A];
    const struct hc_tensor *b = &call->in[HC_GEMM_Q_B];
    struct hc_dk_gemm_q g = {
        .call = *call,
        .a = hc_code_decoder_of(&hc_formats[a->format]),
        .b = hc_code_decoder_of(&hc_formats[b->format]),
        .a_scales = hc_gemm_q_a_scales(call),
        .b_scales = hc_gemm_q_b_scales(call),
    };
    return hc_launch_elements(queue, HC_DK_gemm_q, hc_tensor_count(&call->out[HC_GEMM_Q_OUT]), &g,
                              sizeof g);
}
