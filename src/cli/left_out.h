/* The backends that a run on all has to leave out. */
#ifndef HC_CLI_LEFT_OUT_H
#define HC_CLI_LEFT_OUT_H

#include <jansson.h>
#include <stdio.h>

/* An object with their names and the reasons; and on `out`, if not NULL, a line for each reason. */
json_t *hc_left_out(FILE *out);

#endif
