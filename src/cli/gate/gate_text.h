/* What the gate prints. */
#ifndef HC_CLI_GATE_GATE_TEXT_H
#define HC_CLI_GATE_GATE_TEXT_H

#include <stdio.h>

#include "cli/gate/gate.h"

/* Prints the differences of machines, the findings, the allowances that need somebody, and the
   counts; every finding if `every` is set. */
void hc_gate_print(FILE *out, const struct hc_gate *gate, bool every);

/* Prints the last line: "PASS: REASON". */
void hc_gate_print_verdict(FILE *out, bool passes, const char *reason);

#endif
