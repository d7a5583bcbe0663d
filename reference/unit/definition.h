/* The dot product of a matrix unit by the definition of its rule, in GMP's integers. */
#ifndef HC_REFERENCE_UNIT_DEFINITION_H
#define HC_REFERENCE_UNIT_DEFINITION_H

#include "unit/unit.h"

/* As hc_unit_dot (unit/unit.h), with which it shares the table of units and nothing else. */
uint32_t hc_unit_by_definition(const struct hc_unit *unit, const uint32_t *a, const uint32_t *b,
                               const struct hc_unit_scales *scales, int64_t n, uint32_t c);

#endif
