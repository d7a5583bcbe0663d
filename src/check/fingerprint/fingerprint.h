/* Fingerprints: what a backend's gemm does to a sum, found from outside.

   A matrix unit adds products in pieces, aligns them, and cuts or rounds what does not fit; a
   library chooses the unit and the order in which it works. None of this can be asked for, but
   all of it shows in a few bits of well-chosen sums. structure.c finds the order, as FPRev does
   (Xie et al., FPRev: Revealing the Order of Floating-Point Summation, 2025): next to a huge
   product and its negative a sum of ones is lost as far as it is added between the two.
   rounding.c finds how many bits are kept in an addition and what happens to the others, in the
   way of Fasi, Higham, Mikaitis and Pranesh (2021). models.c then compares some thousand sums
   with each unit of src/unit, and with what was found: a name is given only where no sum
   differs.

   All of it holds for the probed calls. A library may choose another kernel for another size, so
   that several are probed, and what differs between them is said. */
#ifndef HC_CHECK_FINGERPRINT_FINGERPRINT_H
#define HC_CHECK_FINGERPRINT_FINGERPRINT_H

#include <stdbool.h>
#include <stdint.h>

#include "backend.h"
#include "unit/unit.h"

/* A product of side x terms by terms x side. */
struct hc_gemm_shape {
    int side;
    int terms;
};

/* The order in which the products of a sum meet. */
enum hc_sum_order {
    HC_SUM_UNKNOWN,
    HC_SUM_IN_ORDER,   /* one after the other */
    HC_SUM_ODD_FIRST,  /* the same, but the odd product of each pair comes first */
    HC_SUM_BLOCKS,     /* the same in blocks, whose sums are added one after the other */
    HC_SUM_TWO_CHAINS, /* blocks of an even and an odd chain, which are then added */
    HC_SUM_PAIRS,      /* pieces, each a tree of pairs, are added one after the other */
    HC_SUM_PIECES,     /* pieces are aligned and added at once, each with the sum so far */
    HC_SUM_EXACT,      /* the same, and nothing of a piece is lost before it is rounded */
    HC_SUM_WHOLE,      /* nothing is lost in the whole sum */
    HC_SUM_ORDERS
};

/* Where C is added. */
enum hc_sum_c { HC_SUM_C_UNKNOWN, HC_SUM_C_FIRST, HC_SUM_C_FUSED, HC_SUM_C_LAST, HC_SUM_C_NONE };

enum hc_found_rounding {
    HC_FOUND_OTHER, /* none of these */
    HC_FOUND_NEAREST,
    HC_FOUND_CUT,
    HC_FOUND_FLOOR,
    HC_FOUND_ODD,
    HC_FOUND_AWAY, /* ties away from zero */
    HC_FOUND_EXACT,
    HC_FOUND_ROUNDINGS
};

/* How an addition loses bits: those below 2^-fraction of the largest addend's exponent. */
struct hc_found_grid {
    int fraction; /* -1: not determined */
    enum hc_found_rounding rounding;
};

enum hc_found_small { HC_SMALL_UNKNOWN, HC_SMALL_KEPT, HC_SMALL_FLUSHED, HC_SMALL_OTHER };

enum { HC_FINGERPRINT_MODELS = 12, HC_FINGERPRINT_SHAPES = 4, HC_ZERO_LOW = -1000 };

/* What was found in calls of one shape. */
struct hc_findings_of_shape {
    struct hc_gemm_shape shape;
    enum hc_sum_order order;
    int piece; /* or block */
    enum hc_sum_c c;
    struct hc_found_grid products; /* next to a larger product */
    bool rounded;                  /* A product is rounded to fp32 before it is added. */
    bool normalized;               /* It is aligned by its leading bit, not by its factors'. */
    bool
        raised; /* With a subnormal factor it is aligned as if that were the smallest normal one. */
    struct hc_found_grid addend; /* C next to a larger product */
    struct hc_found_grid result;
    enum hc_found_small factors; /* subnormal ones */
    enum hc_found_small small_c;
    enum hc_found_small small_results;
    uint32_t nan[3];          /* of 0 * infinity, infinity - infinity, and a NaN with a payload */
    bool no_infinity;         /* The format has NaN in its place. */
    uint32_t overflow;        /* of 2^127 + 2^127, or the nearest to it */
    int zero_exponent;        /* HC_ZERO_LOW: none that matters */
    const char *zero_unknown; /* why it was not determined, or NULL */
    bool zero_of_operand;     /* it grows with the other factor */
    uint64_t trace;           /* of all answers */
};

/* The model that comes nearest. */
struct hc_nearest_model {
    const struct hc_unit *unit; /* NULL: there is none of the format */
    int different;              /* so many sums are others */
    int terms;                  /* of the first difference: with the fewest products */
    double a[8], b[8], c;
    int index[8];
    uint32_t want, got;
};

struct hc_fingerprint {
    enum hc_format format;
    struct hc_findings_of_shape main;
    int sums;                                            /* that were compared with each model */
    const struct hc_unit *equals[HC_FINGERPRINT_MODELS]; /* the models that equal all */
    int equal_count;
    bool in_words; /* what was found, taken as a model, equals all */
    struct hc_nearest_model nearest;
    struct hc_found_other {
        struct hc_gemm_shape shape;
        bool same;     /* nothing differs */
        bool compared; /* its sums with those of the first, or with what predicts them */
        int sums;
        int different;                     /* so many sums are others */
        int different_numbers;             /* and not only other codes of NaN */
        struct hc_findings_of_shape found; /* unless it is compared and the same */
    } other[HC_FINGERPRINT_SHAPES];
    int other_count;
    int64_t calls; /* of gemm that were made */
    double seconds;
};

/* Probes gemm of these inputs: fp16, bf16, tf32 (fp32 inputs that may be taken as such), fp32, or a
   format that gemm does not take, which is HC_UNSUPPORTED. HC_UNSUPPORTED, with a line, if the
   backend has no such kernel; HC_DEVICE, with a line, if the kernel fails, or gives no numbers, or
   not the same ones again; HC_NO_MEMORY. */
enum hc_status hc_fingerprint(const struct hc_backend *backend, struct hc_queue *queue,
                              enum hc_format format, struct hc_fingerprint *fingerprint);

/* Whether all sums are those of plain fp32, one product after the other, rounded to nearest, with
   nothing flushed. */
bool hc_fingerprint_is_plain(const struct hc_fingerprint *f);

/* One line of it, for records: the model or what was found, and a digest of all answers. */
enum { HC_FINGERPRINT_TEXT = 320 };
void hc_fingerprint_text(const struct hc_fingerprint *f, char text[HC_FINGERPRINT_TEXT]);

/* All of it, by name and value: `tell` is called for each line. What was not determined says so. */
void hc_fingerprint_tell(const struct hc_fingerprint *f, hc_tell *tell, void *context);

/* The accumulator that follows from it, for the coarsest of the shapes. False if too little was
   determined. */
bool hc_fingerprint_accumulator(const struct hc_fingerprint *f, struct hc_accumulator *found);

/* Whether what was found breaks the bounds of the stated accumulator already in a sum of two
   products, whatever the order is, and so where no accumulator follows. */
bool hc_fingerprint_breaks(const struct hc_findings_of_shape *found,
                           const struct hc_accumulator *stated);

/* Whether all findings are the same. */
bool hc_findings_equal(const struct hc_findings_of_shape *a, const struct hc_findings_of_shape *b);

/* What was found against what bounds assume: a bound of the stated one may be too small, it holds,
   or it is the same. */
enum hc_found_against { HC_FOUND_ALIKE, HC_FOUND_FINER, HC_FOUND_COARSER };
enum hc_found_against hc_fingerprint_against(const struct hc_accumulator *found,
                                             const struct hc_accumulator *stated);

#endif
