/* What became of the shown numbers of an arm, in sentences. */
#ifndef HC_CLI_CALC_SENTENCES_H
#define HC_CLI_CALC_SENTENCES_H

#include "cli/calc/calc.h"

enum { HC_CALC_TOLD = 3, HC_CALC_SENTENCE = 1024 };

/* The sentences about one arm, without its name and without full stops; returns how many. First
   comes what became 0, infinite or NaN, then where a number parts from the real one or stands
   still, and why. */
int hc_calc_sentences(const struct hc_calc_run *run, int arm,
                      char sentence[HC_CALC_TOLD][HC_CALC_SENTENCE]);

#endif
