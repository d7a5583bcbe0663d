/* What a case may use of the training engine. */
#ifndef HC_TRAIN_CASE_H
#define HC_TRAIN_CASE_H

#endif
