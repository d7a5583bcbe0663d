/* Counts of what a queue of the cuda backends is given: the slot `work`, and launches by kernel.
   Backends count where they launch a kernel, call a library or copy. */
#ifndef HC_KERNELS_CUDA_WORK_H
#define HC_KERNELS_CUDA_WORK_H

#include "kernels/cuda/cuda.h"

/* Count a launch with these arguments (struct hc_dk_...), and a product or a convolution by a
   library, which reads its inputs and writes its output once. */
void hc_cuda_count_launch(struct hc_queue *queue, enum hc_device_kernel which, const void *args);
void hc_cuda_count_call(struct hc_queue *queue, const struct hc_call *call);

/* The slot `work`. */
struct hc_work hc_cuda_work(const struct hc_queue *queue);

#endif
