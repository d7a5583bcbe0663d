/* Whether a step leaves everything as it was. Then no later step changes anything either, unless a
   formula reads the number of the step. */
#ifndef HC_CLI_CALC_STILL_H
#define HC_CLI_CALC_STILL_H

#include "cli/calc/calc.h"

struct hc_calc_state;

/* NULL if formulas read `step`, so that no state can be the last one; or if there is no memory. */
struct hc_calc_state *hc_calc_state(const struct hc_calc_run *run);
void hc_calc_state_free(struct hc_calc_state *state);

/* Keeps a copy of the values of all names in all arms; and says whether they are still the same,
   the real numbers to their last bit. Lists of many elements are never the same. */
void hc_calc_state_keep(struct hc_calc_state *state);
bool hc_calc_state_same(const struct hc_calc_state *state);

#endif
