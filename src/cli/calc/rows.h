/* Which steps a table shows, and the rows of these. */
#ifndef HC_CLI_CALC_ROWS_H
#define HC_CLI_CALC_ROWS_H

#include "cli/calc/calc.h"

/* Whether the table has this step in any case: the first steps; the last; and between them each of
   at most ten even parts, or of many steps the powers of ten. */
bool hc_calc_is_shown(const struct hc_calc *calc, int64_t step);

/* Adds a copy of a row at its place, unless its step is there. HC_NO_MEMORY if there is none. */
enum hc_status hc_calc_rows_add(struct hc_calc_rows *rows, const struct hc_calc_row *row);

/* Adds a sample to the curves. When there are too many, every other one is dropped, and from then
   on half as many are taken. */
enum hc_status hc_calc_sample(struct hc_calc_run *run, const struct hc_calc_row *row);

#endif
