/* The numbers of a run's state that are no tensors, in one list for all files that keep them. */
#ifndef HC_TRAIN_RUN_STATE_FIELDS_H
#define HC_TRAIN_RUN_STATE_FIELDS_H

#include <stddef.h>

#include "op/tensor.h"

/* A number of struct hc_counters, which files keep as a tensor of the shape []. */
struct hc_counter_field {
    const char *name;
    enum hc_format format;
    size_t offset;
};

enum { HC_COUNTER_FIELDS = 9 };
extern const struct hc_counter_field hc_counter_fields[HC_COUNTER_FIELDS];

/* The tensor that the field is, within a struct hc_counters. */
struct hc_tensor hc_counter_tensor(const struct hc_counter_field *field, void *counters);

/* `count` numbers of struct hc_run_totals one behind the other, integers or floating point, each of
   4 or 8 bytes. Checkpoints keep them packed, field by field and little-endian, however the
   compiler and the machine lay them out in memory. */
struct hc_state_field {
    size_t offset;
    size_t bytes; /* of one number */
    size_t count;
};

/* Ends with a count of 0. */
extern const struct hc_state_field hc_run_totals_fields[];

/* Bytes that the fields take in the file. */
size_t hc_state_bytes(const struct hc_state_field *fields);

/* From the struct into that many bytes, and back. */
void hc_state_pack(const struct hc_state_field *fields, const void *from, unsigned char *to);
void hc_state_unpack(const struct hc_state_field *fields, const unsigned char *from, void *to);

#endif
