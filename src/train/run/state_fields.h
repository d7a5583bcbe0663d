/* Structs in a checkpoint are written field by field and little-endian, however the compiler and
   the machine lay them out in memory. */
#ifndef HC_TRAIN_RUN_STATE_FIELDS_H
#define HC_TRAIN_RUN_STATE_FIELDS_H

#include <stddef.h>

/* `count` numbers one behind the other, integers or floating point, each of 4 or 8 bytes. */
struct hc_state_field {
    size_t offset;
    size_t bytes; /* of one number */
    size_t count;
};

/* A list ends with a count of 0. */
extern const struct hc_state_field hc_step_count_fields[];   /* of struct hc_counters */
extern const struct hc_state_field hc_scaler_count_fields[]; /* the other fields of it */
extern const struct hc_state_field hc_run_totals_fields[];   /* of struct hc_run_totals */

/* Bytes that the fields take in the file. */
size_t hc_state_bytes(const struct hc_state_field *fields);

/* From the struct into that many bytes, and back. */
void hc_state_pack(const struct hc_state_field *fields, const void *from, unsigned char *to);
void hc_state_unpack(const struct hc_state_field *fields, const unsigned char *from, void *to);

#endif
