/* Results that are not what they should be, found in vectors of 64 bytes: the part of a sweep that
   looks at every one of them. */
#ifndef HC_CHECK_SWEEP_STRAYS_H
#define HC_CHECK_SWEEP_STRAYS_H

#include <stdbool.h>
#include <stdint.h>

/* Whether any of n results is not `want`; not want[i] + shift, as 16 bits. */
bool hc_strays(uint16_t want, const uint16_t *got, uint32_t n);
bool hc_strays_from(const uint16_t *want, uint16_t shift, const uint16_t *got, uint32_t n);

/* Whether any of n results of one byte is not `want` in the bits of the mask. */
bool hc_strays8(uint8_t want, uint8_t mask, const uint8_t *got, uint32_t n);

/* Does what hc_strays_from does, but every NaN is as good as any other. The code of infinity says
   what a NaN is. */
bool hc_strays_nan(const uint16_t *want, uint16_t shift, const uint16_t *got, uint32_t n,
                   uint16_t infinity);

/* to[i] = first + i; in 16 bits, to[i] = code. n is a multiple of 32. */
void hc_count_up(uint32_t *to, uint32_t first, uint32_t n);
void hc_repeat(uint16_t *to, uint16_t code, uint32_t n);

#endif
