/* Sweeps: claims over all inputs of a conversion or an operation, or over a stated part of them. */
#ifndef HC_CHECK_SWEEP_SWEEP_H
#define HC_CHECK_SWEEP_SWEEP_H

#include "check/check.h"

/* cast from fp32 to fp16 or bf16 in that direction. Always: the first, middle and last input of
   each run of inputs that have one result, for both signs, and NaN of every kind. Standard: besides,
   16 seeded blocks of 65,536 neighbours. Exhaustive: all 2^32 inputs. The expected side is
   check/sweep/breakpoints.h. */
void hc_sweep_from_fp32(struct hc_check *check, enum hc_format to, enum hc_direction direction);

/* cast from fp64 to fp16 or bf16 in that direction, at every value of the target, every middle
   between two, and the fp64 values beside these. */
void hc_sweep_from_fp64(struct hc_check *check, enum hc_format to, enum hc_direction direction);

/* cast from i32 to fp16 in that direction: all integers up to 70,000 on both sides, the ends, and 65,536
   seeded ones of every length. Exhaustive: all 2^32. The expected side is integer arithmetic, held
   against MPFR: a seeded sample of it, at level exhaustive every integer up to 65,536. */
void hc_sweep_from_i32(struct hc_check *check, enum hc_direction direction);

/* add, sub, mul or div of two fp16 or two bf16 values, each x against all 65,536 y. Exhaustive: all
   x. Below that: boundary values of x (hc_boundary_codes) and seeded ones. The expected side is
   check/sweep/pairs.h; a seeded sample of it is held against MPFR in every run. */
void hc_sweep_pairs(struct hc_check *check, enum hc_op op, enum hc_format format);

/* sqrt of all 65,536 codes. */
void hc_sweep_sqrt(struct hc_check *check, enum hc_format format);

/* fma over all triples of boundary values. Standard: besides, 2^18 seeded triples; exhaustive: 2^28. */
void hc_sweep_fma(struct hc_check *check, enum hc_format format);

/* The call, which must give exactly want[i] in element i of its one output (at most 32 bits wide;
   NaN for NaN): one claim for all of them. */
void hc_claim_elements(struct hc_check *check, const struct hc_call *call, const uint32_t *want);

/* Whether these sweeps have power: each planted defect of `cast` (check/faults/conversion.c), put
   into exact, must be caught by the fp32 or the fp64 sweep into fp16 at level quick. */
void hc_claim_sweeps_catch_faults(struct hc_check *check);

/* Whether num/integer16.h, by which a device judges sweeps, agrees with check/sweep/breakpoints.h (cast from fp32)
   and check/sweep/pairs.h (add, sub, mul, div): 64 seeded rows of 65,536 operands, exhaustive all of them. */
void hc_claim_judge(struct hc_check *check, enum hc_op op, enum hc_format to,
                    enum hc_direction direction);

#endif
