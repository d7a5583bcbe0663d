/* What calc prints: the table, and what it shows. */
#ifndef HC_CLI_CALC_TABLE_H
#define HC_CLI_CALC_TABLE_H

#include <stdio.h>

#include "cli/calc/calc.h"

/* With a loop a row for each shown step, and columns for the arms and the real number of each shown
   name; without one a row for each shown number. HC_NO_MEMORY. */
enum hc_status hc_calc_print_table(const struct hc_calc_run *run, FILE *out);

/* The text of a number and of a real number as the table has them. The real one has so many digits
   that it reads differently from the numbers of the arms that differ from it. */
void hc_calc_cell_text(const struct hc_calc *calc, const struct hc_calc_cell *cell, char *text,
                       size_t size);
void hc_calc_real_text(const struct hc_calc_run *run, const struct hc_calc_row *row, int item,
                       char *text, size_t size);

#endif
