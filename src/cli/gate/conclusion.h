/* What the gate says in the end, in the same words wherever it says it. */
#ifndef HC_CLI_GATE_CONCLUSION_H
#define HC_CLI_GATE_CONCLUSION_H

#include "cli/gate/gate.h"

/* Whether nothing is worse, everything could be compared, and there was something to compare. */
bool hc_gate_passes(const struct hc_gate *gate);

/* The reason: "nothing is worse than in FILE, 2 allowed" or "3 worse (2 bound, 1 verdict)". Names
   and texts of anybody are in it as they are. */
void hc_gate_reason(const struct hc_gate *gate, const char *baseline, char *text, size_t bytes);

/* "184 results against 184: 2 worse, 1 changed, 181 the same". */
void hc_gate_counts(const struct hc_gate *gate, char *text, size_t bytes);

/* Calls `say` for each allowance of a file that has expired or that allows nothing, with a line
   that names its file and line. */
void hc_gate_allowances(const struct hc_gate *gate,
                        void (*say)(void *context, const struct hc_allowance *one,
                                    const char *text),
                        void *context);

#endif
