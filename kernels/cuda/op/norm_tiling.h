/* How the wrappers of batch norm cut their tensors. */
#ifndef HC_KERNELS_CUDA_OP_NORM_TILING_H
#define HC_KERNELS_CUDA_OP_NORM_TILING_H

#include "kernels/cuda/kernel/norm.h"
#include "kernels/cuda/op/wrapper.h"

/* The most slices whose sums are added up; a walk without sums gets as many blocks as any other. */
enum { HC_CUDA_NORM_SLICES = 256 };

/* Slices of no fewer than four rows a thread, and no more than `most` of them, which depends on x's
   shape alone. Vectors where the channels come in fours and `tensors`, NULL at their end, all have one
   format and data aligned to a vector; without tensors none are asked for. */
struct hc_dk_tiling hc_cuda_norm_tiling(const struct hc_tensor *x, int most,
                                        const struct hc_tensor *const *tensors);

/* Blocks of tiles and slices; blocks of 32 channels that add up the slices. */
enum hc_status hc_cuda_norm_launch(struct hc_queue *queue, enum hc_device_kernel which,
                                   const struct hc_dk_tiling *rows, bool sums, const void *args,
                                   size_t args_size);
enum hc_status hc_cuda_norm_add_slices(struct hc_queue *queue, enum hc_device_kernel which,
                                       const struct hc_dk_tiling *rows, const void *args,
                                       size_t args_size);

#endif
