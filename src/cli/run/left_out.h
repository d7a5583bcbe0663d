/* The backends that a run on all backends leaves out. */
#ifndef HC_CLI_RUN_LEFT_OUT_H
#define HC_CLI_RUN_LEFT_OUT_H

#include <jansson.h>
#include <stdio.h>

#include "check/omissions.h"

/* An object with their names and the reasons. Also prints a line for each reason, unless `out`
   is NULL. */
json_t *hc_left_out(FILE *out);

/* Adds to it, under the name of each backend that ran, what was left out by component:
   {"absent": N, "refused": N, "order": N, "unasked": N, "why": TEXT}. */
void hc_left_out_cases(json_t *left_out, const struct hc_omissions *omissions);

#endif
