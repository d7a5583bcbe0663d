/* The descriptors of op/defined.h. A slot's shape names axes by letters, as its definition does: a
   letter has one extent in a call. */
#include "op/defined.h"

#include <ctype.h>

#include "op/attention.h"
#include "op/families.h"
#include "op/params.h"
#include "op/rule.h"

/* Rows of more elements would take the reference too long (HC_MAX_OPERATIONS). */
enum { LONGEST_AXIS = 1 << 24, LETTERS = 26 };

/* Option k of a definition, which is a real number. */
#define REAL(k, name, usual_)                                                                      \
    {                                                                                              \
        name, HC_PARAM_REAL, offsetof(union hc_params, later) + (k) * sizeof(double),              \
            .usual = (usual_)                                                                      \
    }

/* The same for an integer, and for what is true or false. */
#define INTEGER(k, name, usual_)                                                                   \
    {                                                                                              \
        name, HC_PARAM_LONG, offsetof(union hc_params, later) + (k) * sizeof(double),              \
            .usual = (usual_)                                                                      \
    }
#define FLAG(k, name, usual_)                                                                      \
    {                                                                                              \
        name, HC_PARAM_FLAG, offsetof(union hc_params, later) + (k) * sizeof(double),              \
            .usual = (usual_)                                                                      \
    }
#define SCALE                                                                                      \
    {                                                                                              \
        "scale", HC_PARAM_REAL, offsetof(union hc_params, later),                                  \
            .usual = "nan", .note = "nan stands for 1/sqrt(D)"                                     \
    }

static const struct hc_param eps_1e6[] = {REAL(0, "eps", "1e-6"), {0}};
static const struct hc_param eps_1e5[] = {REAL(0, "eps", "1e-5"), {0}};
static const struct hc_param no_padding[] = {INTEGER(0, "padding", "-1"), {0}};
static const struct hc_param scale_and_mask[] = {SCALE, FLAG(1, "causal", "true"), {0}};
static const struct hc_param options_of_attention[] = {SCALE,
                                                       FLAG(1, "causal", "true"),
                                                       FLAG(2, "top_left", "false"),
                                                       INTEGER(3, "before", "16777216"),
                                                       INTEGER(4, "after", "0"),
                                                       REAL(5, "cap", "0.0"),
                                                       INTEGER(6, "weights", "0"),
                                                       {0}};

static const struct hc_param options_of_softmax[] = {
    REAL(0, "scale", "1.0"), FLAG(1, "causal", "false"), INTEGER(2, "dead", "0"), {0}};
static const struct hc_param scale_of_1[] = {REAL(0, "scale", "1.0"), {0}};

static const struct hc_param options_of_dropout[] = {
    REAL(0, "p", "0.1"), INTEGER(1, "threshold", "230"), {0}};

static const struct hc_param options_of_sum_norm[] = {REAL(0, "eps", "1e-6"),
                                                      REAL(1, "offset", "0.0"),
                                                      INTEGER(2, "cast", "0"),
                                                      FLAG(3, "stored", "true"),
                                                      {0}};
static const struct hc_param options_of_sum_gradient[] = {
    REAL(0, "offset", "0.0"), INTEGER(1, "cast", "0"), {0}};
static const struct hc_param eps_and_stored[] = {
    REAL(0, "eps", "1e-5"), FLAG(1, "stored", "true"), {0}};

static const struct hc_param ignored_target[] = {INTEGER(0, "ignore", "-100"), {0}};
static const struct hc_param options_of_chunks[] = {
    INTEGER(0, "ignore", "-100"), FLAG(1, "stored", "false"), INTEGER(2, "chunk", "16777216"), {0}};

/* Of a cross-entropy, before what it says of a batch that is empty. */
#define OF_LOSSES                                                                                  \
    INTEGER(0, "ignore", "-100"), REAL(1, "smoothing", "0.0"), REAL(2, "zeta", "0.0"),             \
        REAL(3, "cap", "0.0"), INTEGER(4, "reduction", "0"), REAL(5, "total", "1.0")
static const struct hc_param options_of_loss[] = {OF_LOSSES, INTEGER(6, "empty", "0"), {0}};
static const struct hc_param options_of_loss_gradient[] = {OF_LOSSES, {0}};

static enum hc_status axes(const struct hc_call *call)
{
    int64_t extent[LETTERS];
    const char *where[LETTERS] = {NULL};
    const char *op = hc_ops[call->op].name;
    for (int s = 0; s < hc_slot_count(call->op); s++) {
        const struct hc_slot *slot = hc_slot(call->op, s);
        const struct hc_tensor *t = hc_slot_tensor_const(call, s);
        char shape[HC_SHAPE_TEXT];
        int d = 0;
        for (const char *c = slot->shape; c && *c; c++) {
            int axis = *c - 'A';
            if (!isupper((unsigned char)*c))
                continue;
            if (d < t->rank && !where[axis]) {
                where[axis] = slot->name;
                extent[axis] = t->shape[d];
            }
            if (d < t->rank && extent[axis] != t->shape[d])
                return hc_fail(HC_INVALID, "%s: %s has shape %s, and %c is %lld in %s", op,
                               slot->name, hc_shape_text(t, shape), *c, (long long)extent[axis],
                               where[axis]);
            if (d < t->rank && t->shape[d] > LONGEST_AXIS)
                return hc_fail(HC_INVALID, "%s: %s has shape %s; no axis has more than 2^24 places",
                               op, slot->name, hc_shape_text(t, shape));
            d++;
        }
        if (slot->shape && d != t->rank)
            return hc_fail(HC_INVALID, "%s: %s has shape %s, not %s", op, slot->name,
                           hc_shape_text(t, shape), slot->shape);
    }
    return HC_OK;
}

/* Scores are scaled by 1 / sqrt(D). */
static enum hc_status axes_of_attention(const struct hc_call *call)
{
    enum hc_status status = axes(call);
    if (status == HC_OK && call->in[HC_ATTENTION_Q].shape[2] < 1)
        return hc_fail(HC_INVALID, "%s: D is 0, and q and k have no numbers",
                       hc_ops[call->op].name);
    return status;
}

/* As many heads of q have each head of k and v. */
static enum hc_status axes_of_shared_keys(const struct hc_call *call)
{
    const char *op = hc_ops[call->op].name;
    enum hc_status status = axes_of_attention(call);
    int64_t heads = call->in[HC_ATTENTION_Q].shape[0];
    int64_t key_heads = call->in[HC_ATTENTION_K].shape[0];
    int64_t weights = hc_defined_integer(call, HC_ATTENTION_WEIGHTS);
    if (status == HC_OK && (key_heads < 1 ? heads > 0 : heads % key_heads != 0))
        return hc_fail(HC_INVALID, "%s: %lld heads of q cannot share %lld of k and v", op,
                       (long long)heads, (long long)key_heads);
    if (status == HC_OK && (weights < 0 || weights >= HC_WEIGHTS_COUNT))
        return hc_fail(HC_INVALID, "%s: weights is %lld, and not 0, 1 or 2", op,
                       (long long)weights);
    return status;
}

static enum hc_status axes_of_softmax(const struct hc_call *call)
{
    enum hc_status status = axes(call);
    int64_t dead = hc_defined_integer(call, HC_SOFTMAX_DEAD);
    if (status == HC_OK && (dead < 0 || dead > HC_SOFTMAX_DEAD_UNIFORM))
        return hc_fail(HC_INVALID, "%s: dead is %lld, and not 0, 1 or 2", hc_ops[call->op].name,
                       (long long)dead);
    return status;
}

static enum hc_status axes_of_loss(const struct hc_call *call)
{
    enum hc_status status = axes(call);
    int64_t reduction = hc_defined_integer(call, HC_CE_REDUCTION);
    if (status == HC_OK && (reduction < 0 || reduction > HC_CE_OVER_TOTAL))
        return hc_fail(HC_INVALID, "%s: reduction is %lld, and not 0, 1 or 2",
                       hc_ops[call->op].name, (long long)reduction);
    return status;
}

static enum hc_status axes_of_chunks(const struct hc_call *call)
{
    enum hc_status status = axes(call);
    int64_t chunk = hc_defined_integer(call, HC_LCE_CHUNK);
    if (status == HC_OK && (chunk < 1 || chunk > LONGEST_AXIS))
        return hc_fail(HC_INVALID, "%s: a chunk of %lld rows is none of 1 to 2^24",
                       hc_ops[call->op].name, (long long)chunk);
    return status;
}

/* The longest sum runs over one axis. */
static int64_t longest_axis(const struct hc_call *call)
{
    int64_t longest = 1;
    for (int s = 0; s < hc_ops[call->op].inputs; s++)
        for (int d = 0; d < call->in[s].rank; d++)
            longest = call->in[s].shape[d] > longest ? call->in[s].shape[d] : longest;
    return longest;
}

#define SLOT(name, format, shape_, values_)                                                        \
    {                                                                                              \
        name, format, HC_SIZE_RULE, .shape = (shape_), .values = HC_VALUES_##values_               \
    }
#define IN(name, shape, values)   SLOT(name, HC_ALLOW_FLOAT, shape, values)
#define WIDE(name, shape, values) SLOT(name, HC_ALLOW_WIDE, shape, values)
#define KEPT(name, shape)         WIDE(name, shape, GAIN)
#define INDEX(name, shape)        SLOT(name, HC_ALLOW_I32, shape, LABELS)
#define OUT(name, shape)          SLOT(name, HC_ALLOW_FLOAT, shape, NONE)
#define SUMS                      .fp64 = true, .rule = axes, .length = longest_axis
#define LESS                      SUMS, .cancels = true /* a mean or a maximum, which is near */
#define ALONE                     .fp64 = true, .rule = axes /* each element for itself */
#define ATTENTION                                                                                  \
    .params = scale_and_mask, .fp64 = true, .rule = axes_of_attention, .length = longest_axis

static const struct hc_descriptor rms_norm_slots = {
    SUMS, .params = eps_1e6, .in = {IN("x", "[T, D]", DATA), IN("w", "[D]", GAIN)},
    .out = {OUT("y", "[T, D]")}};
static const struct hc_descriptor rms_norm_backward_slots = {
    SUMS,
    .in = {IN("dy", "[T, D]", FACTOR), IN("x", "[T, D]", DATA), IN("w", "[D]", GAIN),
           KEPT("rstd", "[T]")},
    .out = {OUT("dx", "[T, D]"), OUT("dw", "[D]")}};
static const struct hc_descriptor softmax_slots = {LESS, .in = {IN("x", "[N, C]", DATA)},
                                                   .out = {OUT("y", "[N, C]")}};
static const struct hc_descriptor softmax_backward_slots = {
    SUMS, .in = {IN("dy", "[N, C]", FACTOR), IN("y", "[N, C]", DATA)},
    .out = {OUT("dx", "[N, C]")}};
static const struct hc_descriptor gelu_slots = {ALONE, .in = {IN("x", "[I]", DATA)},
                                                .out = {OUT("y", "[I]")}};
static const struct hc_descriptor gelu_backward_slots = {
    ALONE, .in = {IN("dy", "[I]", FACTOR), IN("x", "[I]", DATA)}, .out = {OUT("dx", "[I]")}};

static const struct hc_descriptor gelu_tanh_slots = {ALONE, .in = {IN("x", "[I]", DATA)},
                                                     .out = {OUT("y", "[I]")}};
static const struct hc_descriptor gelu_tanh_backward_slots = {
    ALONE, .in = {IN("dy", "[I]", FACTOR), IN("x", "[I]", DATA)}, .out = {OUT("dx", "[I]")}};

static const struct hc_descriptor layer_norm_slots = {
    LESS, .params = eps_1e5,
    .in = {IN("x", "[T, D]", DATA), IN("w", "[D]", GAIN), IN("b", "[D]", OFFSET)},
    .out = {OUT("y", "[T, D]")}};
static const struct hc_descriptor layer_norm_backward_slots = {
    SUMS,
    .in = {IN("dy", "[T, D]", FACTOR), IN("x", "[T, D]", DATA), IN("w", "[D]", GAIN),
           WIDE("mu", "[T]", OFFSET), KEPT("rstd", "[T]")},
    .out = {OUT("dx", "[T, D]"), OUT("dw", "[D]"), OUT("db", "[D]")}};
static const struct hc_descriptor silu_slots = {ALONE, .in = {IN("x", "[I]", DATA)},
                                                .out = {OUT("y", "[I]")}};
static const struct hc_descriptor silu_backward_slots = {
    ALONE, .in = {IN("dy", "[I]", FACTOR), IN("x", "[I]", DATA)}, .out = {OUT("dx", "[I]")}};
static const struct hc_descriptor swiglu_slots = {
    ALONE, .in = {IN("gate", "[T, D]", DATA), IN("up", "[T, D]", FACTOR)},
    .out = {OUT("y", "[T, D]")}};

static const struct hc_descriptor swiglu_backward_slots = {
    ALONE,
    .in = {IN("gate", "[T, D]", DATA), IN("up", "[T, D]", FACTOR), IN("dy", "[T, D]", FACTOR)},
    .out = {OUT("dgate", "[T, D]"), OUT("dup", "[T, D]")}};

static const struct hc_descriptor rms_norm_kept_slots = {
    SUMS, .params = eps_1e6, .in = {IN("x", "[T, D]", DATA), IN("w", "[D]", GAIN)},
    .out = {OUT("y", "[T, D]"), WIDE("rstd", "[T]", NONE)}};
static const struct hc_descriptor layer_norm_kept_slots = {
    LESS, .params = eps_1e5,
    .in = {IN("x", "[T, D]", DATA), IN("w", "[D]", GAIN), IN("b", "[D]", OFFSET)},
    .out = {OUT("y", "[T, D]"), WIDE("mu", "[T]", NONE), WIDE("rstd", "[T]", NONE)}};

static const struct hc_descriptor embedding_slots = {
    ALONE, .in = {IN("w", "[V, D]", DATA), INDEX("id", "[N]")}, .out = {OUT("y", "[N, D]")}};
static const struct hc_descriptor embedding_backward_slots = {
    SUMS, .params = no_padding, .in = {IN("dy", "[N, D]", DATA), INDEX("id", "[N]")},
    .out = {OUT("dw", "[V, D]")}};
static const struct hc_descriptor rotary_halves_slots = {
    ALONE,
    .in = {IN("x", "[H, T, D]", DATA), WIDE("co", "[T, D]", FACTOR), WIDE("si", "[T, D]", FACTOR)},
    .out = {OUT("y", "[H, T, D]")}};

static const struct hc_descriptor swap_axes_slots = {ALONE, .in = {IN("x", "[B, T, H, D]", DATA)},
                                                     .out = {OUT("y", "[B, H, T, D]")}};

/* q, k and v, in either pass. */
#define HEADS IN("q", "[H, T, D]", DATA), IN("k", "[H, U, D]", FACTOR), IN("v", "[H, U, E]", FACTOR)

static const struct hc_descriptor attention_slots = {
    ATTENTION, .cancels = true, .in = {HEADS},
    .out = {OUT("y", "[H, T, E]"), WIDE("lse", "[H, T]", NONE)}};
static const struct hc_descriptor attention_backward_slots = {
    ATTENTION,
    .in = {HEADS, IN("o", "[H, T, E]", FACTOR), WIDE("lse", "[H, T]", OFFSET),
           IN("dy", "[H, T, E]", FACTOR)},
    .out = {OUT("dq", "[H, T, D]"), OUT("dk", "[H, U, D]"), OUT("dv", "[H, U, E]")}};

/* q, and k and v of fewer heads. */
#define SHARED_HEADS                                                                               \
    IN("q", "[H, T, D]", DATA), IN("k", "[G, U, D]", FACTOR), IN("v", "[G, U, E]", FACTOR),        \
        WIDE("sink", "[H]", FACTOR)
#define GENERAL                                                                                    \
    .params = options_of_attention, .fp64 = true, .rule = axes_of_shared_keys,                     \
    .length = longest_axis

static const struct hc_descriptor attention_general_slots = {
    GENERAL, .cancels = true, .in = {SHARED_HEADS},
    .out = {OUT("y", "[H, T, E]"), WIDE("lse", "[H, T]", NONE)}};
static const struct hc_descriptor attention_general_backward_slots = {
    GENERAL,
    .in = {SHARED_HEADS, IN("o", "[H, T, E]", FACTOR), WIDE("lse", "[H, T]", OFFSET),
           IN("dy", "[H, T, E]", FACTOR)},
    .out = {OUT("dq", "[H, T, D]"), OUT("dk", "[G, U, D]"), OUT("dv", "[G, U, E]"),
            WIDE("dsink", "[H]", NONE)}};

static const struct hc_descriptor softmax_general_slots = {
    .params = options_of_softmax,
    .fp64 = true,
    .rule = axes_of_softmax,
    .length = longest_axis,
    .cancels = true,
    .in = {IN("x", "[H, T, U]", DATA), IN("mask", "[T, U]", OFFSET)},
    .out = {OUT("y", "[H, T, U]")}};
static const struct hc_descriptor softmax_general_backward_slots = {
    SUMS, .params = scale_of_1, .in = {IN("dy", "[H, T, U]", FACTOR), IN("y", "[H, T, U]", DATA)},
    .out = {OUT("dx", "[H, T, U]")}};
static const struct hc_descriptor log_softmax_slots = {LESS, .in = {IN("x", "[N, C]", DATA)},
                                                       .out = {OUT("y", "[N, C]")}};
static const struct hc_descriptor log_softmax_backward_slots = {
    SUMS, .in = {IN("dy", "[N, C]", FACTOR), IN("y", "[N, C]", DATA)},
    .out = {OUT("dx", "[N, C]")}};

static const struct hc_descriptor cross_entropy_general_slots = {
    .params = options_of_loss,
    .fp64 = true,
    .rule = axes_of_loss,
    .length = longest_axis,
    .cancels = true,
    .in = {IN("z", "[N, C]", DATA), INDEX("target", "[N]"), IN("w", "[C]", GAIN)},
    .out = {WIDE("loss", "[]", NONE), WIDE("rows", "[N]", NONE), WIDE("lse", "[N]", NONE)}};
static const struct hc_descriptor cross_entropy_general_backward_slots = {
    .params = options_of_loss_gradient,
    .fp64 = true,
    .rule = axes_of_loss,
    .length = longest_axis,
    .in = {IN("z", "[N, C]", DATA), INDEX("target", "[N]"), IN("w", "[C]", GAIN),
           WIDE("lse", "[N]", OFFSET), WIDE("dloss", "[]", SCALAR)},
    .out = {OUT("dz", "[N, C]")}};

static const struct hc_descriptor dropout_bits_slots = {
    ALONE, .params = options_of_dropout, .in = {IN("x", "[I]", DATA), INDEX("bits", "[I]")},
    .out = {OUT("y", "[I]")}};

/* Two parts of an attention, in either pass. */
#define PARTS                                                                                      \
    IN("a", "[H, T, E]", DATA), WIDE("la", "[H, T]", OFFSET), IN("b", "[H, T, E]", FACTOR),        \
        WIDE("lb", "[H, T]", OFFSET)

static const struct hc_descriptor attention_merge_slots = {
    LESS, .in = {PARTS}, .out = {OUT("y", "[H, T, E]"), WIDE("lse", "[H, T]", NONE)}};
static const struct hc_descriptor attention_merge_backward_slots = {
    SUMS,
    .in = {PARTS, WIDE("lse", "[H, T]", OFFSET), IN("dy", "[H, T, E]", FACTOR),
           WIDE("dlse", "[H, T]", FACTOR)},
    .out = {OUT("da", "[H, T, E]"), WIDE("dla", "[H, T]", NONE), OUT("db", "[H, T, E]"),
            WIDE("dlb", "[H, T]", NONE)}};

/* What a norm of a sum gets, in either pass. */
#define ADDENDS IN("x", "[T, D]", DATA), IN("r", "[T, D]", FACTOR), IN("w", "[D]", GAIN)
#define FLOWS   IN("dy", "[T, D]", FACTOR), IN("ds", "[T, D]", FACTOR)
#define THE_SUM IN("s", "[T, D]", DATA), IN("w", "[D]", GAIN)

static const struct hc_descriptor add_rms_norm_slots = {
    LESS, .params = options_of_sum_norm, .in = {ADDENDS},
    .out = {OUT("y", "[T, D]"), OUT("s", "[T, D]"), WIDE("rstd", "[T]", NONE)}};
static const struct hc_descriptor add_rms_norm_backward_slots = {
    SUMS, .params = options_of_sum_gradient, .in = {FLOWS, THE_SUM, KEPT("rstd", "[T]")},
    .out = {OUT("dx", "[T, D]"), OUT("dw", "[D]")}};
static const struct hc_descriptor add_layer_norm_kept_slots = {
    LESS, .params = eps_and_stored, .in = {ADDENDS, IN("b", "[D]", OFFSET)},
    .out = {OUT("y", "[T, D]"), OUT("s", "[T, D]"), WIDE("mu", "[T]", NONE),
            WIDE("rstd", "[T]", NONE)}};
static const struct hc_descriptor add_layer_norm_backward_slots = {
    SUMS, .in = {FLOWS, THE_SUM, WIDE("mu", "[T]", OFFSET), KEPT("rstd", "[T]")},
    .out = {OUT("dx", "[T, D]"), OUT("dw", "[D]"), OUT("db", "[D]")}};

static const struct hc_descriptor linear_cross_entropy_slots = {
    LESS, .params = ignored_target,
    .in = {IN("x", "[N, D]", DATA), IN("w", "[C, D]", FACTOR), INDEX("target", "[N]")},
    .out = {WIDE("loss", "[]", NONE)}};
static const struct hc_descriptor linear_cross_entropy_backward_slots = {
    .params = options_of_chunks,
    .fp64 = true,
    .rule = axes_of_chunks,
    .length = longest_axis,
    .in = {IN("x", "[N, D]", DATA), IN("w", "[C, D]", FACTOR), INDEX("target", "[N]"),
           WIDE("dloss", "[]", SCALAR)},
    .out = {OUT("dx", "[N, D]"), OUT("dw", "[C, D]")}};

const struct hc_descriptor *const hc_defined_ops[HC_OP_ROOM] = {
#define HC_OP(name, class, inputs, outputs, title) [HC_OP_##name] = &name##_slots,
#include "op/defined.def"
#undef HC_OP
};

const char *hc_defined_text(enum hc_op op)
{
    static const char *const texts[HC_OP_ROOM] = {
#define HC_OP(name, class, inputs, outputs, title) [HC_OP_##name] = "definitions/" #name ".op",
#include "op/defined.def"
#undef HC_OP
    };
    return texts[op];
}
