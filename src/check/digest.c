#include "check/digest.h"

#include "check/check_inner.h"
#include "check/free_order.h"

void hc_check_digest_add(struct hc_check *check, uint64_t digest)
{
#pragma omp atomic
    check->digest += digest;
}

void hc_check_undigested(struct hc_check *check)
{
#pragma omp atomic write
    check->undigested = true;
}

uint64_t *hc_check_digest(struct hc_check *check)
{
    const struct hc_backend *backend = check->backend;
    if (backend->host_memory && !backend->capture && !backend->nondeterministic &&
        !backend->free_order)
        return &check->digest;
    hc_check_undigested(check);
    return NULL;
}

bool hc_check_digests(struct hc_check *check, const struct hc_call *call)
{
    bool fickle = check->backend->nondeterministic && !hc_op_settled(call->op);
    bool free = hc_order_is_free(check, call) && hc_order_matters(call);
    if (fickle || free)
        hc_check_undigested(check);
    return !fickle && !free;
}

void hc_check_digest_conclude(struct hc_check *check)
{
    enum hc_verdict verdict = check->result.verdict;
    bool whole = verdict == HC_PASS || verdict == HC_FAIL || verdict == HC_MISTRUSTED;
    check->result.digest = whole && !check->undigested ? check->digest : 0;
    if (!check->bits_only || !whole || verdict == HC_FAIL)
        return;
    check->result.verdict = HC_PASS;
    check->result.note[0] = '\0';
    hc_skip(check, check->result.digest ? "not held against a reference"
                                        : "no kernel ran whose bits are promised");
}
