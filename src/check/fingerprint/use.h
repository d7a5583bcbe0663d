/* What a run makes of a fingerprint. */
#ifndef HC_CHECK_FINGERPRINT_USE_H
#define HC_CHECK_FINGERPRINT_USE_H

#include "check/fingerprint/fingerprint.h"

/* The formats whose sums are probed where nobody names any, ended by HC_FORMAT_COUNT; and whether
   that one is, on this backend: fp8 only where it names a unit for it, or is somebody's own, which
   may have one for OCP's. */
extern const enum hc_format hc_fingerprint_formats[];
bool hc_fingerprint_usual(const struct hc_backend *backend, enum hc_format format);

/* Compares what was found with what the backend states, for calls of gemm in that format.

   A finer accumulator holds from now on in the bounds of gemm, where it was seen, but none that is
   finer than plain fp32, which each contract allows. A coarser one widens no bound: a kernel that
   breaks its promise is judged by the promise. But results within such a bound are MISTRUSTED from
   now on, in gemm, dot and convolutions of that format, which all have the same unit.

   Returns which it was, and writes a line about it ("" if they are alike). Call it before the first
   case runs. */
enum { HC_FOUND_LINE = 260 };
enum hc_found_against hc_fingerprint_use(const struct hc_backend *backend,
                                         const struct hc_fingerprint *fingerprint,
                                         char line[HC_FOUND_LINE]);

#endif
