/* The table that `halfcheck run` prints for people. */
#ifndef HC_CLI_RUN_TABLE_H
#define HC_CLI_RUN_TABLE_H

#include <stdio.h>

#include "check/record/rows.h"

struct hc_table {
    FILE *out;     /* NULL: print only the progress line */
    bool verbose;  /* print what passed, too, all that did not, and in lines as wide as it takes */
    bool narrow;   /* all backends came from outside, and are told of by themselves (outside.h) */
    bool progress; /* a line on stderr that is drawn over */
    double every;  /* otherwise a line after so many seconds; infinite: none; NaN: the
                      variable is not a number of seconds */
    int length;    /* how many results there will be */
    int done;
    int shown;      /* rows printed so far */
    int held_back;  /* bad rows that were not printed because many like them were */
    char group[64]; /* the group of the last row: "op/add" */
    int in_group;
    double started; /* hc_clock() */
    double drawn;   /* when the progress line was last drawn */
};

struct hc_table hc_table_new(FILE *out, bool verbose, int length);

/* The seconds between two lines of progress on a stderr that is no terminal, unless the variable
   HALFCHECK_PROGRESS has another number; 0 there means none. */
enum { HC_PROGRESS_SECONDS = 10 };

/* The first is called before a case runs, the second with its result. */
void hc_table_starting(struct hc_table *table, const char *name, const char *backend);
void hc_table_row(struct hc_table *table, const struct hc_row *row);

/* Removes the progress line. */
void hc_table_quiet(struct hc_table *table);

/* Prints, after the last row, why cases were left out, and counts by component and backend. */
void hc_table_summary(const struct hc_table *table, const struct hc_rows *rows,
                      const struct hc_run_options *options);

/* Prints why something did not run: "SKIPPED", what, why. */
void hc_print_reason(FILE *out, const char *label, const char *what, const char *why);

/* Counts of results by component and backend, for the end of the table. */

struct hc_sums {
    int count[HC_VERDICT_COUNT];
    long long checked;
    double worst;                 /* error / bound */
    const struct hc_row *nearest; /* the row with that; NULL if every error is 0 */
    bool bounded;                 /* some comparison allowed an error */
    double seconds;
};

void hc_sums_add(struct hc_sums *sums, const struct hc_row *row);

#endif
