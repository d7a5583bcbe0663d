/* What the generated cases cross: sets of formats, shapes and parameters of each op.

   A case op/<name>/<formats>/<shape><variant>/<distribution> is one element of the product of four
   lists, of those that the op's contract allows and whose claim means something. The lists are
   short and chosen by hand: sizes that are no multiple of anything, one, none, and one that is
   long. */
#ifndef HC_CHECK_GENERATE_OP_SPACE_H
#define HC_CHECK_GENERATE_OP_SPACE_H

#include "check/check.h"

/* in: the formats of data; out: of the result; state: of weights, gains and statistics (of gemm's
   second factor only where it is fp8, of gemm_q's always); work: of an accumulator, partial sums
   or an optimizer's arithmetic, or tf32, which fp32 inputs may be taken as; of gemm_q's scales. */
struct hc_format_set {
    const char *name;
    enum hc_format in;
    enum hc_format out;
    enum hc_format state;
    enum hc_format work;
};

/* d holds the extents. Vectors: n. gemm: m, n, k. conv: n, h, w, c, k, r, stride, pad. norm: n, h,
   w, c. pool: n, h, w, c, window. loss: n, c. collective: ranks, n. */
struct hc_op_shape {
    const char *name;
    enum hc_level level;
    bool every_distribution; /* else only normal */
    bool in_place;
    int64_t d[8];
};

/* Parameters other than shapes and formats. An empty name adds nothing to the case's name. In an
   average over ranks a divisor of 0 stands for their number. */
struct hc_variant {
    const char *name;
    union hc_params params;
    bool row;         /* gemm: C is one row */
    bool bare;        /* all optional scalars are absent */
    bool compensated; /* optimizers: with the compensation, which is absent otherwise */
};

/* Each list ends with a NULL name. */
struct hc_opspace {
    const struct hc_format_set *sets;
    const struct hc_op_shape *shapes;
    const struct hc_variant *variants;
};

/* Whether the op's contract allows that set with that variant. */
bool hc_format_set_allowed(enum hc_op op, const struct hc_format_set *set,
                           const struct hc_variant *variant);

struct hc_opspace hc_opspace(enum hc_op op);

/* Which of its lists the op's family has not given ("shapes"), or NULL. */
const char *hc_opspace_lacks(enum hc_op op);

/* A call of the op with the shapes, formats and parameters, its tensors without memory. */
struct hc_call hc_op_call(enum hc_op op, const struct hc_format_set *set,
                          const struct hc_op_shape *shape, const struct hc_variant *variant);

/* Whether such a call leaves the slot out (inputs, then outputs). */
bool hc_op_absent(const struct hc_call *call, int slot);

#endif
