/* What `halfcheck explain` tells of a bug beside its table. */
#ifndef HC_CLI_BUG_H
#define HC_CLI_BUG_H

#include <stdbool.h>
#include <stdio.h>

#include "cases/fixture/bug.h"

enum { HC_LONGEST_COMMAND = 4096 };

/* The reports that a case shows beside the one that it is named after: at most four of them, and
   how many more there are. */
void hc_print_reports(FILE *out, const struct hc_case *what);

/* The formulas, of which only what differs is shown twice, the formats of both arms, and what they
   print. */
void hc_bug_print_arms(FILE *out, const struct hc_bug *bug);

/* The lesson, the correction, and the commands to play with. */
void hc_bug_print_lesson(FILE *out, const struct hc_bug *bug);

/* Whether both arms evaluate the same formulas, so that one command shows both. */
bool hc_bug_is_shared(const struct hc_bug *bug);

/* The line of shell that evaluates an arm, or both if they share their formulas. An empty line for
   a play. */
void hc_bug_command(const struct hc_bug *bug, bool buggy, char line[HC_LONGEST_COMMAND]);

#endif
