/* The exact backend's kernels in fp32, for tensors in fp32, bf16 and fp16. */
#define KERNELS hc_exact_fp32
#include "kernels/exact/kernels.inc"
