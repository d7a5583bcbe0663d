/* What a command line of calc means: the blocks of its program, its arms and its steps. */
#ifndef HC_CLI_CALC_INPUT_H
#define HC_CLI_CALC_INPUT_H

#include "cli/calc/calc.h"

/* As it was typed. */
struct hc_calc_typed {
    const char *file;
    const char *each;
    const char *show;
    const char *steps;
    const char *every;
    const char *in;
};

/* The lines of a formula from the words of a command line, or from a file or standard input ("-").
   Free it. NULL after a line on stderr. */
char *hc_calc_formula(const struct hc_calc_typed *typed, char *const *words, int count);

/* Reads all into calc->program and the fields beside it. HC_AS_CLAIMED, or HC_WRONG after a line on
   stderr. Free calc->program in any case. The texts must live as long as it. */
int hc_calc_read(struct hc_calc *calc, const struct hc_calc_typed *typed, const char *formula);

#endif
