/* Sets of text, which data.c opens like those of images. */
#ifndef HC_TRAIN_DATA_TEXT_H
#define HC_TRAIN_DATA_TEXT_H

#include "train/data/data.h"

/* As hc_dataset_open, of a text. HC_IO for a file that cannot be read, HC_INVALID for one that is
   too short or longer than 2^30 bytes. */
enum hc_status hc_text_open(const struct hc_data_options *options, struct hc_dataset *set);

#endif
