/* What calc prints below its table. */
#ifndef HC_CLI_CALC_TELL_H
#define HC_CLI_CALC_TELL_H

#include <stdio.h>

#include "cli/calc/calc.h"

/* Prints the sentences about all arms, whether the backend has the definition's bits, and what is
   to be said about the real numbers and the steps. Returns false if the backend has other bits. */
bool hc_calc_tell(const struct hc_calc_run *run, FILE *out);

#endif
