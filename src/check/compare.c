/* hc_claim_call: the claim that one call's outputs are right.

   Each output element has three values. `real` is what the op's definition gives in real
   numbers: the reference computes it in MPFR. `exact` is what the backend `exact` gives: the
   contract in portable C, every rounding in its format, one fixed order. `got` is what the backend
   under test gives.

   - got against real, under the bound that the contract allows (compare_output.c). MPFR is slow, so
     this is done for every element of a small output and for a sample of a large one (sample.c).
   - exact against real, on the same elements: what the others are compared with must itself be
   right. - got against exact, on all elements. Where the contract states every rounding and its
   order, the
     bits must be the same (here); where the order of a sum is free, both lie within their bounds of
     real, so within the sum of both bounds of each other (against.c).

   The answers come apart: |got - exact| is the implementation's fault, |exact - real| is the
   format's. What a claim cannot see is an error inside the bound, and one outside the sample that
   `exact` has as well. The inputs must be able to show an error at all (compare_output.c). */
#include "check/compare.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check/bound/bound.h"
#include "check/subnormals.h"
#include "check/known.h"
#include "check/repeats.h"
#include "check/run_call.h"
#include "op/descriptor.h"
#include "reference.h"

bool hc_claim_copied(struct hc_claim *claim, struct hc_tensor *t)
{
    size_t bytes = hc_tensor_bytes(t);
    void *copy = malloc(bytes ? bytes : 1);
    if (!copy)
        return false;
    memcpy(copy, t->data, bytes);
    claim->owned[claim->owned_count++] = copy;
    t->data = copy;
    return true;
}

static bool is_an_output(const struct hc_call *call, const struct hc_tensor *input)
{
    for (int o = 0; o < hc_ops[call->op].outputs; o++)
        if (input->data && input->data == call->out[o].data)
            return true;
    return false;
}

/* Keeps inputs that the call overwrites as they were, and gives `exact` outputs of its own. False
   if there is no memory. */
static bool prepare(struct hc_claim *claim, const struct hc_call *call)
{
    const struct hc_op_info *op = &hc_ops[call->op];
    bool ok = true;
    for (int i = 0; i < op->inputs && ok; i++)
        if (is_an_output(call, &call->in[i]))
            ok = hc_claim_copied(claim, &claim->call.in[i]);
    claim->exact = claim->call;
    for (int o = 0; o < op->outputs && ok; o++)
        if (call->out[o].data && !claim->repeats)
            ok = hc_claim_copied(claim, &claim->exact.out[o]);
    return ok;
}

/* How the call was summed is known now that it has run: a fallback may have run it (fallback.h).
   The factors are then what the backend's unit makes of them. False if there is no memory. */
static bool read_factors(struct hc_claim *claim)
{
    claim->sums = hc_backend_accumulator(claim->check->backend, &claim->call);
    if (!hc_flush_factors(claim) || !hc_raise_factors(claim))
        return false;
    memcpy(claim->exact.in, claim->call.in, sizeof claim->exact.in);
    return true;
}

/* Every element against the bits that `exact` gave. */
static void compare_bits(struct hc_claim *claim, int out, const char *what)
{
    const struct hc_tensor *got = &claim->call.out[out];
    const struct hc_tensor *want = &claim->exact.out[out];
    char name[80];
    struct hc_comparisons all = {.what = name, .checked = hc_tensor_count(got)};
    (void)snprintf(name, sizeof name, "%s: all elements against exact", what);
    size_t bytes = hc_tensor_bytes(got);
    bool equal = bytes == 0 || memcmp(want->data, got->data, bytes) == 0;
    for (int64_t i = 0; i < all.checked && !equal; i++)
        if (!hc_same_bits(got->format, hc_tensor_bits(want, i), hc_tensor_bits(got, i)))
            hc_comparisons_wrong(&all, "%s[%" PRId64 "]: exact gives %.9g, got %.9g", what, i,
                                 hc_tensor_get(want, i), hc_tensor_get(got, i));
    hc_claim_comparisons(claim->check, &all);
}

static enum hc_status run_exact(struct hc_claim *claim)
{
    enum hc_status status = HC_OK;
    if (claim->on_exact)
        memcpy(claim->exact.out, claim->call.out, sizeof claim->exact.out);
    else if (claim->repeats)
        return HC_OK;
    else
        status = hc_do_on_exact(claim->check, &claim->exact);
    claim->has_exact = status == HC_OK;
    if (status == HC_OK || status == HC_UNSUPPORTED)
        return HC_OK;
    hc_check_failed(claim->check);
    return status;
}

static void compare_all(struct hc_claim *claim)
{
    const struct hc_op_info *op = &hc_ops[claim->call.op];
    for (int out = 0; out < op->outputs; out++) {
        const struct hc_tensor *t = &claim->call.out[out];
        char what[48];
        if (!t->data || hc_tensor_count(t) == 0)
            continue;
        (void)snprintf(what, sizeof what, op->outputs > 1 ? "%s %s" : "%s", op->name,
                       hc_slot(claim->call.op, op->inputs + out)->name);
        hc_claim_output(claim, out, what);
        if (!claim->has_exact || claim->on_exact)
            continue;
        if (claim->free ? hc_bound_any_order_ordered(&claim->call, out) : claim->ordered)
            compare_bits(claim, out, what);
        else
            hc_claim_against(claim, out, what);
    }
}

static enum hc_status claim_call(struct hc_check *check, const struct hc_call *call, bool judged,
                                 enum hc_inputs inputs, const struct hc_repeats *repeats)
{
    struct hc_claim claim = {.check = check,
                             .call = *call,
                             .repeats = repeats,
                             .inputs = inputs,
                             .judged = judged,
                             .on_exact = check->backend == check->exact,
                             .exact_sums = hc_backend_accumulator(check->exact, call)};
    enum hc_status status = HC_OK;
    if (check->bits_only)
        return hc_do(check, call);
    if (!prepare(&claim, call)) {
        status = hc_fail(HC_NO_MEMORY, "%s: no memory to keep its inputs", hc_ops[call->op].name);
        hc_check_failed(check);
    }
    if (status == HC_OK)
        status = hc_do(check, call);
    if (status == HC_OK && !read_factors(&claim)) {
        status = hc_fail(HC_NO_MEMORY, "%s: no memory to keep its inputs", hc_ops[call->op].name);
        hc_check_failed(check);
    }
    if (status == HC_OK) {
        claim.length = hc_call_length(call);
        claim.ordered = hc_bound_ordered(call);
        claim.free = check->backend->free_order;
        claim.known = hc_known_call(check->known, &claim);
        status = run_exact(&claim);
    }
    /* These claims hold in any order already, so that one which fails is a failure. */
    const char *order_met = check->order_met;
    check->order_met = NULL;
    if (status == HC_OK)
        hc_check_judged(check, call);
    if (status == HC_OK) {
        /* All outputs, and all that looks at them, share what one element has found out. */
        hc_reference_begin(&claim.call);
        compare_all(&claim);
        hc_reference_end();
    }
    if (status == HC_OK)
        hc_flush_conclude(&claim);
    const char *doubt = hc_backend_doubt(check->backend, call);
    if (status == HC_OK && doubt)
        hc_mistrust(check, "%s", doubt);
    check->order_met = order_met;
    for (int i = 0; i < claim.owned_count; i++)
        free(claim.owned[i]);
    return status;
}

enum hc_status hc_claim_call(struct hc_check *check, const struct hc_call *call)
{
    return claim_call(check, call, true, HC_INPUTS_ANY, NULL);
}

enum hc_status hc_claim_call_on(struct hc_check *check, const struct hc_call *call,
                                enum hc_inputs inputs)
{
    return claim_call(check, call, true, inputs, NULL);
}

enum hc_status hc_claim_call_met(struct hc_check *check, const struct hc_call *call)
{
    return claim_call(check, call, false, HC_INPUTS_ANY, NULL);
}

enum hc_status hc_claim_repeated(struct hc_check *check, const struct hc_call *call,
                                 const struct hc_repeats *repeats, enum hc_inputs inputs)
{
    return claim_call(check, call, true, inputs, repeats);
}
