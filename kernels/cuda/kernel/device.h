/* What a device kernel may use. Its source is C that nvcc compiles for the device and the C compiler
   for the emulation:

     struct hc_dk_scale {...};                                     plain data; in a header, since the
                                                                   launching side fills it in
     HC_ON_DEVICE void hc_dk_scale_body(const struct hc_dk_scale *a)  what one thread does
     HC_LAUNCHABLE(scale)                                          makes it a kernel

   and a row in device_kernels.def. Pointers from void want a cast, nvcc reads C++. The emulation
   switches threads at hc_sync and hc_shuffle_down only, in an order that changes. */
#ifndef HC_KERNELS_CUDA_KERNEL_DEVICE_H
#define HC_KERNELS_CUDA_KERNEL_DEVICE_H

#include <stddef.h>

#include "num/inline.h"

#ifdef __CUDACC__

#define HC_ON_DEVICE static inline __device__

#define HC_LAUNCHABLE(name)                                                                        \
    extern "C" const size_t hc_dk_##name##_size = sizeof(struct hc_dk_##name);                     \
    extern "C" __global__ void hc_dk_##name##_entry(struct hc_dk_##name a);                        \
    extern "C" __global__ void hc_dk_##name##_entry(struct hc_dk_##name a)                         \
    {                                                                                              \
        hc_dk_##name##_body(&a);                                                                   \
    }

HC_ON_DEVICE int hc_thread(void)
{
    return (int)threadIdx.x;
}

HC_ON_DEVICE int hc_threads(void)
{
    return (int)blockDim.x;
}

HC_ON_DEVICE int hc_block(void)
{
    return (int)blockIdx.x;
}

HC_ON_DEVICE int hc_blocks(void)
{
    return (int)gridDim.x;
}

HC_ON_DEVICE void *hc_shared(void)
{
    extern __shared__ __align__(16) unsigned char hc_shared_bytes[];
    return hc_shared_bytes;
}

HC_ON_DEVICE void hc_sync(void)
{
    __syncthreads();
}

HC_ON_DEVICE float hc_shuffle_down(float x, int delta)
{
    return __shfl_down_sync(0xffffffffu, x, (unsigned)delta);
}

HC_ON_DEVICE unsigned hc_atomic_or(unsigned *to, unsigned bits)
{
    return atomicOr(to, bits);
}

HC_ON_DEVICE unsigned hc_atomic_max(unsigned *to, unsigned value)
{
    return atomicMax(to, value);
}

HC_ON_DEVICE unsigned hc_atomic_add(unsigned *to, unsigned value)
{
    return atomicAdd(to, value);
}

#else

#define HC_ON_DEVICE static inline

#define HC_LAUNCHABLE(name)                                                                        \
    extern const size_t hc_dk_##name##_size;                                                       \
    const size_t hc_dk_##name##_size = sizeof(struct hc_dk_##name);                                \
    void hc_dk_##name##_entry(const void *a);                                                      \
    void hc_dk_##name##_entry(const void *a)                                                       \
    {                                                                                              \
        hc_dk_##name##_body((const struct hc_dk_##name *)a);                                       \
    }

/* This thread's index in its block, and the block's size; the block's index in the grid, and the
   grid's size. */
int hc_thread(void);
int hc_threads(void);
int hc_block(void);
int hc_blocks(void);

/* The block's shared memory, aligned to 16, with nothing in it. */
void *hc_shared(void);

/* hc_sync(): all threads of the block wait for each other, in the same call of the source. */
void hc_sync_at(const char *file, int line);
#define hc_sync()                 hc_sync_at(__FILE__, __LINE__)

/* hc_shuffle_down(float x, int delta): the value of x in the lane `delta` above this one in its warp of
   32, all of which take part, in the same call of the source; the thread's own x where there is no such
   lane. */
float hc_shuffle_down_at(float x, int delta, const char *file, int line);
#define hc_shuffle_down(x, delta) hc_shuffle_down_at(x, delta, __FILE__, __LINE__)

/* Return what was there before. */
unsigned hc_atomic_or(unsigned *to, unsigned bits);
unsigned hc_atomic_max(unsigned *to, unsigned value);
unsigned hc_atomic_add(unsigned *to, unsigned value);

#endif

#endif
