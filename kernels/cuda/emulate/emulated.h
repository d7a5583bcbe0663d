/* A backend of the emulation is a struct hc_backend of these functions (slots.inc), whose open
   calls hc_emulated_open with the table of its kernels, by enum hc_device_kernel. The tables differ
   in what made the kernels: for cuda-emulated it is the C compiler. */
#ifndef HC_KERNELS_CUDA_EMULATE_EMULATED_H
#define HC_KERNELS_CUDA_EMULATE_EMULATED_H

#include "backend.h"
#include "kernels/cuda/cuda.h"
#include "kernels/cuda/emulate/kernels.h"
#include "kernels/cuda/emulate/sum.h"
#include "kernels/cuda/op/families.h"
#include "kernels/cuda/work.h"

enum hc_status hc_emulated_open(struct hc_queue **queue, const struct hc_emulated_kernel *kernels);
void hc_emulated_close(struct hc_queue *queue);
void *hc_emulated_allocate(struct hc_queue *queue, size_t bytes);
void hc_emulated_release(struct hc_queue *queue, void *memory);
enum hc_status hc_emulated_upload(struct hc_queue *queue, void *to, const void *from, size_t bytes);
enum hc_status hc_emulated_download(struct hc_queue *queue, void *to, const void *from,
                                    size_t bytes);
enum hc_status hc_emulated_clear(struct hc_queue *queue, void *to, size_t bytes);
enum hc_status hc_emulated_capture(struct hc_queue *queue);
enum hc_status hc_emulated_captured(struct hc_queue *queue, struct hc_graph **graph);
enum hc_status hc_emulated_replay(struct hc_queue *queue, struct hc_graph *graph);
void hc_emulated_forget(struct hc_queue *queue, struct hc_graph *graph);
void hc_emulated_describe(struct hc_queue *queue, hc_tell *tell, void *context);

#endif
