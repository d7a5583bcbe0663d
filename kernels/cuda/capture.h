/* What both cuda backends keep of a capture. */
#ifndef HC_KERNELS_CUDA_CAPTURE_H
#define HC_KERNELS_CUDA_CAPTURE_H

#include <stdbool.h>

#include "op/status.h"

struct hc_queue;

/* Whether the queue may do `what` now. While a graph is captured it may not: false, with a line, and
   the capture is spoilt. */
bool hc_cuda_capture_allows(struct hc_queue *queue, const char *what);

/* The capture is over: HC_OK, or HC_DEVICE with the line of what spoilt it. */
enum hc_status hc_cuda_capture_ends(struct hc_queue *queue);

#endif
