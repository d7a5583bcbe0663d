/* Memory as PTX instructions see it. Addresses of global and local memory are the CPU's; those of
   shared memory and of a kernel's parameters count from their beginning. What a device would refuse
   or leave open ends the program, with a line that names the file and line of the PTX. */
#ifndef HC_KERNELS_CUDA_PTX_MEMORY_H
#define HC_KERNELS_CUDA_PTX_MEMORY_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "kernels/cuda/kernel/device.h"

/* A place in the PTX: file and line. */
struct hc_ptx_site {
    const char *file;
    int line;
};

_Noreturn void hc_ptx_misaligned(struct hc_ptx_site site, uint64_t address, size_t bytes);
_Noreturn void hc_ptx_outside(struct hc_ptx_site site, const char *what, uint64_t address,
                              size_t bytes, size_t size);
_Noreturn void hc_ptx_shuffled(struct hc_ptx_site site);
_Noreturn uint64_t hc_ptx_divided_by_zero(void);

/* The block's shared memory in bytes. */
size_t hc_ptx_shared_bytes(void);

/* Operands as Addresses, "Alignment": an access is aligned to its size, a vector to that of all its
   elements. */
static inline void *hc_ptx_global(struct hc_ptx_site site, uint64_t address, size_t bytes)
{
    if (address % bytes)
        hc_ptx_misaligned(site, address, bytes);
    return (void *)(uintptr_t)address;
}

static inline void *hc_ptx_within(struct hc_ptx_site site, const char *what, void *memory,
                                  size_t size, uint64_t at, size_t bytes)
{
    if (at % bytes)
        hc_ptx_misaligned(site, at, bytes);
    if (at > size || bytes > size - at)
        hc_ptx_outside(site, what, at, bytes, size);
    return (unsigned char *)memory + at;
}

static inline void *hc_ptx_shared(struct hc_ptx_site site, uint64_t address, size_t bytes)
{
    return hc_ptx_within(site, "shared memory", hc_shared(), hc_ptx_shared_bytes(), address, bytes);
}

/* Element i of the vector at an address. */
static inline uint8_t hc_ptx_load_8(const void *from, int i)
{
    return ((const uint8_t *)from)[i];
}

static inline uint16_t hc_ptx_load_16(const void *from, int i)
{
    uint16_t bits;
    memcpy(&bits, (const unsigned char *)from + (size_t)i * sizeof bits, sizeof bits);
    return bits;
}

static inline uint32_t hc_ptx_load_32(const void *from, int i)
{
    uint32_t bits;
    memcpy(&bits, (const unsigned char *)from + (size_t)i * sizeof bits, sizeof bits);
    return bits;
}

static inline uint64_t hc_ptx_load_64(const void *from, int i)
{
    uint64_t bits;
    memcpy(&bits, (const unsigned char *)from + (size_t)i * sizeof bits, sizeof bits);
    return bits;
}

static inline void hc_ptx_store_8(void *to, int i, uint8_t bits)
{
    ((uint8_t *)to)[i] = bits;
}

static inline void hc_ptx_store_16(void *to, int i, uint16_t bits)
{
    memcpy((unsigned char *)to + (size_t)i * sizeof bits, &bits, sizeof bits);
}

static inline void hc_ptx_store_32(void *to, int i, uint32_t bits)
{
    memcpy((unsigned char *)to + (size_t)i * sizeof bits, &bits, sizeof bits);
}

static inline void hc_ptx_store_64(void *to, int i, uint64_t bits)
{
    memcpy((unsigned char *)to + (size_t)i * sizeof bits, &bits, sizeof bits);
}

/* shfl.sync.down of a whole warp. *inside: whether the lane `delta` above is there. */
static inline uint32_t hc_ptx_shuffle_down(struct hc_ptx_site site, uint32_t bits, uint32_t delta,
                                           uint32_t clamp, uint32_t mask, _Bool *inside)
{
    if (clamp != 31 || mask != 0xffffffffu || delta > 31)
        hc_ptx_shuffled(site);
    float value;
    memcpy(&value, &bits, sizeof value);
    value = hc_shuffle_down_at(value, (int)delta, site.file, site.line);
    memcpy(&bits, &value, sizeof bits);
    *inside = (uint32_t)hc_thread() % 32 + delta < 32;
    return bits;
}

#endif
