/* The contract of an op as its descriptor has it (op/descriptor.h): for people, and as JSON. */
#ifndef HC_CLI_CONTRACT_H
#define HC_CLI_CONTRACT_H

#include <jansson.h>
#include <stdio.h>

#include "op/op.h"

/* One line a slot: its formats, its shape, whether it may be absent, and what an output may
   overwrite. */
void hc_contract_print(FILE *out, enum hc_op op);

/* Adds the contract to the op's object. Its members are
     slots         an array of one object a slot, inputs first
     fp64          whether it can be had in fp64: a call is in fp64 if its first input is
     same_bits     whether every backend gives the same bits
     in_place_any  whether an output may be any input of the same format and size, and not only
                   the one that its slot names
     contract      the header that says what it computes
   and those of a slot are
     name
     direction     "in" or "out"
     formats       an array: what it takes in calls that are not in fp64
     formats_fp64  what it takes in calls in fp64, or null where the op has none
     format_of     the input whose format it has, or null
     shape
     note          what else a rule says of it, or null
     elements      an array of names, or null
     optional      whether it may be absent
     in_place      the input that it may overwrite, or null */
void hc_contract_json(json_t *o, enum hc_op op);

#endif
