/* What a run is made on, as far as that decides its bits and its backend's name does not say it. */
#ifndef HC_TRAIN_RUN_MADE_ON_H
#define HC_TRAIN_RUN_MADE_ON_H

#include <stdbool.h>
#include <stddef.h>

#include "backend.h"
#include "train/update/recipe.h"

/* Appends the words of an identity (checkpoint.h), each behind a space: the command of a program
   behind a pipe, and how the CPU multiplies bf16 if the recipe has such products. */
void hc_made_on(const struct hc_backend *backend, struct hc_queue *queue,
                const struct hc_recipe *recipe, char *identity, size_t size);

/* Whether the word is one of these. Checkpoints of before have none of them. */
bool hc_made_on_is(const char *word);

/* Room for one such word as people read it. */
enum { HC_MADE_ON_SHOWN = 512 };

/* The word, `length` bytes of an identity, as people read it: spaces for %20, in safe characters.
   What does not fit is left out. */
void hc_made_on_show(const char *word, int length, char text[HC_MADE_ON_SHOWN]);

#endif
