/* halfcheck calc: formulas in several formats beside the real numbers. What was asked for, and what
   came of it. */
#ifndef HC_CLI_CALC_CALC_H
#define HC_CLI_CALC_CALC_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "backend.h"
#include "formula/evaluate.h"

enum {
    HC_CALC_ARMS = 6,
    HC_CALC_ITEMS = 16,       /* shown numbers; each element of a shown list is one */
    HC_CALC_MAX_EVERY = 1000, /* rows of a table with --every */
    HC_CALC_PRECISION = 2048, /* bits of real numbers, at most */
    HC_CALC_SAMPLES = 1024    /* of a curve */
};

/* What was asked for. */
struct hc_calc {
    struct hc_program *program;
    const struct hc_block *start; /* statements before the loop; NULL: there are none */
    const struct hc_block *loop;  /* NULL: there is none */
    const struct hc_block *shown; /* expressions */
    int64_t steps;                /* of the loop; 0 without one */
    int64_t every;                /* steps between rows; 0: choose */
    struct hc_arm arm[HC_CALC_ARMS];
    int arms;
    const struct hc_backend *backend; /* NULL: by definition only */
    struct hc_queue *queue;
    bool curves; /* keep samples for a picture */
    bool hex;
    int digits; /* 0: as many as tell numbers apart */
};

/* A number in one arm. */
struct hc_calc_cell {
    enum hc_format format; /* HC_FORMAT_COUNT: a number without one, such as a count */
    double want;
    double got;
    double rad; /* the running bound */
};

struct hc_calc_real {
    struct hc_exact value;
    double rad;   /* how far it may be off */
    bool outside; /* it is neither 0 nor infinite, but its value here is, which is fp64's */
};

/* All shown numbers after one step. */
struct hc_calc_row {
    int64_t step; /* 0: before the loop */
    struct hc_calc_real real[HC_CALC_ITEMS];
    struct hc_calc_cell cell[HC_CALC_ITEMS][HC_CALC_ARMS];
};

/* Rows in the order of their steps. */
struct hc_calc_rows {
    struct hc_calc_row *row;
    int count;
    int room;
};

/* What became of one shown number in one arm. */
struct hc_calc_trajectory {
    int64_t parts;              /* the first step at which it is not the nearest; -1: none */
    bool ended;                 /* it has been infinite or NaN */
    struct hc_calc_row changed; /* the row of the last step that changed it */
};

struct hc_calc_item {
    int expression;  /* of calc->shown */
    int64_t element; /* of a list; -1: it is none */
};

struct hc_calc_run {
    const struct hc_calc *calc;
    struct hc_evaluation *arm[HC_CALC_ARMS];
    long precision; /* of the real numbers, in bits */
    struct hc_real *zero;
    int items;
    struct hc_calc_item item[HC_CALC_ITEMS];
    struct hc_calc_rows rows;              /* of the table */
    struct hc_calc_rows samples;           /* of a picture */
    int64_t stride;                        /* steps between samples */
    struct hc_calc_trajectory *trajectory; /* [items][HC_CALC_ARMS] */
    int64_t first;                         /* the step of the first row; -1: there is none yet */
    struct hc_calc_row next;               /* that is being made */
    struct hc_calc_row last;
    int64_t last_change; /* nothing changed after this step, so the rest was left out; -1 */
    int stopped_by;      /* a signal, or 0 */
    int64_t unsettled;   /* the first step at which a real number is not known well; -1: none */
};

/* Evaluates everything, again at twice the precision as long as real numbers are not known well.
   HC_AS_CLAIMED, or HC_WRONG after a line on stderr. Free the run in any case. */
int hc_calc_run(struct hc_calc_run *run, const struct hc_calc *calc);
void hc_calc_free(struct hc_calc_run *run);

/* The text of a shown number, as it was typed: "w", "x[2]". The end of a text of more than `most`
   characters is left out. */
enum { HC_CALC_NAME = 45 };
void hc_calc_name(const struct hc_calc_run *run, int item, int most, char name[HC_CALC_NAME]);

/* Whether a number is the nearest of its format to the real one, as far as that is known. */
bool hc_calc_nearest(const struct hc_calc_cell *cell, const struct hc_calc_real *real);

/* Whether the number stands still from the step of its last change on, away from a real number that
   moves; or is infinite or NaN, and the real one is not. */
bool hc_calc_stalls(const struct hc_calc_run *run, int item, int arm);

/* Prints an error in a formula on stderr; HC_WRONG. */
int hc_calc_refuse(const struct hc_formula_error *error);

/* What calc prints: the table, and what it shows. */

/* A loop has a row for each shown step, and columns for the arms and the real number of each shown
   name. Without a loop there is a row for each shown number. HC_NO_MEMORY. */
enum hc_status hc_calc_print_table(const struct hc_calc_run *run, FILE *out);

/* The text of a number and of a real number as the table has them. The real one has so many digits
   that it reads differently from the numbers of the arms that differ from it. */
void hc_calc_real_text(const struct hc_calc_run *run, const struct hc_calc_row *row, int item,
                       char *text, size_t size);

/* What became of the shown numbers of an arm, in sentences. */

enum { HC_CALC_MAX_SENTENCES = 8, HC_CALC_SENTENCE = 1024 };

/* The sentences about one arm, without its name and without full stops; returns how many. First
   comes what became 0, infinite or NaN, then where a number parts from the real one or stands
   still, and why, and last which name has changed its format. */
int hc_calc_sentences(const struct hc_calc_run *run, int arm,
                      char sentence[HC_CALC_MAX_SENTENCES][HC_CALC_SENTENCE]);

/* What calc prints below its table. */

/* Prints the sentences about all arms, whether the backend has the definition's bits, and what is
   to be said about the real numbers and the steps. Returns false if the backend has other bits. */
bool hc_calc_print_findings(const struct hc_calc_run *run, FILE *out);

/* A calculation as JSON. */

/* All that is printed; numbers as text, as hex floats and as bits. */
json_t *hc_calc_document(const struct hc_calc_run *run);

/* The picture of a calculation. */

/* Whether a picture can be drawn into this file, FILE.png or FILE.svg; ask before the work. */
enum hc_status hc_calc_draw_probe(const char *path);

/* Draws the samples: a frame for each shown number, a curve for each arm and the real number. The
   file is replaced whole or not at all. */
enum hc_status hc_calc_draw(const struct hc_calc_run *run, const char *path);

/* The numbers of a calculation for other programs: a list of FILE.npz, FILE.safetensors and
   FILE.py. */

/* Whether all of them can be written, and are none of the `others`, which NULL ends; ask before the
   work. */
enum hc_status hc_calc_export_probe(const char *list, const char *const *others);
enum hc_status hc_calc_export(const struct hc_calc_run *run, const char *list);

#endif
