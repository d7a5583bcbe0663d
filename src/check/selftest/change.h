/* What the files of check/faults/ are made of: changes to some elements of a tensor, and the
   columns of a row. */
#ifndef HC_CHECK_SELFTEST_CHANGE_H
#define HC_CHECK_SELFTEST_CHANGE_H

#include <stddef.h>

#include "check/selftest/fault.h"

/* One element of a tensor that a fault may change. */
struct hc_changed_element {
    const struct hc_call *call;
    enum hc_format format;
    int64_t i; /* of n */
    int64_t n;
    int64_t number;     /* the row's */
    const void *before; /* the tensor's bytes before the call */
    const void *right;  /* of an output, the bytes that the sound kernel gave */
};

uint64_t hc_changed_right(const struct hc_changed_element *e, int64_t i);

/* Which elements are wrong. */
typedef bool hc_where(const struct hc_changed_element *e);
hc_where hc_everywhere;
hc_where hc_at_the_end;  /* the last one */
hc_where hc_in_the_rest; /* the last n mod `number`, of vectors of `number` and more */
hc_where hc_beyond;      /* `number` and later */
hc_where hc_at_every;    /* one in `number`, scattered */
hc_where hc_at_one;      /* one in all, at an index that depends on the first input */

/* How they change: from the right bits to wrong ones. */
typedef uint64_t hc_what(const struct hc_changed_element *e, uint64_t bits);
hc_what hc_one_ulp_up;   /* away from zero; NaNs and infinities stay */
hc_what hc_one_ulp_down; /* toward zero; zeros, NaNs and infinities stay */
hc_what hc_to_zero;
hc_what hc_kept;    /* what lay there before the call */
hc_what hc_next;    /* the value of the next element; of the last one its own */
hc_what hc_flushed; /* subnormals become zeros of their sign */
hc_what hc_unsigned_zero;
hc_what hc_nan_to_zero;
hc_what hc_infinity_to_largest;
hc_what hc_negated;
hc_what hc_added;        /* to what lay there before the call */
hc_what hc_through_bf16; /* rounded into bf16 */
hc_what hc_through_fp16;
hc_what hc_through_fp32;

enum { HC_ALL_SLOTS = -1 };

/* The elements `where` of a slot are changed by `what`. */
struct hc_change {
    hc_where *where;
    hc_what *what;
    int64_t number;
    int slot; /* or HC_ALL_SLOTS: every one but those of integers */
};

/* A parameter of the call becomes `number`, is multiplied by it, or becomes its opposite. */
struct hc_changed_parameter {
    size_t offset; /* in struct hc_call */
    enum {
        HC_DOUBLE_PARAMETER,
        HC_FLOAT_PARAMETER,
        HC_BOOL_PARAMETER,
        HC_INT_PARAMETER,
        HC_LONG_PARAMETER
    } type;
    enum { HC_SET, HC_TIMES, HC_FLIP } how;
    double number;
};

/* A fault's `change_by`: input `number` is taken for absent. */
void hc_take_for_absent(struct hc_call *call, const struct hc_fault *row);

/* A fault's `rebuild`: the backend says that its memory is not the host's, though it is. The
   training loop makes its batches by the op augment on such a device. */
void hc_play_device(struct hc_backend *faulty);

/* Element i of an input, and of an output. */
static inline double hc_in(const struct hc_call *call, int slot, int64_t i)
{
    return hc_tensor_get(&call->in[slot], i);
}

static inline double hc_out(const struct hc_call *call, int slot, int64_t i)
{
    return hc_tensor_get(&call->out[slot], i);
}

static inline void hc_give(const struct hc_call *call, int slot, int64_t i, double x)
{
    hc_tensor_set(&call->out[slot], i, x);
}

/* Whether a flag of one element is given and not 0. */
bool hc_is_set(const struct hc_tensor *flag);

/* A copy of the tensor's bytes, which the caller frees. If there is no memory it ends the program:
   a fault runs in a process of its own. */
void *hc_fault_copy(const struct hc_tensor *t);

/* A row: where it is planted, its class, name and title, its ops and who must catch it (one of the
   macros below), and what goes wrong. */
#define EXACT(...) PLANTED(HC_PLACE_EXACT, __VA_ARGS__)
#define HOST(...)  PLANTED(HC_PLACE_HOST, __VA_ARGS__)
#define BOTH(...)  PLANTED(HC_PLACE_BOTH, __VA_ARGS__)
#define PLANTED(place_, class, name_, title_, where, ...)                                          \
    {                                                                                              \
        .class_ = HC_FAULT_##class, .place = (place_), .name = (name_), .title = (title_), where,  \
        __VA_ARGS__                                                                                \
    }

/* The op's own cases catch it; these and its bits; some of them; those of both ops; others. */
#define OWN(op)        .ops = (op), .patterns = "op/" op "/*"
#define OWN_BITS(op)   .ops = (op), .patterns = "op/" op "/* bits/" op "/*"
#define AT(op, cases)  .ops = (op), .patterns = "op/" op "/" cases
#define OWN_BOTH(a, b) .ops = a " " b, .patterns = "op/" a "/* op/" b "/*"
#define ON(op, cases)  .ops = (op), .patterns = (cases)

/* Some elements of an output, or of an input, are changed; or all of them. */
#define OUT(where, number, what, slot)                                                             \
    .outputs = &(const struct hc_change)                                                           \
    {                                                                                              \
        where, what, number, slot                                                                  \
    }
#define IN(where, number, what, slot)                                                              \
    .inputs = &(const struct hc_change)                                                            \
    {                                                                                              \
        where, what, number, slot                                                                  \
    }
#define OUT_ALL(what, slot) OUT(hc_everywhere, 0, what, slot)
#define IN_ALL(what, slot)  IN(hc_everywhere, 0, what, slot)

/* A parameter is changed, named as in the params of a call; or an operand is not there. */
#define SET(name, number)   CHANGED_PARAMETER(name, HC_SET, number)
#define TIMES(name, number) CHANGED_PARAMETER(name, HC_TIMES, number)
#define FLIP(name)          CHANGED_PARAMETER(name, HC_FLIP, 0)
#define ABSENT(slot)        .change_by = hc_take_for_absent, .number = (slot)
#define CHANGED_PARAMETER(name, how, number)                                                       \
    .parameter = &(const struct hc_changed_parameter)                                              \
    {                                                                                              \
        offsetof(struct hc_call, params.name),                                                     \
            _Generic(((struct hc_call *)NULL)->params.name, double                                 \
                     : HC_DOUBLE_PARAMETER, float                                                  \
                     : HC_FLOAT_PARAMETER, bool                                                    \
                     : HC_BOOL_PARAMETER, int                                                      \
                     : HC_INT_PARAMETER, unsigned                                                  \
                     : HC_INT_PARAMETER, int64_t                                                   \
                     : HC_LONG_PARAMETER),                                                         \
            how, number                                                                            \
    }

#endif
