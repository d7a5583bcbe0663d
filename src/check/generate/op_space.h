/* What the generated cases cross: formats, shapes and parameters of each op. */
#ifndef HC_CHECK_GENERATE_OP_SPACE_H
#define HC_CHECK_GENERATE_OP_SPACE_H

#include "check/check.h"

/* in: the tensors of data; out: the result; state: weights, gains and statistics; work: an
   accumulator or an optimizer's arithmetic, or tf32, which fp32 inputs may be taken as. */
struct hc_format_set {
    const char *name;
    enum hc_format in;
    enum hc_format out;
    enum hc_format state;
    enum hc_format work;
};

/* Extents: vectors n; engine n; gemm m, n, k; conv n, h, w, c, k, r, stride, pad; norm n, h, w, c; pool n, h, w,
   c, window; loss n, c. */
struct hc_op_shape {
    const char *name;
    enum hc_level level;
    bool every_distribution; /* else normal alone */
    bool in_place;
    int64_t d[8];
};

/* Parameters other than shapes and formats; an empty name adds nothing to the case's name. */
struct hc_variant {
    const char *name;
    union hc_params params;
    bool row;         /* gemm: C is one row */
    bool bare;        /* no scalar that may be absent is there */
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

/* A call of the op with the shapes, formats and parameters, its tensors without memory. */
struct hc_call hc_op_call(enum hc_op op, const struct hc_format_set *set,
                          const struct hc_op_shape *shape, const struct hc_variant *variant);

/* Whether such a call leaves the slot out (inputs, then outputs). */
bool hc_op_absent(const struct hc_call *call, int slot);

#endif
