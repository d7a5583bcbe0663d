/* Wrong ways to round an element into a code, which halfcheck verify recognises. */
#ifndef HC_CLI_SCALE_ROUNDING_H
#define HC_CLI_SCALE_ROUNDING_H

#include <stdint.h>

#include "num/format.h"

struct hc_wrong_rounding {
    const char *name;
    uint32_t (*round)(enum hc_format codes, float x);
};

/* Ends with a NULL name. */
extern const struct hc_wrong_rounding hc_wrong_roundings[];

#endif
