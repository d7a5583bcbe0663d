/* What a queue of either cuda backend may do while a graph is captured. */
#ifndef HC_KERNELS_CUDA_CAPTURE_H
#define HC_KERNELS_CUDA_CAPTURE_H

#include <stdbool.h>

#include "op/status.h"

struct hc_queue;

/* Whether the queue may do `what`, which a capture does not allow. During a capture it returns
   false with a line, and the capture will fail. Otherwise the launch that waits comes first. */
bool hc_cuda_capture_allows(struct hc_queue *queue, const char *what);

/* Before the end of a capture: the launch that waits belongs to it. */
void hc_cuda_capture_completes(struct hc_queue *queue);

/* Ends the capture. HC_OK, or HC_DEVICE with a line that names what was done and not allowed. */
enum hc_status hc_cuda_capture_ends(struct hc_queue *queue);

#endif
