/* The IEEE operations on fp64 tensors. */
#define HC_ELEMENTS_IN_FP64
#include "kernels/cuda/kernel/elementwise.inc"

HC_ON_DEVICE void hc_dk_elementwise_fp64_body(const struct hc_call *c)
{
    hc_dk_over_elements(c, 0);
}
HC_LAUNCHABLE(elementwise_fp64, struct hc_call)
