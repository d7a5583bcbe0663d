#include "train/run/state_fields.h"

#include <stdint.h>
#include <string.h>

#include "train/run/trainer_inner.h"

#define FIELD(type, member)                                                                        \
    {                                                                                              \
        offsetof(struct type, member), sizeof(((struct type *)0)->member), 1                       \
    }
#define FIELDS(type, member)                                                                       \
    {                                                                                              \
        offsetof(struct type, member), sizeof(((struct type *)0)->member[0]),                      \
            sizeof(((struct type *)0)->member) / sizeof(((struct type *)0)->member[0])             \
    }

#define COUNTER(name, format, member)                                                              \
    {                                                                                              \
        name, format, offsetof(struct hc_counters, member)                                         \
    }

const struct hc_counter_field hc_counter_fields[HC_COUNTER_FIELDS] = {
    COUNTER("counts.steps", HC_I32, steps),
    COUNTER("optimizer.step", HC_I32, taken),
    COUNTER("counts.skipped", HC_I32, skipped),
    COUNTER("counts.found", HC_I32, found),
    COUNTER("scaler.growth_tracker", HC_I32, clean),
    COUNTER("scaler.held_back", HC_I32, held_back),
    COUNTER("scaler.gave_up", HC_I32, gave_up),
    COUNTER("counts.spare", HC_I32, spare),
    COUNTER("scale", HC_FP32, scale),
};

struct hc_tensor hc_counter_tensor(const struct hc_counter_field *field, void *counters)
{
    return (struct hc_tensor){.format = field->format, .data = (char *)counters + field->offset};
}

const struct hc_state_field hc_run_totals_fields[] = {
    FIELD(hc_run_totals, first),
    FIELD(hc_run_totals, step),
    FIELD(hc_run_totals, skipped),
    FIELD(hc_run_totals, smooth),
    FIELD(hc_run_totals, epoch_loss),
    FIELD(hc_run_totals, epoch_right),
    FIELD(hc_run_totals, epoch_skipped),
    FIELD(hc_run_totals, measured),
    FIELD(hc_run_totals, underflow),
    FIELD(hc_run_totals, unscaled),
    FIELD(hc_run_totals, activation_underflow),
    FIELD(hc_run_totals, activation_unscaled),
    FIELD(hc_run_totals, update_lost),
    FIELD(hc_run_totals, updates),
    FIELD(hc_run_totals, bad),
    FIELD(hc_run_totals, train_loss),
    FIELD(hc_run_totals, test_loss),
    FIELD(hc_run_totals, accuracy),
    FIELDS(hc_run_totals, histogram.scaled),
    FIELDS(hc_run_totals, histogram.unscaled),
    FIELDS(hc_run_totals, histogram.activations_scaled),
    FIELDS(hc_run_totals, histogram.activations_unscaled),
    {0, 0, 0},
};

size_t hc_state_bytes(const struct hc_state_field *fields)
{
    size_t bytes = 0;
    for (; fields->count; fields++)
        bytes += fields->bytes * fields->count;
    return bytes;
}

void hc_state_pack(const struct hc_state_field *fields, const void *from, unsigned char *to)
{
    for (; fields->count; fields++) {
        const unsigned char *at = (const unsigned char *)from + fields->offset;
        for (size_t i = 0; i < fields->count; i++, at += fields->bytes) {
            uint32_t narrow;
            uint64_t wide;
            memcpy(fields->bytes == sizeof wide ? (void *)&wide : (void *)&narrow, at,
                   fields->bytes);
            if (fields->bytes != sizeof wide)
                wide = narrow;
            for (size_t k = 0; k < fields->bytes; k++)
                *to++ = (unsigned char)(wide >> 8 * k);
        }
    }
}

void hc_state_unpack(const struct hc_state_field *fields, const unsigned char *from, void *to)
{
    for (; fields->count; fields++) {
        unsigned char *at = (unsigned char *)to + fields->offset;
        for (size_t i = 0; i < fields->count; i++, at += fields->bytes) {
            uint64_t wide = 0;
            for (size_t k = 0; k < fields->bytes; k++)
                wide |= (uint64_t)*from++ << 8 * k;
            uint32_t narrow = (uint32_t)wide;
            memcpy(at, fields->bytes == sizeof wide ? (const void *)&wide : (const void *)&narrow,
                   fields->bytes);
        }
    }
}
