/* The graph slots of cuda-emulated. */
#ifndef HC_KERNELS_CUDA_EMULATE_GRAPH_H
#define HC_KERNELS_CUDA_EMULATE_GRAPH_H

#include "backend.h"

enum hc_status hc_emulated_capture(struct hc_queue *queue);
enum hc_status hc_emulated_captured(struct hc_queue *queue, struct hc_graph **graph);
enum hc_status hc_emulated_replay(struct hc_queue *queue, struct hc_graph *graph);
void hc_emulated_forget(struct hc_queue *queue, struct hc_graph *graph);

#endif
