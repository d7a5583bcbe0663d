/* How the errors of a result's compared elements are spread: by their size in ulp, and, where one
   element follows from one input, over the range of the inputs. Records keep them:
     "spread": {"ulps": "12 100 3", "inputs": "-24:0x1p-1 -20:0x0p+0"}
   The first text has the counts of the bins below, without the zeros at the end. The second has,
   for each bin of inputs, its lowest exponent of 2 and the largest error in ulp. */
#ifndef HC_CHECK_RECORD_SPREAD_H
#define HC_CHECK_RECORD_SPREAD_H

#include <jansson.h>

#include "check/check.h"

/* Counts an element whose real value is `want`: its error in ulp of the output's format at `want`.
   `input` is the one number it follows from; 0 or NaN: there is none. Elements that are not finite
   or beyond the largest number of the format are not counted: there an ulp means nothing. */
void hc_spread_count(struct hc_spread *spread, enum hc_format format, double want, double error,
                     double input);

/* NULL if nothing was counted. */
json_t *hc_spread_write(const struct hc_spread *spread);

/* What is wrong with such a member, or NULL. */
const char *hc_spread_wrong(const json_t *spread);

/* Adds the counts of a well-formed member to those of another one. */
void hc_spread_add(struct hc_spread *spread, const json_t *member);

#endif
