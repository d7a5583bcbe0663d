/* A result in words, as `halfcheck explain` ends with. */
#ifndef HC_CLI_VERDICT_H
#define HC_CLI_VERDICT_H

#include <stdbool.h>

#include "check/check.h"

/* Prints the verdict, how near the result came to its bound, and its note, on stdout; `answers`:
   also which share of the bound is the implementation's and which is the format's. The output is at
   `column`. */
void hc_print_verdict(const struct hc_result *result, int column, bool answers);

#endif
