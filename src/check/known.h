/* What is right for the results of one backend, kept for the next one.

   The real value of an element, its bound and its only right bits depend on the call, its inputs
   and the model of the sum, and on nothing that a backend computed: references and bounds do not
   read outputs. A run gives the same inputs to one backend after the other, so that MPFR would
   compute the same numbers again. They are given again only where all that they depend on is equal,
   the inputs byte by byte; a digest only says which calls are worth comparing. */
#ifndef HC_CHECK_KNOWN_H
#define HC_CHECK_KNOWN_H

#include "check/compare.h"
#include "reference.h"

/* What is right for one element. */
struct hc_expected {
    struct hc_exact want;
    bool bits; /* only want_bits are right */
    uint64_t want_bits;
    double bound;
    double line; /* check/bound/line.h; infinite where there is none */
};

/* The calls that were claimed last, of one thread. */
struct hc_known;

/* NULL without memory: then nothing is kept. */
struct hc_known *hc_known_new(void);
void hc_known_free(struct hc_known *known);

/* Where the map of a large call's repeated elements is kept (check/repeats.h). NULL without
   `known`. */
struct hc_repeats_map;
struct hc_repeats_map **hc_known_map(struct hc_known *known);

/* The call of the claim, whose factors are those that its unit takes, among the calls that are
   kept: found there, or added to them. It is there until the next hc_known_call. NULL where nothing
   is kept, because of its size or for want of memory. */
struct hc_known_call;
struct hc_known_call *hc_known_call(struct hc_known *known, const struct hc_claim *claim);

/* Reads what is right for element `index` of output `out`. False if it is not known. */
bool hc_known_read(const struct hc_known_call *call, int out, int64_t index,
                   struct hc_expected *to);

/* Keeps what is right for n elements of output `out`, whose indices ascend, unless some are known
   already. */
void hc_known_keep(struct hc_known *known, struct hc_known_call *call, int out, int64_t n,
                   const int64_t *index, const struct hc_expected *expected);

/* Whether this case has drawn the call's inputs before, for another backend, which are then in
   their tensors; the case and the run's seed must be all that they follow from. If it has not, draw
   them, and keep them. */
bool hc_known_inputs(struct hc_check *check, const struct hc_call *call);
void hc_known_keep_inputs(struct hc_check *check, const struct hc_call *call);

/* The same for a call on integers, of which a case may have many: its inputs, and what they come
   to. *filled is what hc_integers_fill returned. */
struct hc_integers;
bool hc_known_integers(struct hc_check *check, struct hc_integers *z, bool *filled);
void hc_known_keep_integers(struct hc_check *check, const struct hc_integers *z, bool filled);

/* What is right for n elements of output `out`, whose indices ascend: as it is known, or computed
   by all threads (known.c). */
void hc_expect(const struct hc_claim *claim, int out, int64_t n, const int64_t *index,
               struct hc_expected *right);

#endif
