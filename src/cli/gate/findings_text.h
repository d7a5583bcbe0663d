/* Findings as text for a terminal of 80 columns. */
#ifndef HC_CLI_GATE_FINDINGS_TEXT_H
#define HC_CLI_GATE_FINDINGS_TEXT_H

#include <stdio.h>

#include "cli/gate/findings.h"

/* Prints sorted findings by group, kind and family. Of a large family the heaviest is printed and
   the others are counted, unless `every` is set. */
void hc_findings_print(FILE *out, const struct hc_findings *findings, bool every);

/* Prints a text of anybody as one line, or in lines of 80 columns that begin at `column`
   (op/wrap.h). It is safe on a terminal, and in the log of a CI that takes commands from there. */
void hc_findings_print_line(FILE *out, const char *text);
void hc_findings_print_text(FILE *out, int column, int indent, const char *text);

#endif
