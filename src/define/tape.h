/* The tape of a plain evaluation: each operation on numbers that depend on inputs, in the order of
   computation. Read backwards it gives the derivatives of one number by all inputs, for the search
   of define/ask.h. */
#ifndef HC_DEFINE_TAPE_H
#define HC_DEFINE_TAPE_H

#include "define/value.h"

struct hc_tape_step {
    int expression;            /* the one that was computed; -1: an input's element */
    enum hc_function function; /* of up to three operands */
    bool partial;              /* a running sum or product */
    int32_t of[3];             /* the operands' steps; 0: none */
    double operand[3];         /* their values */
    double value;
    int tensor;    /* of an input's element: which, */
    int64_t index; /* and where in it */
    double slope;  /* set by hc_tape_back: the derivative by this step, */
    bool needed;   /* and whether the result depends on it */
};

/* Step 0 stands for everything that does not depend on an input. */
struct hc_tape {
    struct hc_tape_step *step;
    int32_t count;
    int32_t room;
    bool full;                              /* memory or room ran out */
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

/* The same for the given steps only, in ascending order: those on which the last one depends. */
void hc_tape_slopes(struct hc_tape *tape, const int32_t *steps, int32_t count);

/* Computes an instance onto the tape, results and all, in the format of its freedoms. */
enum hc_status hc_define_on_tape(const struct hc_instance *instance, struct hc_tape *tape);

#endif
