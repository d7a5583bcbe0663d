/* Definitions on the command line: where a text comes from, what it says, and what it judges. */
#ifndef HC_CLI_DEFINE_DEFINE_H
#define HC_CLI_DEFINE_DEFINE_H

#include "cli/command.h"
#include "define/value.h"
#include "op/status.h"

/* The text of a file, which the caller frees; NULL after a line. */
char *hc_define_read_file(const char *path);

/* Reads the definition from a file, or from the library if there is no such file. NULL after a line
   on stderr that says what is wrong, in a text with its place. `variant` may be NULL. */
struct hc_definition *hc_define_open(const char *source, const char *variant);

/* Prints inputs, options, results, equations and freedoms. */
void hc_define_print(const struct hc_definition *definition, const struct hc_freedoms *freedoms);

/* Prints the lines of the freedoms that matter to the definition, each with its cost. */
void hc_define_print_freedoms(const struct hc_definition *definition,
                              const struct hc_freedoms *freedoms);

/* Prints the words of --allow, each with its cost. */
void hc_define_print_allowable(void);

/* The usual freedoms, changed by the words of --allow. HC_INVALID with a line. */
enum hc_status hc_define_allow(const struct hc_words *words, struct hc_freedoms *freedoms);

/* Prints the same as JSON: {"name", "digest", "inputs": [{"name", "axes", "index"}], "options":
   [{"name", "type", "value"}], "results": [{"name", "axes", "format"}]}; "index" is the axis whose
   places it holds, "" if it has none, and null for numbers. */
enum hc_status hc_define_print_json(const struct hc_definition *definition);

/* --define FILE and --allow WORD, which may be repeated, of commands that run cases; and these
   words as they were given, each with a space before it. */
const struct hc_option *hc_define_own_options(void);
const char *hc_define_own_words(void);

/* A file of inputs that is to be drawn. */
struct hc_define_drawing {
    const char *path; /* of safetensors */
    const char *format;
    int family;            /* enum hc_family */
    int row;               /* enum hc_size_row */
    struct hc_words sizes; /* AXIS=N */
    uint64_t seed;
};

enum hc_status hc_define_draw(const struct hc_definition *definition,
                              const struct hc_define_drawing *drawing);

/* Prints what the family `asked` of its inputs looks for. */
enum hc_status hc_define_print_asked(const struct hc_definition *definition);

/* What `judge --define` is asked: files as in `judge` (cli/judge/question.h). */
struct hc_define_question {
    const char *source;
    struct hc_words in;
    struct hc_words out;
    struct hc_words set;
    struct hc_words allow; /* "order=pairs" */
    const char *tensors;   /* a file whose tensors have the definition's names; or NULL */
    const char *json;      /* or NULL */
    const char *values;    /* a file for the real values, in place of a judgement; or NULL */
    const char *variant;   /* of the definition, or "any", or NULL */
    bool all;
    bool strict; /* improbable errors are wrong */
};

/* Judges and prints. One of enum hc_exit. */
int hc_define_judge_files(const struct hc_define_question *question);

#endif
