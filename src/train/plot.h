/* Pictures, drawn by gnuplot from csv files. */
#ifndef HC_TRAIN_PLOT_H
#define HC_TRAIN_PLOT_H

#include "op/status.h"

/* Runs `gnuplot -e definitions script` in `folder`. HC_UNSUPPORTED when there is no gnuplot, HC_IO
   when it could not run or failed, with the last line that it said. */
enum hc_status hc_plot(const char *script, const char *definitions, const char *folder);

#endif
