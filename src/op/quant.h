/* Tensors of codes below half, and the scales that go with them.

   quantize: codes and scales of a matrix.
     x        [M, K]: fp32, bf16 or fp16
     scale    fp32 [1], the multiplier of HC_SCALE_GIVEN; absent under every other rule
     codes    [M, K], or [K, M] with `transpose`: e4m3, e5m2, a FNUZ format, e2m3, e3m2 or e2m1
     scales   [ceil(M / rows), ceil(K / columns)] of the blocks of what is quantised (x, or its
              transpose): what a code is multiplied by to decode it. fp32, e8m0 or ue4m3: as the
              rule stores it
     tensor   fp32 [1]: a second factor of every code; 1 except under the rules of two levels
     amax     fp32 [1]: the largest magnitude in x, NaNs dropped (fmax from 0)
   A block has `rows` rows and `columns` columns; 0 means all of them. At the end of a matrix that
   blocks do not divide, blocks are smaller. Each block, or the tensor, has an amax; the rule makes
   of it a decoding scale d and an encoding factor e, both fp32 (kernels/element/scale_rule.h says
   how; op/scale_rule.h lists the rules), and an element's code is RN_SAT(fl(x * e)): rounded to
   nearest even into the format of codes, saturating. x is taken as fp32.
     transpose    x's transpose is quantised, from x itself and never from codes. Blocks are those
                  of the transpose.
     hadamard     before anything else, each 16 neighbours within a row of what is quantised (K, or
                  M with `transpose`, is a multiple of 16) are multiplied by the signs
                  +++-+------+-+-- and then by Sylvester's 16 x 16 Hadamard matrix / 4, in fp32:
                  four stages of a + b and a - b at distances 1, 2, 4 and 8, each rounded, then a
                  product with 1/4. amax is that of the products, then.
     random_bits  not 0: k-bit stochastic rounding of fl(x * e) in place of to nearest, as in
                  stochastic_cast, with r = the upper k of the 16 bits of hc_round_random(seed,
                  step, i) (num/stochastic.h); i is the element's place in codes.

   What comes of bad input is stated, too. A block of zeros, or of NaNs alone, has the amax 0. An
   infinite element makes its block's amax infinite, and the rule says what the scale is then. A NaN
   element becomes a NaN code, and in e2m3, e3m2 and e2m1, which have no NaN, +M, as 0 times an
   infinite factor does. A given multiplier of 0 makes d infinite and codes of 0, a NaN NaNs
   everywhere, a negative one turns signs and keeps the product. No block has a negative size; a
   size that does not divide leaves smaller blocks at the end. An empty matrix has no blocks, and
   the amax 0.

   dequantize: y = round(fl(fl(code * d) * t)), in fp32; d is the block's scale, t is `tensor`.
     codes    [M, K] as above
     scales   as above, fp32, e8m0 or ue4m3
     tensor   fp32 [1], optional (1)
     y        [M, K]: fp32, bf16 or fp16

   delayed_scale: one update of delayed scaling for T tensors at once, by the rule of a system
   (op/delayed_rules.def; kernels/element/scale_delayed.h has all of them). te-delayed, each
   operation rounded to fp32:

       last = amax if it is not 0, else history[0]
       if last is not 0 (a tensor that was idle keeps its history and its scale):
           m = the largest of last and history[1] to history[L - 1], NaNs dropped
           history = history[1], ..., history[L - 1], last; then history[0] = 0
           if m is finite and above 0: scale = M 2^-margin / m, at most the largest fp32 number

   M is the largest number of the format of codes; `most_recent` takes last for m.
     amax         fp32 [T]: of this step; 0 for one that was idle
     history      fp32 [L, T]
     scale        fp32 [T]: the multiplier so far
     new_history  fp32 [L, T]; may be history itself
     new_scale    fp32 [T]; may be scale itself

   stochastic_cast: out = x rounded with k random bits. f is the part of an ulp of `out` at x that
   is cut off; the magnitude goes up if floor(f 2^k) + r >= 2^k. What is too large is decided after
   that.
     x       fp32, bf16 or fp16
     words   i32, as many: r is the low k bits
     out     any float format of 16 bits or less but e8m0

   gemm_q: out[m, n] = round(fp32: ta tb sum over k of A[m, k] dA B[n, k] dB + C[m, n]).
     a         [M, K] codes: e4m3, e5m2, a FNUZ format, e2m3, e3m2 or e2m1
     b         [N, K] codes: like a, or the other one of e4m3 and e5m2, or of their FNUZ formats.
               Both operands lie with K inside, as matrix units take them.
     c         [M, N] float, optional (0)
     a_scales  as quantize gives them for [M, K] with blocks of a_rows x a_columns
     a_tensor  fp32 [1], optional (1)
     b_scales  as quantize gives them for [N, K] with blocks of b_rows x b_columns
     b_tensor  fp32 [1], optional (1)
     out       [M, N]: fp32, bf16 or fp16
   K is cut into pieces at every multiple of a_columns, of b_columns and of `promote` (0: none). A
   piece's sum P of products of codes is taken in fp32, or in the accumulator that the backend
   states; its order is free. The pieces follow one another: acc = fma(fl(P * dA), dB, acc) in fp32,
   from +0; with one piece, acc = fl(fl(P * dA) * dB). Then out = round(fl(fl(ta * tb) * acc) + C)
   in fp32, where the first product is left out if both are absent, and the sum if C is. If K is 0,
   acc and its product are +0 whatever the tensors' factors are.
     A unit that takes the scales itself, as those for MX and NVFP4 do, multiplies each product by
   its two scales before anything is summed. Where the backend states such an accumulator
   (takes_scales) for the call, K is cut at multiples of `promote` alone, the scales are in P, and
   acc = fl(acc + P).
     Scales are taken as they are: one of 0 makes its piece a zero, one that is NaN makes NaN of
   each element that takes part in it, an infinite one makes them infinite, or NaN where P is 0. No
   format of codes below 8 bits holds a NaN or an infinity; those of 8 bits go into P as IEEE's do.
   The high bits of a byte that its format does not use are not looked at. */

/* A convolution as a product of matrices: y [N P Q, K] = columns w', where w [K, R, R, C] is taken
   as a matrix [K, R R C]. A row of columns holds what the filter meets at one pixel of y.
   P = (H + 2 pad - R) / stride + 1, and Q likewise.

   im2col: columns [N P Q, R R C], in the order of y's pixels and of w's elements: copies of x, and
   +0 where there is padding.
     x        [N, H, W, C]: fp32, bf16 or fp16
     columns  of x's format

   col2im: dx [N, H, W, C] = round(fp32: the sum, from +0 and each addition rounded, of the columns
   that im2col copies the element to, in the order of the filter's rows, and then its columns).
     columns  fp32, bf16 or fp16
     dx       fp32, bf16 or fp16 */
#ifndef HC_OP_QUANT_H
#define HC_OP_QUANT_H

#include <stdbool.h>
#include <stdint.h>

#include "num/inline.h"
#include "op/scale_rule.h"

/* Neighbours that a Hadamard matrix takes together. */
enum { HC_HADAMARD = 16 };

enum { HC_QUANTIZE_MAX_RANDOM_BITS = 16, HC_DELAYED_MAX_MARGIN = 100 };

/* The extent of a block of `size` of a matrix: no more than the matrix has, and all with size 0. */
HC_INLINE int64_t hc_quant_block(int64_t extent, int64_t size)
{
    return size > 0 && size < extent ? size : extent;
}

/* The blocks of `size` that an extent is cut into; the last one may be smaller. With size 0 it is
   one block. */
int64_t hc_quant_blocks(int64_t extent, int64_t size);

enum { HC_QUANTIZE_X, HC_QUANTIZE_SCALE };
enum { HC_QUANTIZE_CODES, HC_QUANTIZE_SCALES, HC_QUANTIZE_TENSOR, HC_QUANTIZE_AMAX };

struct hc_quantize {
    enum hc_scale_rule rule;
    int64_t rows, columns; /* of a block; 0: all */
    bool transpose;
    bool hadamard;
    int random_bits; /* 0: to nearest; else 1 to HC_QUANTIZE_MAX_RANDOM_BITS */
    uint64_t seed;
    int64_t step;
};

enum { HC_DEQUANTIZE_CODES, HC_DEQUANTIZE_SCALES, HC_DEQUANTIZE_TENSOR };
enum { HC_DEQUANTIZE_Y };

struct hc_dequantize {
    int64_t rows, columns;
};

enum { HC_DELAYED_AMAX, HC_DELAYED_HISTORY, HC_DELAYED_SCALE };
enum { HC_DELAYED_NEW_HISTORY, HC_DELAYED_NEW_SCALE };

struct hc_delayed_scale {
    enum hc_delayed_rule rule;
    enum hc_format codes; /* whose largest number is M */
    int margin;
    bool most_recent; /* the last amax alone, and not the history's largest */
};

enum { HC_STOCHASTIC_X, HC_STOCHASTIC_WORDS };
enum { HC_STOCHASTIC_OUT };

enum { HC_STOCHASTIC_MAX_BITS = 24 };

struct hc_stochastic_cast {
    int bits; /* k, 1 to 24 */
    bool saturate;
};

/* a, b and c stand where gemm has them. */
enum {
    HC_GEMM_Q_A,
    HC_GEMM_Q_B,
    HC_GEMM_Q_C,
    HC_GEMM_Q_A_SCALES,
    HC_GEMM_Q_A_TENSOR,
    HC_GEMM_Q_B_SCALES,
    HC_GEMM_Q_B_TENSOR
};
enum { HC_GEMM_Q_OUT };

struct hc_gemm_q {
    int64_t a_rows, a_columns; /* of a block; 0: all */
    int64_t b_rows, b_columns;
    int64_t promote; /* the longest sum in the unit's own accumulator; 0: any length */
};

/* Where the piece of gemm_q's sum that begins at term `from` of k ends. */
HC_INLINE int64_t hc_gemm_q_piece_end(const struct hc_gemm_q *p, int64_t from, int64_t k)
{
    const int64_t sizes[] = {p->a_columns, p->b_columns, p->promote};
    int64_t end = k;
    for (int i = 0; i < 3; i++)
        if (sizes[i] > 0 && sizes[i] - from % sizes[i] < end - from)
            end = from + (sizes[i] - from % sizes[i]);
    return end;
}
enum { HC_IM2COL_X };
enum { HC_IM2COL_COLUMNS };
enum { HC_COL2IM_COLUMNS };
enum { HC_COL2IM_DX };

struct hc_columns {
    int kernel; /* R */
    int stride;
    int pad;
};

#endif
