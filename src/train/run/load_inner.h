/* The inside of loading, for the files that take tensors and numbers. */
#ifndef HC_TRAIN_RUN_LOAD_INNER_H
#define HC_TRAIN_RUN_LOAD_INNER_H

#include "train/run/state_tensors.h"
#include "train/run/trainer_inner.h"

enum { HC_LOAD_LINE = 600 };

struct hc_load {
    struct hc_run *run;
    const char *path;
    struct hc_tensor_file file;
    bool bare; /* a state_dict: no name has a prefix */
    struct hc_state_rows *rows;
    int rounded; /* tensors that came in another format */
    char taken[HC_LOAD_LINE];
    char absent[HC_LOAD_LINE];
};

/* Adds a word to one of the two lists. */
void hc_load_list(char text[HC_LOAD_LINE], const char *word);

/* All tensors of the state (load_state.c). HC_INVALID if the file has weights that the network has
   not, none at all, or of other shapes. */
enum hc_status hc_load_state(struct hc_load *load);

#endif
