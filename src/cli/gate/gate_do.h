/* The command: what its options ask for, from reading the files to the last line. */
#ifndef HC_CLI_GATE_GATE_DO_H
#define HC_CLI_GATE_GATE_DO_H

#include "cli/command.h"
#include "cli/gate/gate.h"

/* What its options say. */
struct hc_gate_wishes {
    const char *baseline;
    const char *record;
    const char *allowances;
    const char *today;
    const char *json;
    const char *junit;
    const char *summary;
    bool github;
    bool every;
    bool update;
    struct hc_words allow;
};

/* Reads both records and the allowances, compares, prints, writes. `gate` holds the patterns and
   what else the options say of the comparison; it is freed. Returns one of enum hc_exit. */
int hc_gate_do(const struct hc_gate_wishes *wishes, struct hc_gate *gate);

#endif
