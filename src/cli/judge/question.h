/* What `halfcheck judge` is asked: a call whose tensors come from files. */
#ifndef HC_CLI_JUDGE_QUESTION_H
#define HC_CLI_JUDGE_QUESTION_H

#include <stdbool.h>

#include "backend.h"
#include "cli/command.h"
#include "op/call.h"
#include "tensor_file/tensor_file.h"

/* Metadata of a file that keeps a call. Parameters follow as "set.NAME". */
#define HC_CASE_OP          "halfcheck.op"
#define HC_CASE_LAYOUT      "halfcheck.layout"
#define HC_CASE_ACCUMULATOR "halfcheck.accumulator"
#define HC_CASE_OUTPUT      "halfcheck.output"  /* the slot of the element that is judged, */
#define HC_CASE_ELEMENT     "halfcheck.element" /* and its coordinates in the file's layout */
#define HC_CASE_SET         "set."

extern const char *const hc_layout_names[]; /* "nchw", "nhwc", NULL */

/* How people say it. Words are [SLOT=]FILE[:TENSOR] and NAME=VALUE. */
struct hc_question_words {
    enum hc_op op; /* HC_OP_COUNT: the file `tensors` says it */
    struct hc_words in;
    struct hc_words out;
    struct hc_words set;
    const char *tensors;     /* a file whose tensors are named as slots; or NULL */
    int layout;              /* of hc_layout_names; -1: the file's, or the first */
    const char *accumulator; /* NULL: the file's, or "fp32" */
};

enum { HC_QUESTION_FILES = 40 };

struct hc_question {
    struct hc_call call;                 /* in halfcheck's own layout; every output has memory */
    struct hc_tensor numbers[HC_MAX_IN]; /* inputs that texts gave, as they were given: fp64 */
    bool given[HC_MAX_OUT];
    bool nchw;
    int only_out; /* the one element that is judged, or -1 */
    int64_t only;
    const char *accumulator;

    struct hc_tensor_file file[HC_QUESTION_FILES];
    const char *path[HC_QUESTION_FILES];
    int files;
    void *owned[128]; /* more than there can be words and slots */
    int owned_count;
};

/* HC_INVALID or HC_IO, with a line that says what was expected. `computed`: a backend will compute
   the outputs, and none need be given. Close it in any case. */
enum hc_status hc_question_ask(struct hc_question *q, const struct hc_question_words *words,
                               bool computed);
void hc_question_close(struct hc_question *q);

/* The file of that path, read once; it is closed with the question. */
enum hc_status hc_question_file(struct hc_question *q, const char *path,
                                const struct hc_tensor_file **file);

/* The tensor of a file that a slot takes: the one that was named; the one of the slot's name; or
   the only one. One number has the shape [1]. */
enum hc_status hc_question_tensor(const struct hc_tensor_file *file, const char *path,
                                  const char *name, const char *slot, struct hc_tensor *t);

/* Parts FILE[:TENSOR]. A file of the whole name counts first, then the longest name of one. */
void hc_question_part(char *text, const char **tensor);

/* Memory that lives as long as the question, aligned to 64; NULL with HC_NO_MEMORY's line. */
void *hc_question_memory(struct hc_question *q, size_t bytes);

/* A slot that takes codes and was given bytes, or NULL. */
const char *hc_question_bytes(const struct hc_call *call);

/* Sets a parameter, or an element of a small input: "lr", "s", or the format of a
   tensor of codes: "codes". */
enum hc_status hc_question_set(struct hc_question *q, const char *name, const char *value);

/* Whether a tensor of the call is an image, or filters, whose channels come first in files. */
bool hc_question_turns(const struct hc_call *call, bool nchw, const struct hc_tensor *t);

/* The coordinates of an element as the files have them. */
void hc_question_place(const struct hc_call *call, bool nchw, const struct hc_tensor *t,
                       int64_t index, int64_t at[HC_MAX_RANK]);

/* "fp32", "half", or PRECISION,BLOCK[,EXTRA[,cut]]. HC_INVALID with a line. */
enum hc_status hc_accumulator_read(const char *text, struct hc_call *call,
                                   struct hc_accumulator *accumulator);

#endif
