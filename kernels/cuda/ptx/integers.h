/* The instructions of PTX on integers that are more than an expression of C. The headings are those
   of the PTX ISA's sections. Operands come widened to 64 bits, and the caller cuts the result. */
#ifndef HC_KERNELS_CUDA_PTX_INTEGERS_H
#define HC_KERNELS_CUDA_PTX_INTEGERS_H

#include <stdint.h>

#include "kernels/cuda/ptx/memory.h"

/* Integer Arithmetic Instructions. */

/* The ISA leaves a division by zero open, so that no kernel may do it. */
static inline uint64_t hc_ptx_div_u(uint64_t a, uint64_t b)
{
    return b ? a / b : hc_ptx_divided_by_zero();
}

static inline uint64_t hc_ptx_rem_u(uint64_t a, uint64_t b)
{
    return b ? a % b : hc_ptx_divided_by_zero();
}

/* C leaves INT64_MIN / -1 open. The ISA says nothing of it; as a negation it wraps. */
static inline uint64_t hc_ptx_div_s(int64_t a, int64_t b)
{
    if (b == -1)
        return -(uint64_t)a;
    return b ? (uint64_t)(a / b) : hc_ptx_divided_by_zero();
}

static inline uint64_t hc_ptx_rem_s(int64_t a, int64_t b)
{
    if (b == -1)
        return 0;
    return b ? (uint64_t)(a % b) : hc_ptx_divided_by_zero();
}

static inline uint64_t hc_ptx_mul_hi_u64(uint64_t a, uint64_t b)
{
    __extension__ typedef unsigned __int128 wide;
    return (uint64_t)((wide)a * b >> 64);
}

/* A position beyond the word inserts nothing, and bits of the field beyond it are lost. Position
   and length are bytes. */
static inline uint64_t hc_ptx_bfi(uint64_t field, uint64_t into, uint64_t position, uint64_t length,
                                  unsigned width)
{
    position &= 0xff;
    length &= 0xff;
    uint64_t ones = length > 63 ? ~UINT64_C(0) : (UINT64_C(1) << length) - 1;
    uint64_t mask = position >= width ? 0 : ones << position;
    return (into & ~mask) | (position >= width ? 0 : field << position & mask);
}

static inline uint64_t hc_ptx_bfe_u32(uint64_t from, uint64_t position, uint64_t length)
{
    position &= 0xff;
    length &= 0xff;
    uint64_t ones = length > 31 ? UINT64_C(0xffffffff) : (UINT64_C(1) << length) - 1;
    return position > 31 ? 0 : from >> position & ones;
}

/* Logic and Shift Instructions. A shift by more than the width is one by the width. */

static inline uint64_t hc_ptx_shl(uint64_t a, uint64_t by)
{
    return by > 63 ? 0 : a << by;
}

static inline uint64_t hc_ptx_shr_u(uint64_t a, uint64_t by)
{
    return by > 63 ? 0 : a >> by;
}

static inline uint64_t hc_ptx_shr_s(int64_t a, uint64_t by)
{
    return (uint64_t)(a >> (by > 63 ? 63 : by));
}

/* The upper word of b:a shifted left, the lower one of it shifted right, by the last 5 bits. */
static inline uint64_t hc_ptx_shf_l_wrap(uint64_t a, uint64_t b, uint64_t by)
{
    return (b << 32 | a) << (by & 31) >> 32;
}

static inline uint64_t hc_ptx_shf_r_wrap(uint64_t a, uint64_t b, uint64_t by)
{
    return (b << 32 | a) >> (by & 31);
}

/* Byte i of the result is the byte of b:a that the i-th half-byte of the selector names; with its
   top bit set, eight times that byte's sign. */
static inline uint64_t hc_ptx_prmt(uint64_t a, uint64_t b, uint64_t selector)
{
    uint64_t result = 0;
    for (int i = 0; i < 4; i++) {
        uint64_t choice = selector >> 4 * i;
        uint64_t byte = (b << 32 | a) >> 8 * (choice & 7) & 0xff;
        if (choice & 8)
            byte = byte & 0x80 ? 0xff : 0;
        result |= byte << 8 * i;
    }
    return result;
}

#endif
