/* What halfcheck gen prints inputs for, and halfcheck verify judges by the answers: a loss scaler,
   a conversion. Each kind has a folder in its name, as in "scaler/torch" and "cast/e4m3". */
#ifndef HC_CLI_SUBJECT_H
#define HC_CLI_SUBJECT_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/command.h"

/* The options of gen. What is not given is 0; of the choices, -1. */
struct hc_gen {
    uint64_t seed;
    int steps;
    int interval;
    double initial;
    int kind;
    int from;
    int direction;
    bool saturate;
    int codes;
    int window;
    int margin;
    bool most_recent;
};

/* The options of verify, likewise. */
struct hc_verify {
    bool strict;
    int from;
    int direction;
    bool saturate;
};

/* Both functions get the whole name and return one of enum hc_exit. */
struct hc_subject {
    const char *folder;      /* "scaler/" */
    const char *what;        /* "RULE" */
    const char *gen_options; /* those it takes, each with a blank behind it */
    const char *verify_options;
    int (*gen)(const char *name, const struct hc_gen *options);
    int (*verify)(const char *name, const struct hc_verify *options);
};

/* The subject of this name (NULL: none was given), or NULL after a line on stderr. */
const struct hc_subject *hc_subject_of(const char *command, const char *name);

/* Refuses an option that was given and that the subject does not take, with a line. */
bool hc_subject_takes(const struct hc_subject *subject, const char *command, const char *option,
                      bool given);

/* How verify reads the answers to one kind of subject: the first line of gen, then a line for each
   answer. Blank lines and others that begin with # are left out. The functions get the context, and
   return one of enum hc_exit; what is not HC_AS_CLAIMED ends the reading. */
struct hc_dialogue {
    int room; /* of a line, with its newline and NUL; HC_DIALOGUE_LINE at most */
    const char *blanks;
    bool (*is_first)(const char *line);
    int (*take_first)(void *context, const char *line);
    int (*take_answer)(void *context, char *line);
    void (*quote)(const char *line, char *text); /* as messages quote a line; NULL: whole */

    /* What is said of a line with a NUL byte, of one that is too long, and of an answer before the
       first line (NULL: it is taken); and what is missing where no answer comes. */
    const char *has_nul;
    const char *too_long;
    const char *too_early;
    const char *answer;
};

enum { HC_DIALOGUE_LINE = 1024 };

/* Reads standard input to its end, or until a function ends it. HC_WRONG, with a line, also if it
   cannot be read or has no answer. */
int hc_dialogue_read(const struct hc_dialogue *dialogue, void *context);

/* Says what is wrong with the line that is being read; HC_WRONG. */
int hc_dialogue_refuse(const struct hc_dialogue *dialogue, const char *what, const char *line);

/* Reads a line of standard input as fgets does, and says whether it has a NUL byte: that would hide
   what comes behind it from those who read the line. False at the end. */
bool hc_subject_line(char *line, int size, bool *has_nul);

/* Reads what is left of standard input, so that whoever writes there is not killed. */
void hc_subject_drain(void);

int hc_scaler_gen(const char *name, const struct hc_gen *options);
int hc_scaler_verify(const char *name, const struct hc_verify *options);
int hc_scale_gen(const char *name, const struct hc_gen *options);
int hc_scale_verify(const char *name, const struct hc_verify *options);
int hc_cast_gen(const char *name, const struct hc_gen *options);
int hc_cast_verify(const char *name, const struct hc_verify *options);

#endif
