/* Everything of gemm_q (op/quant.h) but its sums: the scales, how pieces are added, and the end of
   the whole. Every backend has the same text. */
#ifndef HC_KERNELS_ELEMENT_QUANT_GEMM_H
#define HC_KERNELS_ELEMENT_QUANT_GEMM_H

#include <math.h>
#include <stdint.h>

#include "num/bits.h"
#include "num/format.h"
#include "num/inline.h"
#include "op/call.h"

/* The scales of a matrix: those of the blocks of `rows` rows and `columns` columns, `across` of
   which lie side by side. */
struct hc_block_scales {
    enum hc_format format;
    const void *data;
    int64_t rows, columns; /* of a block; never 0 */
    int64_t across;
};

/* Exact. e8m0's 2^-127 is subnormal in fp32; 0 is not one of its numbers. */
HC_INLINE float hc_e8m0_value(uint8_t code)
{
    if (code == 0xff)
        return hc_fp32_value(0x7fc00000u);
    return hc_fp32_value(code == 0 ? 0x00400000u : (uint32_t)code << 23);
}

/* e4m3 without a sign, whose bit is not looked at. */
HC_INLINE float hc_ue4m3_value(uint8_t code)
{
    uint32_t magnitude = code & 0x7fu;
    if (magnitude == 0x7f)
        return hc_fp32_value(0x7fc00000u);
    if (magnitude < 8)
        return (float)magnitude * 0.001953125f; /* 2^-9 */
    return hc_fp32_value((magnitude << 20) + 0x3c000000u);
}

/* How the codes of a format become fp32, as numbers for a loop without branches (num/encode.h has
   the definition). */
struct hc_code_decoder {
    uint32_t mask, sign;     /* of the magnitude, and of the sign */
    uint32_t first, largest; /* magnitudes: the smallest normal number, the largest number */
    uint32_t infinity, nan;  /* the magnitude that is infinite, FNUZ's code that is NaN */
    uint32_t offset;         /* between the exponent fields */
    int shift;               /* between the fractions */
    float tiny;              /* the smallest positive number */
};

HC_INLINE struct hc_code_decoder hc_code_decoder_of(const struct hc_format_info *f)
{
    int fraction = f->precision - 1;
    uint32_t all = (1u << (f->bits - 1)) - 1;
    int ieee = f->special == HC_SPECIAL_IEEE;
    struct hc_code_decoder d;
    d.mask = all;
    d.sign = all + 1;
    d.first = 1u << fraction;
    d.infinity = ieee ? all >> fraction << fraction : all + 1;
    d.largest = ieee ? d.infinity - 1 : f->special == HC_SPECIAL_FN ? all - 1 : all;
    d.nan = f->special == HC_SPECIAL_FNUZ ? all + 1 : ~0u;
    d.offset = (uint32_t)(126 + f->emin) << 23;
    d.shift = 23 - fraction;
    d.tiny = hc_fp32_value((uint32_t)(127 + f->emin - fraction) << 23);
    return d;
}

/* x or y, without a branch. */
HC_INLINE uint32_t hc_chosen(int is_x, uint32_t x, uint32_t y)
{
    return y ^ ((x ^ y) & (0u - (uint32_t)is_x));
}

/* Bits above the code's are not looked at. */
HC_INLINE float hc_code_value(const struct hc_code_decoder *d, uint8_t byte)
{
    uint32_t code = byte & (d->mask | d->sign);
    uint32_t m = code & d->mask;
    uint32_t subnormal = hc_fp32_bits((float)(int32_t)m * d->tiny);
    uint32_t normal = (m << d->shift) + d->offset;
    uint32_t bits = hc_chosen(m < d->first, subnormal, normal);
    uint32_t special = hc_chosen(m == d->infinity, 0x7f800000u, 0x7fc00000u);
    bits = hc_chosen((m > d->largest) | (code == d->nan), special, bits);
    return hc_fp32_value(bits | (uint32_t)(code >= d->sign) << 31);
}

/* Scale i of a tensor of scales. */
HC_INLINE float hc_scale_at(enum hc_format format, const void *data, int64_t i)
{
    switch (format) {
    case HC_E8M0:
        return hc_e8m0_value(((const uint8_t *)data)[i]);
    case HC_UE4M3:
        return hc_ue4m3_value(((const uint8_t *)data)[i]);
    default:
        return ((const float *)data)[i];
    }
}

/* The scale of the block in which the element lies. */
HC_INLINE float hc_block_scale(const struct hc_block_scales *s, int64_t row, int64_t column)
{
    return hc_scale_at(s->format, s->data, row / s->rows * s->across + column / s->columns);
}

/* The scales of gemm_q's factors; reads the shapes of their tensors. */
HC_INLINE struct hc_block_scales hc_block_scales_of(const struct hc_tensor *codes,
                                                    const struct hc_tensor *scales, int64_t rows,
                                                    int64_t columns)
{
    struct hc_block_scales s;
    s.format = scales->format;
    s.data = scales->data;
    s.rows = hc_quant_block(codes->shape[0], rows);
    s.columns = hc_quant_block(codes->shape[1], columns);
    s.across = scales->shape[1];
    return s;
}

HC_INLINE struct hc_block_scales hc_gemm_q_a_scales(const struct hc_call *call)
{
    return hc_block_scales_of(&call->in[HC_GEMM_Q_A], &call->in[HC_GEMM_Q_A_SCALES],
                              call->params.gemm_q.a_rows, call->params.gemm_q.a_columns);
}

HC_INLINE struct hc_block_scales hc_gemm_q_b_scales(const struct hc_call *call)
{
    return hc_block_scales_of(&call->in[HC_GEMM_Q_B], &call->in[HC_GEMM_Q_B_SCALES],
                              call->params.gemm_q.b_rows, call->params.gemm_q.b_columns);
}

/* acc and a piece's sum. The first product is rounded; so is the second, together with the sum
   unless the piece is the only one. */
HC_INLINE float hc_add_piece(float acc, float piece, float da, float db, int only)
{
    float scaled = piece * da;
    return only ? scaled * db : fmaf(scaled, db, acc);
}

/* ta and tb, and C, which may be absent. */
struct hc_gemm_q_end {
    float factor;
    int has_factor;
};

/* `a` and `b` are NULL where they are absent. */
HC_INLINE struct hc_gemm_q_end hc_gemm_q_end_of(const float *a, const float *b)
{
    struct hc_gemm_q_end end = {(a ? *a : 1.0f) * (b ? *b : 1.0f), a || b};
    return end;
}

/* Before C is added. A sum of no terms is +0. */
HC_INLINE float hc_gemm_q_scaled(const struct hc_gemm_q_end *end, float acc, int64_t terms)
{
    return end->has_factor && terms > 0 ? end->factor * acc : acc;
}

#endif
