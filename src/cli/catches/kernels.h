/* Who catches what in the kernels of a transformer: the planted faults of the ops that definitions
   say (check/faults/), judged by the rules that the owners of such kernels test them by, on random
   numbers, and by halfcheck's cases. */
#ifndef HC_CLI_CATCHES_KERNELS_H
#define HC_CLI_CATCHES_KERNELS_H

#include <jansson.h>
#include <stdio.h>

#include "check/selftest/fault.h"
#include "cli/catches/rules.h"

/* One output of a call. */
struct hc_kernel_output {
    enum hc_op op;
    int number;                   /* of the outputs */
    const struct hc_tensor *got;  /* what the kernel gave */
    const struct hc_tensor *real; /* fp64: what the definition says */
    const struct hc_tensor *half; /* of eager code in the same 16 bits, or NULL: not in 16 bits */
};

struct hc_kernel_rule {
    const char *name; /* the heading of its column, at most 5 letters */
    const char *what;
    const char *threshold;
    const char *source;
    const char *applied;
    enum hc_judgement (*judge)(const struct hc_kernel_output *out);
};

enum { HC_KERNEL_RULES = 6 };
extern const struct hc_kernel_rule hc_kernel_rules[HC_KERNEL_RULES];

/* What a rule, or halfcheck, makes of a fault: it is caught where the faulty kernel is refused in a
   call, of which the right kernel's results are accepted. It is an alarm where both are refused,
   and nothing else catches it. */
enum hc_kernel_word { HC_KERNEL_MISSED, HC_KERNEL_CAUGHT, HC_KERNEL_ALARM, HC_KERNEL_NOT_APPLIED };
extern const char *const hc_kernel_words[];

/* halfcheck's columns: its cases on normal numbers alone, and all its cases. */
enum { HC_KERNEL_RANDOM = HC_KERNEL_RULES, HC_KERNEL_CASES, HC_KERNEL_COLUMNS };

struct hc_kernel_catch {
    const struct hc_fault *fault;
    enum hc_kernel_word word[HC_KERNEL_COLUMNS];
    char by[HC_GLOB * 2]; /* a case that catches it where random numbers do not */
};

struct hc_kernel_inquiry {
    struct hc_kernel_catch *row; /* what halfcheck misses first */
    int count;
    int calls[HC_KERNEL_COLUMNS]; /* of a right kernel, on `exact` and on `host`, that are judged */
    int alarms[HC_KERNEL_COLUMNS]; /* of these, refused */
};

/* Judges the faults whose names match one of the patterns, or all. HC_INVALID if there is none. */
enum hc_status hc_kernels_inquire(const char *const *patterns, int pattern_count,
                                  struct hc_kernel_inquiry *inquiry);
void hc_kernels_free(struct hc_kernel_inquiry *inquiry);

int hc_kernels_count(const struct hc_kernel_inquiry *inquiry, int column, enum hc_kernel_word word);

/* The table for a terminal; the last section of docs/who-catches-what.md; a JSON document. */
void hc_kernels_print(FILE *out, const struct hc_kernel_inquiry *inquiry);
void hc_kernels_print_page(FILE *out, const struct hc_kernel_inquiry *inquiry);
json_t *hc_kernels_document(const struct hc_kernel_inquiry *inquiry);

#endif
