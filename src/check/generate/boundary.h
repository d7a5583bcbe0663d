/* The values of a 16-bit format at which arithmetic goes wrong first. */
#ifndef HC_CHECK_GENERATE_BOUNDARY_H
#define HC_CHECK_GENERATE_BOUNDARY_H

#include <stdint.h>

#include "num/format.h"

/* For both signs: 0 and the smallest, middle and largest subnormals; the first two, the middle and
   the last fraction of the smallest two exponents, those about 1, and the largest two; infinity and
   NaN. */
enum { HC_BOUNDARY_CODES = 2 * (6 + 4 * 7 + 2) };

/* fp16 or bf16. */
void hc_boundary_codes(enum hc_format format, uint16_t codes[HC_BOUNDARY_CODES]);

#endif
