/* The exact backend's kernels in fp64, for tensors in fp64: the same texts as fp32.c's. */
#define HC_ELEMENTS_IN_FP64
#define KERNELS hc_exact_fp64
#include "kernels/exact/kernels.inc"
