/* What an operand is, said once.

   A slot is an input or an output of an op: `call->in[HC_ADAM_V]`. Its row in the op's descriptor
   holds everything that anybody needs to know of it without looking at a call: its name, the
   formats and the number of elements that it may have, whether it may be absent, which input an
   output may overwrite, what a generated case fills it with, and whether a network's forward and
   backward pass carry their data through it.

   Everybody reads the same row. hc_call_check holds calls to it and names slots in its messages;
   the generated cases make tensors, values and in-place calls from it; `halfcheck list ops --json`
   and `halfcheck explain op/NAME` print it. A new op therefore begins with one descriptor in its
   family's file, src/op/<family>.c; descriptor_test.c says what is missing in it.

   What a row cannot say is left to two functions of the op: `rule`, for shapes that belong together
   and for parameters, and `length`, for the number of terms in a sum. */
#ifndef HC_OP_DESCRIPTOR_H
#define HC_OP_DESCRIPTOR_H

#include <stdbool.h>
#include <stdint.h>

#include "op/call.h"

/* Formats that a slot takes. An op that can be had in fp64 (hc_descriptor.fp64) is called with its
   first input in fp64, and then all slots of HC_ALLOW_FLOAT, HC_ALLOW_FLOAT_OR_FP8 and
   HC_ALLOW_WIDE are fp64. */
enum hc_allowed {
    HC_ALLOW_FLOAT,         /* fp32, bf16 or fp16; fp64 in a call in fp64 */
    HC_ALLOW_WIDE,          /* fp32; fp64 in a call in fp64 */
    HC_ALLOW_LIKE,          /* the format of in[like] */
    HC_ALLOW_FLOAT_OR_FP8,  /* as HC_ALLOW_FLOAT, or fp8: e4m3, e5m2, or one of FNUZ's */
    HC_ALLOW_LIKE_OR_FP8,   /* the format of in[like]; of fp8 also the other one of its kind */
    HC_ALLOW_FLOAT_OR_FP64, /* fp32, bf16, fp16 or fp64 */
    HC_ALLOW_ANY,           /* every format but u8 */
    HC_ALLOW_CODES,         /* e4m3, e5m2, e4m3fnuz, e5m2fnuz, e2m3, e3m2 or e2m1 */
    HC_ALLOW_SCALES,        /* of codes: fp32, e8m0 or ue4m3 */
    HC_ALLOW_LIKE_CODES,    /* in[like]'s format; of 8 bits, also the other one of its kind */
    HC_ALLOW_NARROW,        /* every float format of 16 bits or less but e8m0 */
    HC_ALLOW_FP32,
    HC_ALLOW_I32,
    HC_ALLOW_U8
};

/* How many elements a slot has. */
enum hc_size_rule {
    HC_SIZE_FIRST,    /* as many as the first input */
    HC_SIZE_CHANNELS, /* as many as the first input's last extent */
    HC_SIZE_FIXED,    /* `count` */
    HC_SIZE_RULE      /* what the op's `rule` says; `shape` says it to people */
};

/* What a generated case fills an input with. */
enum hc_values {
    HC_VALUES_NONE, /* of outputs */
    HC_VALUES_DATA,
    HC_VALUES_FACTOR, /* a second factor, which stays near 1 where the data are extreme */
    HC_VALUES_ADDEND, /* is added to a product */
    HC_VALUES_SCALAR, /* a positive number of moderate size */
    HC_VALUES_GAIN,
    HC_VALUES_OFFSET, /* a mean, or what is added to normalised data */
    HC_VALUES_VARIANCE,
    HC_VALUES_SECOND_MOMENT,
    HC_VALUES_COMPENSATION, /* what a weight in a narrow format lacks */
    HC_VALUES_SUM_OF_SQUARES,
    HC_VALUES_HYPER,
    HC_VALUES_FLAG,
    HC_VALUES_LABELS,
    HC_VALUES_COUNTS,
    HC_VALUES_SHARE, /* how many elements of a batch each rank has */
    HC_VALUES_SCALE, /* what the codes of a block are multiplied by: positive */
    HC_VALUES_AMAX,  /* the largest magnitude in a tensor; 0 if it was idle */
    HC_VALUES_COUNT
};

/* What an input holds of a network's passes. */
enum hc_pass_data {
    HC_PASS_NOTHING, /* a weight, a statistic, a scalar; an activation whose sign alone is read */
    HC_PASS_ACTIVATION,
    HC_PASS_GRADIENT,
    HC_PASS_EITHER /* the op serves both passes */
};

struct hc_param;

struct hc_slot {
    const char *name;
    enum hc_allowed format;
    enum hc_size_rule size;
    int count;         /* of HC_SIZE_FIXED */
    const char *shape; /* of HC_SIZE_RULE, or of the first input: "[N, H, W, C]" */
    const char *note;  /* what else the rule says, when it may be absent; or NULL */
    bool optional;     /* absent when its data is NULL */
    int like;          /* the input whose format HC_ALLOW_LIKE... means */
    bool in_place;     /* the output may be in[like] itself */
    enum hc_values values;
    enum hc_pass_data pass;
    const char *const *elements; /* names of a fixed slot's elements, or NULL; `count` of them */
};

struct hc_descriptor {
    struct hc_slot in[HC_MAX_IN];
    struct hc_slot out[HC_MAX_OUT];

    /* The parameters that it reads (op/params.h), up to a NULL name. NULL: none. */
    const struct hc_param *params;

    /* Can be had in fp64: the arithmetic is then fp64, too. */
    bool fp64;

    /* The result is rounded to fp32 and then into the output's format. (In a call in fp64 it is
       rounded once.) */
    bool through_fp32;

    /* With a 16-bit accumulator the order of the sum is stated, and so every backend gives the same
       bits. */
    bool ordered;

    /* Data of both signs can cancel in the result. */
    bool cancels;

    /* Checks what the rows leave open. NULL: nothing. HC_OK, or HC_INVALID with a line. */
    enum hc_status (*rule)(const struct hc_call *call);

    /* The number of terms in the longest sum that an element of the result takes. NULL: 1. */
    int64_t (*length)(const struct hc_call *call);
};

const struct hc_descriptor *hc_descriptor(enum hc_op op);

/* The header that states the contract: "src/op/optimizer.h". */
const char *hc_op_contract(enum hc_op op);

/* Slots by one running number: the inputs, then the outputs. */
int hc_slot_count(enum hc_op op);
const struct hc_slot *hc_slot(enum hc_op op, int slot);
struct hc_tensor *hc_slot_tensor(struct hc_call *call, int slot);
const struct hc_tensor *hc_slot_tensor_const(const struct hc_call *call, int slot);

/* The formats that a slot takes, as bits 1 << format: in calls in fp64 (of an op that can be had in
   it), or in all others. The first input, by which the two are told apart, takes those of both. */
unsigned hc_slot_formats(enum hc_op op, int slot, bool fp64);

/* OCP's and AMD's formats of one byte, as such bits. The factors of a product are both of one
   kind. */
enum {
    HC_OCP_FORMATS = 1 << HC_E4M3 | 1 << HC_E5M2,
    HC_FNUZ_FORMATS = 1 << HC_E4M3FNUZ | 1 << HC_E5M2FNUZ,
    HC_FP8_FORMATS = HC_OCP_FORMATS | HC_FNUZ_FORMATS
};

/* The formats of codes, and of their scales. */
enum {
    HC_CODE_FORMATS = HC_FP8_FORMATS | 1 << HC_E2M3 | 1 << HC_E3M2 | 1 << HC_E2M1,
    HC_SCALE_FORMATS = 1 << HC_FP32 | 1 << HC_E8M0 | 1 << HC_UE4M3,
    HC_NARROW_FORMATS = HC_CODE_FORMATS | 1 << HC_UE4M3 | 1 << HC_FP16 | 1 << HC_BF16
};

/* Whether output `o` of the call may be input `i` itself: they have one format and size, and the op
   is elementwise, or else the output updates that input. */
bool hc_may_lie_in(const struct hc_call *call, int o, int i);

#define HC_FORMATS_TEXT 96

/* "fp32, bf16 or fp16" */
const char *hc_formats_text(unsigned formats, char text[HC_FORMATS_TEXT]);

#endif
