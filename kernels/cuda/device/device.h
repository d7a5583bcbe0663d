/* The CUDA runtime behind the backend cuda. */
#ifndef HC_KERNELS_CUDA_DEVICE_DEVICE_H
#define HC_KERNELS_CUDA_DEVICE_DEVICE_H

#include <cuda_runtime_api.h>

#include "backend.h"

/* HC_OK, or HC_NO_MEMORY or HC_DEVICE with the line "cuda: <what>: <CUDA's own words>". After an error
   that CUDA cannot go on from every later one is "cuda: the device is lost: " and what lost it. */
enum hc_status hc_cuda_check(cudaError_t error, const char *what);

/* Find out, once, whether device 0 can be used, and whether the libraries can, too: NULL if so,
   otherwise why not. */
const char *hc_cuda_no_device(void);
const char *hc_cuda_unavailable(void);

/* hc_launch of a kernel that is none of kernels/cuda/kernel/kernels.def: `entry` is its function on
   the host, args its one argument. */
enum hc_status hc_cuda_launch(struct hc_queue *queue, const char *name, void (*entry)(void),
                              int blocks, int threads, size_t shared, const void *args);

/* The slot `describe`: device 0, driver, libraries, and the queue's plans. */
void hc_cuda_describe(struct hc_queue *queue, hc_tell *tell, void *context);

/* That of device 0's matrix units; where it is unavailable, the widest known. */
struct hc_accumulator hc_cuda_accumulator_here(void);

/* With cuBLAS and cuDNN, and without. */
enum hc_status hc_cuda_open(struct hc_queue **queue, int threads);
enum hc_status hc_cuda_open_bare(struct hc_queue **queue, int threads);
void hc_cuda_close(struct hc_queue *queue);
void *hc_cuda_allocate(struct hc_queue *queue, size_t bytes);
void hc_cuda_release(struct hc_queue *queue, void *memory);
enum hc_status hc_cuda_upload(struct hc_queue *queue, void *to, const void *from, size_t bytes);
enum hc_status hc_cuda_download(struct hc_queue *queue, void *to, const void *from, size_t bytes);

enum hc_status hc_cuda_capture(struct hc_queue *queue);
enum hc_status hc_cuda_captured(struct hc_queue *queue, struct hc_graph **graph);
enum hc_status hc_cuda_replay(struct hc_queue *queue, struct hc_graph *graph);
void hc_cuda_forget(struct hc_queue *queue, struct hc_graph *graph);

extern const struct hc_backend hc_cuda_half, hc_cuda_cudnn;

#endif
