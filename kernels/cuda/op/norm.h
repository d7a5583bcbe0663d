/* What batch norm's launches share (norm.c), for those of a batch that ranks share (norm_ranks.c).
 */
#ifndef HC_KERNELS_CUDA_OP_NORM_H
#define HC_KERNELS_CUDA_OP_NORM_H

#include "kernels/cuda/cuda.h"
#include "kernels/cuda/kernel/norm.h"
#include "kernels/cuda/launch.h"

/* Launch a kernel of sums, and one over elements. `tensors` are those that are read or written, x
   first, up to a NULL: on them it depends whether vectors are read. */
enum hc_status hc_cuda_norm_sums(struct hc_queue *queue, enum hc_device_kernel which,
                                 struct hc_dk_norm *a, const struct hc_tensor *const *tensors);
enum hc_status hc_cuda_norm_elements(struct hc_queue *queue, enum hc_device_kernel which,
                                     struct hc_dk_norm *a, const struct hc_tensor *const *tensors);

#endif
