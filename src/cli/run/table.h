/* What `halfcheck run` shows to people. */
#ifndef HC_CLI_RUN_TABLE_H
#define HC_CLI_RUN_TABLE_H

#include <stdio.h>

#include "check/record/rows.h"

struct hc_table {
    FILE *out;     /* NULL: show nothing but progress */
    bool verbose;  /* show what passed, too, and everything that did not */
    bool progress; /* a line on stderr that is drawn over; for terminals */
    int length;    /* how many results there will be */
    int done;
    int shown;      /* rows printed so far */
    int held_back;  /* bad rows that were not printed, because many like them were */
    char group[64]; /* what the rows now coming have in common: "op/add" */
    int in_group;
    double started; /* hc_clock() */
    double drawn;   /* when the progress line last was */
};

struct hc_table hc_table_new(FILE *out, bool verbose, int length);

/* Before a case runs, and for its result. */
void hc_table_starting(struct hc_table *table, const char *name, const char *backend);
void hc_table_row(struct hc_table *table, const struct hc_row *row);

/* Removes the progress line. */
void hc_table_quiet(struct hc_table *table);

/* After the last row: why cases were left out, and counts by component and backend. */
void hc_table_summary(const struct hc_table *table, const struct hc_rows *rows);

/* One aligned line without its newline, and the heading above such lines. */
void hc_print_heading(FILE *out);
void hc_print_row(FILE *out, const struct hc_row *row);

#endif
