/* What became of the shown numbers, in sentences. */
#ifndef HC_CLI_CALC_TELL_H
#define HC_CLI_CALC_TELL_H

#include <stdio.h>

#include "cli/calc/calc.h"

enum { HC_CALC_TOLD = 3, HC_CALC_SENTENCE = 1024 };

/* The sentences about one arm, without its name; returns how many. First comes what became 0,
   infinite or NaN, then where a number parts from the real one or stands still, and why. */
int hc_calc_sentences(const struct hc_calc_run *run, int arm,
                      char sentence[HC_CALC_TOLD][HC_CALC_SENTENCE]);

/* Prints the sentences about all arms, what is to be said about the real numbers and the steps, and
   whether the backend has the definition's bits. Returns false if it has not. */
bool hc_calc_tell(const struct hc_calc_run *run, FILE *out);

#endif
