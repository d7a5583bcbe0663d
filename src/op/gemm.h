/* Matrix product: out[m, n] = round(alpha * sum_k opA[m, k] opB[k, n] + beta * C[m, n]).
     a         [M, K], or [K, M] with transpose_a: float, fp64, e4m3, e5m2 or one of their FNUZ
               formats
     b         [K, N], or [N, K] with transpose_b: a's format; or the other one of e4m3 and e5m2,
               or of their FNUZ formats
     c         [M, N], or [N], which is added to every row: float; absent when beta is 0
     out       [M, N]: float
   All are fp64 if a is. Matrices are row-major. The accumulator is fp32; the order of the sum is
   free, fused or not. If K is 0 the sum is +0 whatever alpha is: out = round(fp32: 0 + beta * C),
   so that a zero is +0.

   e4m3 and e5m2 are OCP's (num/format.h): e4m3 has one NaN and no infinity, and 448 is its largest
   number. The FNUZ formats are those of AMD's MI300: other numbers, whose NaN is the code of -0.
   Products of two such numbers are exact in fp32. Nothing is scaled. A matrix unit may keep fewer
   bits of a sum of such products than fp32 has, as its backend then states; Hopper's and Ada's keep
   13 behind the point.

   tf32: an fp32 input may be taken as a tf32 number, rounded to nearest (infinite from
   2^128 (1 - 2^-12) on) or cut. 16-bit inputs have nothing to lose.

   half_accumulator: a and b are fp16; other formats are refused. alpha and beta are taken as fp16,
   C is rounded to it, and every product and partial sum is rounded or cut to it, in any order,
   fused or not. What exceeds 65504 on the way becomes infinite, or 65504 where it is cut. */
#ifndef HC_OP_GEMM_H
#define HC_OP_GEMM_H

#include <stdbool.h>

enum { HC_GEMM_A, HC_GEMM_B, HC_GEMM_C };
enum { HC_GEMM_OUT };

struct hc_gemm {
    bool transpose_a;
    bool transpose_b;
    double alpha;
    double beta;
    bool tf32;
    bool half_accumulator;
    bool as_given; /* op/call.h */
};

#endif
