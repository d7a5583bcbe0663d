/* Large calls whose every element is judged by the reference.

   MPFR is too slow for a million elements. But the inputs are ours to choose: the rows of a matrix
   are drawn from a few rows, the columns from a few columns, the images of a batch from a few
   images, by a hash of their number. An element of a product is then that of one of few pairs of a
   row and a column, so that the real value, the bound and the right bits of a few hundred elements
   are those of all. Nothing else is special about the inputs: the numbers have random bits, sums
   have all their terms, and neighbours in the tensor are seldom alike, so that a kernel which takes
   an element for another one, or forgets it, gives a wrong number there.

   What this cannot see: an element in whose place one of the same kind stands, one chance in as
   many as there are kinds. */
#ifndef HC_CHECK_REPEATS_H
#define HC_CHECK_REPEATS_H

#include "check/compare.h"
#include "check/known.h"

enum { HC_AXES = 6 };

/* How an extent of a large tensor is made of one of a small tensor. */
struct hc_axis {
    int64_t small;
    int64_t large; /* at least `small` */
    int64_t step;  /* neighbours that stay together: a block with one scale */
    int64_t alone; /* how many at the beginning, in steps, are not repeated */
    int kind;      /* axes of one kind, in all tensors of the call, repeat alike; 0: as it is */
};

/* The axes of a tensor from the outermost on. An axis may be a part of one of the tensor's extents,
   or several of them taken as one. */
struct hc_axes {
    int count;
    struct hc_axis axis[HC_AXES];
};

struct hc_repeats_map;
void hc_repeats_map_free(struct hc_repeats_map *map);

struct hc_repeats {
    struct hc_axes slot[HC_MAX_IN + HC_MAX_OUT];
    uint64_t seed;
    struct hc_repeats_map *kept; /* of hc_repeats_keep, or NULL */
    bool lent;                   /* it stays for the case's next backend */
};

/* Keeps the map of a slot until one that is laid out otherwise is asked for: most slots of a call
   are laid out alike, and so are those of the case's next backend if there is a `known` to keep it
   in. False if there is no memory. End it with hc_repeats_end. */
bool hc_repeats_keep(struct hc_repeats *repeats, struct hc_known *known);
void hc_repeats_end(struct hc_repeats *repeats);

/* The coordinate in the small tensor of coordinate `at` in the large one. The first `small` are
   themselves. */
int64_t hc_repeats_of(const struct hc_axis *axis, uint64_t seed, int64_t at);

/* Fills the inputs of the large call from those of the small one. False if there is no memory. */
bool hc_repeats_fill(const struct hc_repeats *repeats, const struct hc_call *small,
                     const struct hc_call *large);

/* How many elements of output `out` stand for all; and element k of them, in rising order. */
int64_t hc_repeats_count(const struct hc_repeats *repeats, const struct hc_call *call, int out);
int64_t hc_repeats_element(const struct hc_repeats *repeats, const struct hc_call *call, int out,
                           int64_t k);

/* Claims that every element of output `out` is right, given what is right for those that stand for
   all. */
void hc_claim_repeats(struct hc_claim *claim, int out, const char *what,
                      const struct hc_expected *right);

/* hc_claim_call_on for such a call. The backend `exact` is not asked beside the one under test: the
   reference has an answer for every element. */
enum hc_status hc_claim_repeated(struct hc_check *check, const struct hc_call *call,
                                 const struct hc_repeats *repeats, enum hc_inputs inputs);

#endif
