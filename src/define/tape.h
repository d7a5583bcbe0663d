/* The tape of a plain evaluation: each operation on numbers that depend on inputs, in the order in
   which it was computed. Read backwards it gives the derivatives of one number by all inputs, which
   is what a search for inputs asks for (define/ask.h). */
#ifndef HC_DEFINE_TAPE_H
#define HC_DEFINE_TAPE_H

#include "define/value.h"

struct hc_tape_step {
    int expression;            /* whose value it is; -1: an input's element */
    enum hc_function function; /* of up to three operands */
    bool partial;              /* a running sum or product */
    int32_t of[3];             /* the operands' steps; 0: none */
    double operand[3];         /* their values */
    double value;
    int tensor; /* of an input, */
    int64_t index;
    double slope; /* hc_tape_back: the derivative by it, */
    bool needed;  /* and whether the number depends on it */
};

/* Step 0 stands for what depends on no input. */
struct hc_tape {
    struct hc_tape_step *step;
    int32_t count;
    int32_t room;
    bool full;                              /* there was no memory, or it was too long */
    int32_t *input[HC_MAX_DEFINED_TENSORS]; /* the steps of an input's elements */
    int64_t elements[HC_MAX_DEFINED_TENSORS];
};

/* False without memory, with hc_message(). */
bool hc_tape_open(struct hc_tape *tape, const struct hc_instance *instance);
void hc_tape_close(struct hc_tape *tape);
void hc_tape_clear(struct hc_tape *tape);

/* The number of a new step; 0 if the tape is full. */
int32_t hc_tape_add(struct hc_tape *tape, const struct hc_tape_step *step);
int32_t hc_tape_input(struct hc_tape *tape, int tensor, int64_t index, double value);
void hc_tape_mark_partial(struct hc_tape *tape, int32_t step);

/* Fills in the slopes of all steps up to `from`. */
void hc_tape_back(struct hc_tape *tape, int32_t from);

/* The same of these steps alone, which are in their order: those on which the last one depends. */
void hc_tape_slopes(struct hc_tape *tape, const int32_t *steps, int32_t count);

/* Computes an instance onto the tape, results and all, in the format of its freedoms. */
enum hc_status hc_define_on_tape(const struct hc_instance *instance, struct hc_tape *tape);

#endif
