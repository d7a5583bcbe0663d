/* Targets of fuzzing: each takes any bytes, gives them to one parser of text from outside, and
   returns. A crash, a leak or a report of a sanitizer is a defect. */
#ifndef HC_FUZZ_FUZZ_H
#define HC_FUZZ_FUZZ_H

#include <stddef.h>
#include <stdint.h>

struct hc_fuzz_target {
    const char *name; /* of its file in fuzz/targets, and of its folder in fuzz/corpus */
    void (*run)(const uint8_t *data, size_t size);
};

/* The path of a file that holds these bytes until the next call, or NULL. */
const char *hc_fuzz_file(const uint8_t *data, size_t size);

/* The bytes as a string, which the caller frees: up to the first that is 0. */
char *hc_fuzz_string(const uint8_t *data, size_t size);

/* The target of that name, or NULL; and the i-th one, NULL behind the last. */
const struct hc_fuzz_target *hc_fuzz_by_name(const char *name);
const struct hc_fuzz_target *hc_fuzz_at(int i);

#endif
