/* CIFAR-10's binary files (Krizhevsky, 2009): records of one label byte and the planes R, G, B. */
#ifndef HC_TRAIN_DATA_CIFAR_H
#define HC_TRAIN_DATA_CIFAR_H

#include "train/data/data.h"

/* The official order of the labels. */
extern const char *const hc_cifar_names[HC_CLASSES];

/* Reads batches.meta.txt, data_batch_1..5.bin and test_batch.bin of `records` records each (the
   official files have 10000). Keeps the images of class c under the label label[c], unless that is
   negative. As in the official set, every class must have an equal share of the training files
   taken together, and of the test file. Allocates what `train` and `test` point to, also when it
   fails. */
enum hc_status hc_cifar_read(const char *directory, int records, const int label[HC_CLASSES],
                             struct hc_images *train, struct hc_images *test);

#endif
