/* What halfcheck knows, as rows: its cases, ops, backends and so on. */
#ifndef HC_CLI_LISTS_H
#define HC_CLI_LISTS_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

#include "op/status.h"

/* `add` adds the rows to an array. A row is an object. Its members are in the order of the columns,
   the name first. The first array or object ends the columns: it and what follows it is shown as
   JSON only. Where rows are `wrapped` the columns are sentences; where they are `exact`, real
   numbers stay in hex, since it is their bits that matter. */
struct hc_list {
    const char *name;
    void (*add)(json_t *rows);
    bool wrapped;
    bool exact;
};

/* The rows of `list units`, `list wrappers` and so on. */
void hc_list_scales(json_t *rows);
void hc_list_scale_differences(json_t *rows);
void hc_list_units(json_t *rows);
void hc_list_wrappers(json_t *rows);

/* Ends with a name of NULL. */
extern const struct hc_list hc_lists[];

/* Prints, for people, what there is of everything, and what to type next. */
enum hc_status hc_print_everything(FILE *out);

#endif
