/* What the source of a device kernel may use. A kernel is C that nvcc compiles for the device and
   the C compiler for the emulation, so it keeps to what C and C++ share: pointers from void are
   cast.

     HC_ON_DEVICE void hc_dk_scale_body(const struct hc_call *c)   what one thread does
     HC_LAUNCHABLE(scale, struct hc_call)                          makes it a kernel

   and a row in kernels.def. Most kernels take the op's call as it is: its tensors, its parameters,
   its scratch. A kernel that needs more takes a struct of its own, plain data, which stands in a
   header because the launching side fills it in. The emulation switches threads only at hc_sync and
   hc_shuffle_down, in an order that changes. */
#ifndef HC_KERNELS_CUDA_KERNEL_DEVICE_H
#define HC_KERNELS_CUDA_KERNEL_DEVICE_H

#include <stddef.h>

#include "num/inline.h"

#ifdef __CUDACC__

#define HC_ON_DEVICE static inline __device__

#define HC_LAUNCHABLE(name, type)                                                                  \
    extern "C" const size_t hc_dk_##name##_size = sizeof(type);                                    \
    extern "C" __global__ void hc_dk_##name##_entry(type a);                                       \
    extern "C" __global__ void hc_dk_##name##_entry(type a)                                        \
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

HC_ON_DEVICE void hc_fence(void)
{
    __threadfence();
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

/* The kernels are compiled a second time with a call before each access to memory
   (kernels/cuda/shadow), under other names. */
#ifdef HC_SHADOW
#define HC_DK_SYMBOL(name, what) hc_shadow_##name##_##what
#else
#define HC_DK_SYMBOL(name, what) hc_dk_##name##_##what
#endif

#define HC_LAUNCHABLE(name, type)                                                                  \
    extern const size_t HC_DK_SYMBOL(name, size);                                                  \
    const size_t HC_DK_SYMBOL(name, size) = sizeof(type);                                          \
    void HC_DK_SYMBOL(name, entry)(const void *a);                                                 \
    void HC_DK_SYMBOL(name, entry)(const void *a)                                                  \
    {                                                                                              \
        hc_dk_##name##_body((const type *)a);                                                      \
    }

/* This thread's index in its block, and the block's size; the block's index in the grid, and the
   grid's size. */
int hc_thread(void);
int hc_threads(void);
int hc_block(void);
int hc_blocks(void);

/* The block's shared memory, aligned to 16, with nothing in it. */
void *hc_shared(void);

/* An access of this many bytes at once, which a device wants aligned to their number. */
void hc_vector_at(const void *at, size_t bytes);

/* hc_sync(): the threads of the block wait for each other, all in the same call of the source. */
void hc_sync_at(const char *file, int line);
#define hc_sync()                 hc_sync_at(__FILE__, __LINE__)

/* What this thread wrote before it, other blocks see before what it writes afterwards. */
void hc_fence(void);

/* hc_shuffle_down(float x, int delta): the value of x in the lane `delta` above this one, or the
   thread's own x where there is no such lane. All 32 lanes of the warp take part, in the same call
   of the source. */
float hc_shuffle_down_at(float x, int delta, const char *file, int line);
#define hc_shuffle_down(x, delta) hc_shuffle_down_at(x, delta, __FILE__, __LINE__)

/* Each returns the value from before. */
unsigned hc_atomic_or(unsigned *to, unsigned bits);
unsigned hc_atomic_max(unsigned *to, unsigned value);
unsigned hc_atomic_add(unsigned *to, unsigned value);

#endif

#endif
