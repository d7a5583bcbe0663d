/* The picture of a calculation. */
#ifndef HC_CLI_CALC_DRAW_H
#define HC_CLI_CALC_DRAW_H

#include "cli/calc/calc.h"

/* Whether a picture can be drawn into this file, FILE.png or FILE.svg; ask before the work. */
enum hc_status hc_calc_draw_probe(const char *path);

/* Draws the samples: a frame for each shown number, a curve for each arm and the real number. The
   file is replaced whole or not at all. */
enum hc_status hc_calc_draw(const struct hc_calc_run *run, const char *path);

#endif
