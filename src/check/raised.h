/* Units that align terms by the exponents of their factors, without normalizing products: a
   subnormal factor has the exponent of the smallest normal number, and so its product is aligned as
   if it were that much larger. The other terms are cut accordingly. The bound of such a sum stands,
   if in the magnitude that it is relative to each subnormal factor counts as the smallest normal
   number of its format. A zero stays 0. */
#ifndef HC_CHECK_RAISED_H
#define HC_CHECK_RAISED_H

#include "check/compare.h"

/* Makes claim->with_raised, the claim's call with copies of the factors that hold subnormal
   numbers, in which these are raised, if the backend aligns so in this call. False if there is no
   memory. */
bool hc_raise_factors(struct hc_claim *claim);

/* What the least number other than 0 counts as in this input: 0 where nothing is raised. */
double hc_raised_smallest(const struct hc_claim *claim, int slot);

/* The magnitude of the element's terms with raised factors. */
double hc_raised_magnitude(const struct hc_claim *claim, int out, int64_t index);

#endif
