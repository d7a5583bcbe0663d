/* Sweeps: claims over all inputs of a conversion or an operation, or over a stated part of them.

   A conversion from fp32 to fp16 has 2^32 inputs, few enough to try them all: the claim "every
   result is right" can be proved by looking at every result. It needs an expected side that is as
   fast as the kernel and that nobody has to trust. For conversions that is a table of breakpoints
   (breakpoints.h), for pairs of 16-bit numbers exact arithmetic in fp64 (pairs.h), for integers
   integer arithmetic; each is held against MPFR, at its breakpoints or on a seeded sample, in every
   run. On a device that can judge its results where they lie, the expected side is num/integer16.h
   instead (sweep_judged.h).

   Below level exhaustive a sweep takes the inputs at which something changes, and seeded ones. The
   inputs go to the backend in blocks of 4096, on several threads (threads.h), most of them without
   guards: what a kernel does outside its outputs is looked for in one block of 64,
   or of 1024 where all inputs are tried. */
#ifndef HC_CHECK_SWEEP_SWEEP_H
#define HC_CHECK_SWEEP_SWEEP_H

#include "check/check.h"

/* cast from fp32 to fp16 or bf16 in that direction. At every level: the first, middle and last
   input of each run of inputs that have one result, for both signs, and NaNs of every kind.
   Standard: also 16 seeded blocks of 65,536 neighbours. Exhaustive: all 2^32 inputs. */
void hc_sweep_from_fp32(struct hc_check *check, enum hc_format to, enum hc_direction direction);

/* cast from fp32 to a format of one byte, to nearest, saturating or not. The levels are those of
   hc_sweep_from_fp32. */
void hc_sweep_into_byte(struct hc_check *check, enum hc_format to, bool saturate);

/* cast from fp16 and from bf16 to a format of one byte, all 65,536 codes each. */
void hc_sweep_16_bits_into_byte(struct hc_check *check, enum hc_format to, bool saturate);

/* cast from fp64 to fp16 or bf16 in that direction, at every value of the target, every middle
   between two, and the fp64 values beside these. */
void hc_sweep_from_fp64(struct hc_check *check, enum hc_format to, enum hc_direction direction);

/* cast from i32 to fp16 in that direction: all integers up to 70,000 on both sides of 0, the ends,
   and 65,536 seeded ones of every length. Exhaustive: all 2^32. */
void hc_sweep_from_i32(struct hc_check *check, enum hc_direction direction);

/* add, sub, mul or div of two fp16 or two bf16 values, each x with all 65,536 y. Exhaustive: all x.
   Below that: boundary values of x (check/generate/boundary.h) and seeded ones. */
void hc_sweep_pairs(struct hc_check *check, enum hc_op op, enum hc_format format);

/* sqrt of all 65,536 codes. */
void hc_sweep_sqrt(struct hc_check *check, enum hc_format format);

/* fma over all triples of boundary values. Standard: also 2^18 seeded triples; exhaustive: 2^28. */
void hc_sweep_fma(struct hc_check *check, enum hc_format format);

/* Runs the call, which must give exactly want[i] in element i of its one output (at most 32 bits
   wide; NaN for NaN). One claim for all elements. */
void hc_claim_elements(struct hc_check *check, const struct hc_call *call, const uint32_t *want);

/* Claims that the sweeps find faults: each planted fault of `cast` (check/faults/casts.def) must
   be caught by the fp32 or the fp64 sweep into fp16 at level quick
   (check/selftest/sweep_faults.c). */
void hc_claim_sweeps_catch_faults(struct hc_check *check);

/* Claims that num/integer16.h, by which a device judges sweeps, agrees with breakpoints.h (cast
   from fp32) and pairs.h (add, sub, mul, div) on 64 seeded rows of 65,536 operands; exhaustive: on
   all. */
void hc_claim_judge(struct hc_check *check, enum hc_op op, enum hc_format to,
                    enum hc_direction direction);

#endif
