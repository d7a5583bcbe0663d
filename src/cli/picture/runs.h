/* The training runs of the records. A record of `train` or `compare` names its runs; their numbers
   are in files of a folder beside it. */
#ifndef HC_CLI_PICTURE_RUNS_H
#define HC_CLI_PICTURE_RUNS_H

#include "cli/picture/frames.h"

enum { HC_RUN_PATH = 4096 };

/* A file of numbers with commas between, and a line of names first, as training writes it. */
struct hc_csv {
    char *names; /* the first line, cut at its commas */
    int columns;
    int rows;
    double *value; /* [row * columns + column]; NaN where there is no number */
};

struct hc_picture_run {
    char recipe[256];
    int record;
    const struct hc_row *row;
    char folder[HC_RUN_PATH]; /* "" if no folder beside the record has it */
    bool first;               /* of its record and recipe */
    bool nan;                 /* its losses were not finite */
};

struct hc_picture_runs {
    struct hc_picture_run *run; /* by record, recipe by recipe, the base first */
    int count;
    int recipes;
    int missing; /* runs without a folder */
};

/* HC_NO_MEMORY as false, with drawing->why_not. */
bool hc_picture_runs_find(struct hc_picture_runs *runs, struct hc_drawing *drawing);
void hc_picture_runs_free(struct hc_picture_runs *runs);

/* Reads a file of the run's folder, at most a million rows. Returns false, with nothing to free, if
   it cannot be read or has no names. */
bool hc_picture_run_read(const struct hc_picture_run *run, const char *name, struct hc_csv *csv);

/* The number of a column; -1: there is none. */
int hc_csv_column(const struct hc_csv *csv, const char *name);

/* NaN for column -1. */
double hc_csv_at(const struct hc_csv *csv, int row, int column);

void hc_csv_free(struct hc_csv *csv);

/* What a frame of the run's recipe is called, after the record if several have runs, and its
   warning: "NaN from step 1", "NaN in 1 of 3 runs", or "". */
const char *hc_picture_run_name(char text[512], const struct hc_drawing *drawing,
                                const struct hc_picture_runs *runs,
                                const struct hc_picture_run *run);
const char *hc_picture_run_trouble(char text[128], const struct hc_picture_runs *runs,
                                   const struct hc_picture_run *run);

/* Begins the frame of the run's recipe. False: there is no room for it. */
bool hc_picture_run_frame(struct hc_frames *frames, const struct hc_picture_runs *runs,
                          const struct hc_picture_run *run);

/* Says that there are no runs, or which files are missing. */
void hc_picture_runs_why_not(const struct hc_picture_runs *runs, struct hc_drawing *drawing,
                             const char *files);

#endif
