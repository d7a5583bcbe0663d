#include "kernels/cuda/launch.h"

#include <assert.h>
#include <string.h>

#include "kernels/cuda/cuda.h"
#include "kernels/cuda/device/device.h"
#include "kernels/cuda/work.h"

/* nvcc makes a function on the host for each kernel, of the kernel's name. Its address identifies
   the kernel. */
#define HC_DEVICE_KERNEL(name)                                                                     \
    void hc_dk_##name##_entry(void);                                                               \
    extern const size_t hc_dk_##name##_size;
#include "kernels/cuda/kernel/kernels.def"
#undef HC_DEVICE_KERNEL

static const struct {
    const char *name;
    void (*entry)(void);
    const size_t *size;
} kernels[] = {
#define HC_DEVICE_KERNEL(name) {#name, hc_dk_##name##_entry, &hc_dk_##name##_size},
#include "kernels/cuda/kernel/kernels.def"
#undef HC_DEVICE_KERNEL
};

enum hc_status hc_cuda_launch(struct hc_queue *queue, const char *name, void (*entry)(void),
                              int blocks, int threads, size_t shared, const void *args)
{
    union {
        void (*function)(void);
        const void *symbol;
    } kernel = {entry};
    void *parameters[1];
    memcpy(parameters, &args, sizeof args); /* the runtime's parameter is not const */
    struct dim3 grid = {(unsigned)blocks, 1, 1};
    struct dim3 block = {(unsigned)threads, 1, 1};
    if (blocks == 0)
        return HC_OK;
    return hc_cuda_check(
        cudaLaunchKernel(kernel.symbol, grid, block, parameters, shared, queue->stream), name);
}

enum hc_status hc_launch(struct hc_queue *queue, enum hc_device_kernel which, int blocks,
                         int threads, size_t shared, const void *args, size_t args_size)
{
    assert(blocks >= 0 && threads >= 1 && threads <= HC_MAX_THREADS && shared <= HC_MAX_SHARED);
    assert(args_size == *kernels[which].size && args_size <= HC_MAX_ARGUMENTS);
    enum hc_status status = hc_cuda_settle(queue);
    if (status != HC_OK)
        return status;
    if (blocks > 0)
        hc_cuda_count_launch(queue, which, args);
    return hc_cuda_launch(queue, kernels[which].name, kernels[which].entry, blocks, threads, shared,
                          args);
}
