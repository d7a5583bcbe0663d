/* hc_claim_call: got against the reference, against the bits that `exact` defines, and the three
   answers. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check/against.h"
#include "check/bound/bound.h"
#include "check/compare.h"
#include "check/run_call.h"
#include "num/ulp.h"

double hc_bits_apart(enum hc_format format, uint64_t want, uint64_t got)
{
    bool both_nan = isnan(hc_decode(format, want)) && isnan(hc_decode(format, got));
    double apart = (double)hc_ulp_distance(format, want, got);
    return apart == 0 && want != got && !both_nan ? 1 : apart;
}

static bool copied(struct hc_claim *claim, struct hc_tensor *t)
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

/* Inputs that the call overwrites are kept as they were; `exact` gets outputs of its own. */
static bool prepare(struct hc_claim *claim, struct hc_check *check, const struct hc_call *call)
{
    *claim = (struct hc_claim){.check = check, .call = *call};
    const struct hc_op_info *op = &hc_ops[call->op];
    bool ok = true;
    for (int i = 0; i < op->inputs && ok; i++)
        for (int o = 0; o < op->outputs && ok; o++)
            if (call->in[i].data && call->in[i].data == call->out[o].data) {
                ok = copied(claim, &claim->call.in[i]);
                break;
            }
    claim->exact = claim->call;
    for (int o = 0; o < op->outputs && ok; o++)
        if (call->out[o].data)
            ok = copied(claim, &claim->exact.out[o]);
    return ok;
}

/* Every element against the bits that `exact` gave. */
static void sweep_output(struct hc_claim *claim, int out, const char *what)
{
    const struct hc_tensor *got = &claim->call.out[out];
    const struct hc_tensor *want = &claim->exact.out[out];
    int64_t count = hc_tensor_count(got);
    int64_t wrong = 0;
    char first[128] = "";
    for (int64_t i = 0; i < count; i++) {
        uint64_t w = hc_tensor_bits(want, i);
        uint64_t g = hc_tensor_bits(got, i);
        if (w == g || hc_bits_apart(got->format, w, g) == 0)
            continue;
        if (wrong++ == 0)
            (void)snprintf(first, sizeof first, "%s[%" PRId64 "]: exact gives %.9g, got %.9g", what,
                           i, hc_tensor_get(want, i), hc_tensor_get(got, i));
    }
    hc_claim_sweep(claim->check, count, wrong, wrong ? first : NULL);
}

static void compare_all(struct hc_claim *claim)
{
    struct hc_check *check = claim->check;
    const struct hc_op_info *op = &hc_ops[claim->call.op];
    bool subject = check->backend == check->exact;
    enum hc_status status = HC_OK;
    if (!subject)
        status = hc_do_on(check, check->exact, check->exact_queue, &claim->exact);
    else
        memcpy(claim->exact.out, claim->call.out, sizeof claim->exact.out);
    claim->has_exact = status == HC_OK;
    if (status != HC_OK && status != HC_UNSUPPORTED) {
        hc_check_failed(check);
        return;
    }
    for (int out = 0; out < op->outputs; out++) {
        char what[48];
        if (!claim->call.out[out].data || hc_tensor_count(&claim->call.out[out]) == 0)
            continue;
        (void)snprintf(what, sizeof what, op->outputs > 1 ? "%s out%d" : "%s", op->name, out);
        hc_claim_output(claim, out, what);
        if (claim->has_exact && !subject && hc_bound_ordered(&claim->call))
            sweep_output(claim, out, what);
        else if (claim->has_exact && !subject)
            hc_claim_against(claim, out, what);
    }
}

static void claim_call(struct hc_check *check, const struct hc_call *call, bool judged,
                       enum hc_inputs inputs)
{
    struct hc_claim claim;
    if (!prepare(&claim, check, call)) {
        (void)hc_fail(HC_NO_MEMORY, "%s: no memory to keep its inputs", hc_ops[call->op].name);
        hc_check_failed(check);
    } else if (hc_do(check, call) == HC_OK) {
        claim.judged = judged;
        claim.inputs = inputs;
        compare_all(&claim);
    }
    for (int i = 0; i < claim.owned_count; i++)
        free(claim.owned[i]);
}

void hc_claim_call(struct hc_check *check, const struct hc_call *call)
{
    claim_call(check, call, true, HC_INPUTS_ANY);
}

void hc_claim_call_on(struct hc_check *check, const struct hc_call *call, enum hc_inputs inputs)
{
    claim_call(check, call, true, inputs);
}

void hc_claim_call_met(struct hc_check *check, const struct hc_call *call)
{
    claim_call(check, call, false, HC_INPUTS_ANY);
}
