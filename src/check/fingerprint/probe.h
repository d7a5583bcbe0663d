/* Many sums of products through gemm. Sum i of a call is its output [i, i]: row i of A has the
   first factors, column i of B the second ones, and C[i, i] what is added. The other outputs are
   sums of factors that do not belong together, and are not looked at. */
#ifndef HC_CHECK_FINGERPRINT_PROBE_H
#define HC_CHECK_FINGERPRINT_PROBE_H

#include <stdbool.h>
#include <stdint.h>

#include "backend.h"
#include "check/fingerprint/fingerprint.h"

/* Begin with hc_probe_open. Codes are those of the format; tf32 and fp32 are fp32 words. */
struct hc_probe {
    const struct hc_backend *backend;
    struct hc_queue *queue;
    enum hc_format format;
    struct hc_gemm_shape shape;
    bool takes_c;   /* If not, every C must be 0. */
    int64_t calls;  /* so far */
    uint64_t trace; /* a digest (FNV-1a) of all answers */

    int room; /* capacity, in sums */
    int count;
    uint32_t *a; /* [room][terms] */
    uint32_t *b;
    uint32_t *c; /* fp32 */
    uint32_t *got;
    void *matrices; /* of one call */
};

/* `shape` says how large the calls are. HC_NO_MEMORY; close it in any case. */
enum hc_status hc_probe_open(struct hc_probe *probe, const struct hc_backend *backend,
                             struct hc_queue *queue, enum hc_format format,
                             struct hc_gemm_shape shape);
void hc_probe_close(struct hc_probe *probe);

/* Forgets all sums. */
void hc_probe_begin(struct hc_probe *probe);

/* Adds a sum of zeros, whose terms are then set, and returns its number. */
int hc_probe_sum(struct hc_probe *probe);

/* Sets product k of the sum that was added last to a * b. Both are numbers of the format. */
void hc_probe_term(struct hc_probe *probe, int k, double a, double b);

/* The same for x * 2^exponent with factors that are about as large as each other; x is a number of
   the format in [1, 2), or its negative. */
void hc_probe_scaled(struct hc_probe *probe, int k, double x, int exponent);
void hc_probe_c(struct hc_probe *probe, double c);

/* Runs all sums. HC_UNSUPPORTED if there is no such kernel; HC_DEVICE, with a line, if the kernel
   did what no kernel may; or what the backend says. */
enum hc_status hc_probe_run(struct hc_probe *probe);

/* What came out, as a code of fp32 and as a value. */
uint32_t hc_probe_code(const struct hc_probe *probe, int sum);
double hc_probe_value(const struct hc_probe *probe, int sum);

#endif
