/* The results of one run, kept until they are written. */
#ifndef HC_CHECK_RECORD_ROWS_H
#define HC_CHECK_RECORD_ROWS_H

#include "check/record/record.h"
#include "check/runner.h"

struct hc_rows {
    struct hc_row *row;
    char **text; /* by row: its repro line, its note, and what else was copied, one after another */
    int count;
    int room;                      /* capacity */
    struct hc_omissions omissions; /* cases that made no row */
};

/* Adds a result. What it points to is copied, except texts that live as long as the program. The
   repro line is made from the options and the name of the planted fault (NULL: none). HC_NO_MEMORY:
   it was not added. */
enum hc_status hc_rows_add(struct hc_rows *rows, const struct hc_result *result,
                           const struct hc_run_options *options, const char *fault);

/* Adds, at the end, the results of cases that a kernel refused by the numbers in their tensors;
   what such a case had before goes. *first becomes the number of the first of them.
   HC_NO_MEMORY. */
enum hc_status hc_rows_refuse(struct hc_rows *rows, const struct hc_run_options *options,
                              const char *fault, int *first);

/* Adds a row of a record that was read, with copies of all that it points to. HC_NO_MEMORY. */
enum hc_status hc_rows_take(struct hc_rows *rows, const struct hc_row *row);
void hc_rows_free(struct hc_rows *rows);

/* How many have that verdict. */
int hc_rows_count(const struct hc_rows *rows, enum hc_verdict verdict);

/* Whether a verdict counts as a failure: FAIL and ERROR do, and with `strict` also UNIMPLEMENTED
   and MISTRUSTED. */
bool hc_verdict_is_bad(enum hc_verdict verdict, bool strict);

/* Writes a JUnit document: a test suite for each backend, a class for each component. What neither
   passed nor failed is "skipped", with its verdict and reason. So is what was left out, with one
   test for each component. HC_IO or HC_NO_MEMORY. */
enum hc_status hc_junit_write(const struct hc_rows *rows, bool strict, const char *path);

/* TAP 13, line by line. The row is test `number`. What was left out of a component on a backend
   is one test more. The plan comes last. `what` says what runs, in a comment. */
void hc_tap_begin(FILE *out, const char *what);
void hc_tap_row(FILE *out, int number, const struct hc_row *row, bool strict);
void hc_tap_omission(FILE *out, int number, const struct hc_omission *omission);
void hc_tap_plan(FILE *out, int count);

#endif
