/* The parameters of each op by name: one table, read by everything that writes a call down or reads
   one: programs behind a pipe, `judge --set`, files that keep a call. */
#ifndef HC_OP_PARAMS_H
#define HC_OP_PARAMS_H

#include <stddef.h>

#include "op/call.h"
#include "op/status.h"

enum hc_param_kind {
    HC_PARAM_REAL,    /* double */
    HC_PARAM_SINGLE,  /* float */
    HC_PARAM_INTEGER, /* int */
    HC_PARAM_LONG,    /* int64_t */
    HC_PARAM_FLAG,    /* bool */
    HC_PARAM_WORD,    /* an enum, which counts from 0: one of `words` */
    HC_PARAM_FORMAT,  /* enum hc_format */
    HC_PARAM_SEED,    /* uint64_t */
    HC_PARAM_KIND_COUNT
};

/* "real", "integer", "flag", "word", "format" or "seed"; by kind. */
extern const char *const hc_param_kinds[HC_PARAM_KIND_COUNT];

struct hc_param {
    const char *name;
    enum hc_param_kind kind;
    size_t offset;            /* in union hc_params */
    const char *usual;        /* what it is where nobody says it, as text */
    int count;                /* elements of an array; 0: a single number */
    const char *const *words; /* of HC_PARAM_WORD, */
    int word_count;           /* so many */
    const char *note;         /* what the name and the kind leave open, or NULL */
};

/* What the op reads of its parameters; ends with a NULL name. */
const struct hc_param *hc_op_params(enum hc_op op);

/* The op's parameter of that name, or NULL. */
const struct hc_param *hc_op_param(enum hc_op op, const char *name);

/* The bytes of one element of it. */
size_t hc_param_size(const struct hc_param *param);

/* The word or the name of the format for this number of an enum; NULL if it has none. */
const char *hc_param_choice(const struct hc_param *param, int choice);

/* Sets all parameters of the op to what they usually are: as in PyTorch where it has the op. An
   optimizer's arithmetic, the accumulator of a sum and partial sums over ranks are fp32. */
void hc_params_usual(enum hc_op op, union hc_params *params);

enum { HC_PARAM_TEXT = 160 };

/* Writes the value as people type it: a number in hex, a word, "true", "1,2,3". hc_param_read reads
   exactly this value again. */
void hc_param_text(const struct hc_param *param, const union hc_params *params,
                   char text[HC_PARAM_TEXT]);

/* Writes it as JSON: reals and seeds as strings in hex, integers and flags as themselves, words and
   formats as strings, an array as an array. */
void hc_param_json(const struct hc_param *param, const union hc_params *params,
                   char text[HC_PARAM_TEXT]);

/* Sets the op's parameter of that name. Reals are decimal or hex. HC_INVALID, with a line that says
   what is expected, if the op has no such parameter or the text is no value of it; *params is then
   unchanged. */
enum hc_status hc_param_read(enum hc_op op, union hc_params *params, const char *name,
                             const char *text);

#endif
