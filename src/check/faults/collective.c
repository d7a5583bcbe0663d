/* Averages over ranks that leave somebody out, divide in another place, round elsewhere or add in
   another order. */
#include <stdlib.h>
#include <string.h>

#include "check/selftest/change.h"
#include "num/format.h"

static const struct hc_change last_up = {hc_at_the_end, hc_one_ulp_up, 0, HC_ALL_REDUCE_OUT};
static const struct hc_change saturated = {hc_everywhere, hc_infinity_to_largest, 0,
                                           HC_ALL_REDUCE_OUT};
static const struct hc_change flushed = {hc_everywhere, hc_flushed, 0, HC_ALL_REDUCE_X};

/* The last ranks contribute nothing, but are counted. */
static void ranks_left_out(struct hc_call *call, double number)
{
    int64_t *ranks = &call->in[HC_ALL_REDUCE_X].shape[0];
    if (*ranks > (int64_t)number)
        *ranks -= (int64_t)number;
}

/* The average is over so many ranks more. */
static void counted_more(struct hc_call *call, double number)
{
    struct hc_all_reduce *p = &call->params.all_reduce;
    double ranks = (double)call->in[HC_ALL_REDUCE_X].shape[0];
    double *divisor = p->after == ranks ? &p->after : &p->before;
    if (*divisor == ranks)
        *divisor = ranks + number;
}

static void divisions_swapped(struct hc_call *call, double number)
{
    struct hc_all_reduce *p = &call->params.all_reduce;
    double before = p->before;
    (void)number;
    p->before = p->after;
    p->after = before;
}

/* By what is divided before and after is divided at once, after. */
static void divided_once(struct hc_call *call, double number)
{
    struct hc_all_reduce *p = &call->params.all_reduce;
    (void)number;
    p->after *= p->before;
    p->before = 1;
}

static void reciprocal_or_not(struct hc_call *call, double number)
{
    (void)number;
    call->params.all_reduce.multiplies = !call->params.all_reduce.multiplies;
}

/* Partial sums are kept in the format `number`. */
static void summed_in(struct hc_call *call, double number)
{
    if (call->in[HC_ALL_REDUCE_X].format != HC_FP64)
        call->params.all_reduce.sum = (enum hc_format)number;
}

/* Another algorithm in the place of the one in `data`. */
static enum hc_status in_other_order(const struct hc_fault_site *site, struct hc_queue *queue,
                                     const struct hc_call *call)
{
    const enum hc_collective *of = site->fault->data;
    struct hc_call other = *call;
    if (call->params.all_reduce.algorithm == *of)
        other.params.all_reduce.algorithm = (enum hc_collective)site->fault->number;
    return site->right(queue, &other);
}

/* Rank r takes what rank r + `number` has: a ring begins elsewhere, and of a tree another leaf has
   no partner. */
static enum hc_status ranks_rotated(const struct hc_fault_site *site, struct hc_queue *queue,
                                    const struct hc_call *call)
{
    const struct hc_tensor *x = &call->in[HC_ALL_REDUCE_X];
    const enum hc_collective *of = site->fault->data;
    size_t ranks = (size_t)x->shape[0];
    size_t row = hc_tensor_bytes(x) / ranks;
    struct hc_call other = *call;
    if (call->params.all_reduce.algorithm != *of)
        return site->right(queue, call);
    char *rotated = hc_fault_copy(x);
    for (size_t r = 0; r < ranks && row > 0; r++)
        memcpy(rotated + r * row,
               (const char *)x->data + (r + (size_t)site->fault->number) % ranks * row, row);
    other.in[HC_ALL_REDUCE_X].data = rotated;
    enum hc_status status = site->right(queue, &other);
    free(rotated);
    return status;
}

/* What is left over when the vector is cut into equal chunks stays as rank 0 has it. */
static enum hc_status rest_forgotten(const struct hc_fault_site *site, struct hc_queue *queue,
                                     const struct hc_call *call)
{
    const struct hc_tensor *x = &call->in[HC_ALL_REDUCE_X];
    enum hc_status status = site->right(queue, call);
    if (call->params.all_reduce.algorithm != HC_COLLECTIVE_RING || status != HC_OK)
        return status;
    for (int64_t i = x->shape[1] / x->shape[0] * x->shape[0]; i < x->shape[1]; i++)
        hc_tensor_set_bits(&call->out[HC_ALL_REDUCE_OUT], i, hc_tensor_bits(x, i));
    return status;
}

static const enum hc_collective tree = HC_COLLECTIVE_TREE;
static const enum hc_collective ring = HC_COLLECTIVE_RING;
static const enum hc_collective halving = HC_COLLECTIVE_HALVING;

#define OP "all_reduce"

static const struct hc_fault faults[] = {
    {"average-without-the-last", "the last rank's contribution is left out of an average",
     HC_FAULT_FORMULA, OP, "op/all_reduce/* bits/all_reduce/* border/all_reduce/*",
     .change = ranks_left_out, .number = 1, .place = HC_PLACE_HOST},
    {"average-over-one-more", "an average over ranks counts one rank too many", HC_FAULT_FORMULA,
     OP, "op/all_reduce/* bits/all_reduce/*", .change = counted_more, .number = 1},
    {"average-divided-elsewhere", "a sum over ranks is divided after where it should be before",
     HC_FAULT_FORMULA, OP, "op/all_reduce/*-before/* bits/all_reduce/*",
     .change = divisions_swapped, .place = HC_PLACE_HOST},
    {"average-divided-once", "two divisions of an average over ranks become one", HC_FAULT_ROUNDING,
     OP, "op/all_reduce/*-split*/*", .change = divided_once},
    {"average-by-reciprocal", "an average multiplies where it should divide, and divides instead",
     HC_FAULT_ROUNDING, OP, "op/all_reduce/*-times/* bits/all_reduce/*",
     .change = reciprocal_or_not, .place = HC_PLACE_HOST},
    {"average-summed-wide", "sums over ranks in sixteen bits are rounded only at their end",
     HC_FAULT_ACCUMULATOR, OP, "op/all_reduce/*-in-*/* bits/all_reduce/*", .change = summed_in,
     .number = HC_FP32},
    {"average-summed-in-bf16", "sums over ranks are kept in bf16", HC_FAULT_ACCUMULATOR, OP,
     "op/all_reduce/* bits/all_reduce/*", .change = summed_in, .number = HC_BF16,
     .place = HC_PLACE_HOST},
    {"ring-as-a-tree", "a ring adds in the order of a tree", HC_FAULT_ACCUMULATOR, OP,
     "op/all_reduce/*-ring*/* bits/all_reduce/*", .wrong = in_other_order, .data = &ring,
     .number = HC_COLLECTIVE_TREE},
    {"tree-as-halving", "a tree begins with the most distant ranks", HC_FAULT_ACCUMULATOR, OP,
     "op/all_reduce/* bits/all_reduce/*", .wrong = in_other_order, .data = &tree,
     .number = HC_COLLECTIVE_HALVING, .place = HC_PLACE_HOST},
    {"halving-as-a-tree", "recursive halving begins with neighbours", HC_FAULT_ACCUMULATOR, OP,
     "op/all_reduce/*-halving*/* bits/all_reduce/*", .wrong = in_other_order, .data = &halving,
     .number = HC_COLLECTIVE_TREE},
    {"ring-begins-late", "the chunks of a ring begin two ranks behind their own",
     HC_FAULT_ACCUMULATOR, OP, "op/all_reduce/*-ring*/* bits/all_reduce/*", .wrong = ranks_rotated,
     .data = &ring, .number = 1},
    {"tree-other-pairs", "a tree pairs every rank with the one on its other side",
     HC_FAULT_ACCUMULATOR, OP, "op/all_reduce/* bits/all_reduce/*", .wrong = ranks_rotated,
     .data = &tree, .number = 1, .place = HC_PLACE_HOST},
    {"ring-forgets-the-rest", "a ring leaves out what its chunks do not cover", HC_FAULT_TAIL, OP,
     "op/all_reduce/*-ring*/* border/all_reduce/*", .wrong = rest_forgotten,
     .place = HC_PLACE_HOST},
    {"average-last-element", "an average is off in the last bit of its last element", HC_FAULT_TAIL,
     OP, "op/all_reduce/* bits/all_reduce/*", .outputs = &last_up},
    {"average-saturates", "an average that overflows is the largest number", HC_FAULT_SPECIALS, OP,
     "op/all_reduce/*/specials bits/all_reduce/*", .outputs = &saturated},
    {"average-flushes", "subnormal contributions count as zero", HC_FAULT_SPECIALS, OP,
     "op/all_reduce/*/subnormals", .inputs = &flushed, .place = HC_PLACE_HOST},
    {"common-average-order", "trees add as rings do in all backends", HC_FAULT_COMMON, OP,
     "op/all_reduce/*", .wrong = in_other_order, .data = &tree, .number = HC_COLLECTIVE_RING,
     .place = HC_PLACE_BOTH},
    {"common-average-count", "averages count one rank too many in all backends", HC_FAULT_COMMON,
     OP, "op/all_reduce/*", .like = "average-over-one-more", .place = HC_PLACE_BOTH},
    {"common-average-wide", "sums over ranks are kept in fp32 in all backends", HC_FAULT_COMMON, OP,
     "op/all_reduce/*-in-*/*", .like = "average-summed-wide", .place = HC_PLACE_BOTH},
};

HC_FAULTS(collective, faults);
