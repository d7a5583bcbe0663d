/* The backends of the plug-in on the CUDA runtime: cuda, cuda-half and cuda-cudnn share these
   slots.

   A queue is a CUDA stream with the handles of the libraries on it. Launches and library calls are
   queued on the stream and return at once, and so are uploads as far as the staging memory goes
   (memory.c); downloads wait for the stream, and report what went wrong on it. After an error from
   which CUDA cannot recover, every call fails with a line that says what lost the device. */
#ifndef HC_KERNELS_CUDA_DEVICE_DEVICE_H
#define HC_KERNELS_CUDA_DEVICE_DEVICE_H

#include <cuda_runtime_api.h>

#include "backend.h"

/* HC_OK, or HC_NO_MEMORY or HC_DEVICE with the line "cuda: <what>: <CUDA's own words>". After an
   error from which CUDA cannot recover, later lines are "cuda: the device is lost: " and that
   error. */
enum hc_status hc_cuda_check(cudaError_t error, const char *what);

/* The device that this process uses: that of its number among the processes which mpirun or Slurm
   started on this machine, so that each has one of its own where there are enough; 0 for a process
   alone. */
int hc_cuda_number(void);

/* Why that device cannot be used, and why it cannot be used with the libraries; NULL if it can. The
   first call finds out. */
const char *hc_cuda_no_device(void);
const char *hc_cuda_unavailable(void);

/* Launches a kernel like hc_launch, also one that is not in kernels.def. `entry` is the kernel's
   function on the host, args points to its one argument. */
enum hc_status hc_cuda_launch(struct hc_queue *queue, const char *name, void (*entry)(void),
                              int blocks, int threads, size_t shared, const void *args);

/* The driver's own version, such as 580.65.06, or "" where it cannot be read. */
void hc_cuda_driver(char text[64]);

/* The slot `describe`: the device, driver, libraries, and the plans of the queue. */
void hc_cuda_describe(struct hc_queue *queue, hc_tell *tell, void *context);

/* The accumulator of the device's matrix units, or of no known device if there is none. */
struct hc_accumulator hc_cuda_accumulator_here(void);

/* The slot `open`, with cuBLAS and cuDNN and without. */
enum hc_status hc_cuda_open(const struct hc_backend *backend, struct hc_queue **queue, int threads);
enum hc_status hc_cuda_open_without_libraries(const struct hc_backend *backend,
                                              struct hc_queue **queue, int threads);
void hc_cuda_close(struct hc_queue *queue);

/* What a queue has for its memory (memory.c), and the slots that use it. */
enum hc_status hc_cuda_memory_open(struct hc_queue *queue);
void hc_cuda_memory_close(struct hc_queue *queue);
void *hc_cuda_allocate(struct hc_queue *queue, size_t bytes);
void hc_cuda_release(struct hc_queue *queue, void *memory);
enum hc_status hc_cuda_upload(struct hc_queue *queue, void *to, const void *from, size_t bytes);
enum hc_status hc_cuda_download(struct hc_queue *queue, void *to, const void *from, size_t bytes);

enum hc_status hc_cuda_clear(struct hc_queue *queue, void *to, size_t bytes);

/* The slot `stream`. */
void *hc_cuda_stream(struct hc_queue *queue);

enum hc_status hc_cuda_capture(struct hc_queue *queue);
enum hc_status hc_cuda_captured(struct hc_queue *queue, struct hc_graph **graph);
enum hc_status hc_cuda_replay(struct hc_queue *queue, struct hc_graph *graph);
void hc_cuda_forget(struct hc_queue *queue, struct hc_graph *graph);

extern const struct hc_backend hc_cuda_half, hc_cuda_cudnn;

#endif
