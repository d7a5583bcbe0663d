/* How a unit's error enters the bounds of check/bound/sum.c: a block of b terms errs by less than
   U (b 2^-e + 1) of the sum of all magnitudes so far, U = 2^(1 - precision) where it cuts. */
#include "kernels/sim/sim.h"

struct hc_accumulator hc_sim_accumulator(const struct hc_unit *u)
{
    struct hc_accumulator plain = {
        .precision = u->output_fraction + 1,
        .block = 1,
        .flushes = u->inputs != HC_INPUTS_KEPT || u->underflow != HC_UNDERFLOW_GRADUAL,
    };
    struct hc_accumulator blocks = plain;
    blocks.block = u->piece;
    blocks.extra_bits = u->fraction - u->output_fraction;
    blocks.truncates = true;
    blocks.aligns_subnormals = true;
    blocks.takes_scales = u->scale != HC_OPERAND_NONE;
    switch (u->rule) {
    /* The largest term loses nothing, since a product has at most 22 bits and F >= 23, and one of
       fp8 at most 8 and F >= 13; nor does a largest C that is D of another piece, or of fp32 where
       F >= 23 (gemm.c has what else an fp32 C loses at the begin of a sum). Its exponent is at most
       that of its magnitude, with subnormal factors raised. So L terms lose less than 2^-F of that
       each, and the sum, cut to output_fraction bits f, less than 2^-f of itself: e = F - f. A
       zero's exponent cuts below 2^(zero_exponent - F). Where F >= 23 that is far below the 2^-149
       that the bound has for each term; where F is 13, products of fp8 that are not 0 are far above
       it, and C has what gemm.c says. */
    case HC_UNIT_FUSED:
        blocks.truncates = u->output == HC_ROUND_CUT;
        return blocks;
    /* A group's exponent is that of its scales, subnormal ones raised, and a product of e2m1's
       magnitudes, raised to 1 or more, is no smaller. So each group and C lose less than 2^-35 of
       the largest group's magnitude, and there are fewer of these than L. */
    case HC_UNIT_GROUPED:
        blocks.truncates = u->output == HC_ROUND_CUT;
        return blocks;
    /* L terms lose less than 2^-24 of the largest one each, as above; the sum floored at its own
       exponent or C's less than 2^-32, the last floor less than 2^-31 of the result, and rounding
       at most 2^-24 of it. With F = 24, f = 23, e = 1: U (L / 2 + 1) = 2^-24 (L + 2). The halves of
       fp8 are floored once more, by less than 2^-24 of the larger one's largest term, which lost
       nothing itself; a C that is left out is less than 2^-24 of it. */
    case HC_UNIT_FLOORED:
    case HC_UNIT_FLOORED_HALVES:
        return blocks;
    /* Rounded to odd, a sum of two errs by less than 2 u, as if it were cut. Nothing is lost by
       alignment, for which many extra bits stand. */
    case HC_UNIT_PAIR_THEN_C:
        plain.truncates = true;
        plain.extra_bits = 24;
        return plain;
    /* One rounding for L additions; n - 1 rounded additions of exact products, in some order. */
    default:
        return plain;
    }
}
