/* The contract of an op as its descriptor has it (op/descriptor.h): for people, and as JSON. */
#ifndef HC_CLI_CONTRACT_H
#define HC_CLI_CONTRACT_H

#include <jansson.h>
#include <stdio.h>

#include "op/op.h"

/* One line a slot: its formats, its shape, whether it may be absent, and what an output may
   overwrite. */
void hc_contract_print(FILE *out, enum hc_op op);

/* An array of one object a slot, inputs first: name, direction ("in" or "out"), formats (an array),
   format_of (the input whose format it has, or null), shape, elements (an array of names, or null),
   optional, in_place (the input that it may overwrite, or null). */
json_t *hc_contract_json(enum hc_op op);

#endif
