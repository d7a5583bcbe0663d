/* A call of a definition on the backend under test, between guards as a call of an op is
   (check/guarded.h), and always twice. */
#include "check/check_inner.h"
#include "check/guarded.h"

static enum hc_status run_defined(const struct hc_backend *backend, struct hc_queue *queue,
                                  const void *call)
{
    return backend->defined(queue, call);
}

static enum hc_status run_guarded(struct hc_check *check, const struct hc_defined_call *call,
                                  struct hc_breach *breach)
{
    int n = call->inputs + call->outputs;
    struct hc_defined_operand *inside = hc_check_memory(check, (size_t)n * sizeof *inside);
    struct hc_defined_call placed = *call;
    placed.in = inside;
    placed.out = inside + call->inputs;
    struct hc_guarded g = {.backend = check->backend,
                           .queue = check->queue,
                           .name = call->name,
                           .inputs = call->inputs,
                           .outputs = call->outputs,
                           .run = run_defined,
                           .call = &placed,
                           .repeats = !check->backend->nondeterministic,
                           .always_twice = true};
    g.operand = hc_check_memory(check, (size_t)n * sizeof *g.operand);
    g.region = hc_check_memory(check, (size_t)(n + 1) * sizeof *g.region);
    for (int i = 0; i < n; i++) {
        const struct hc_defined_operand *host =
            i < call->inputs ? &call->in[i] : &call->out[i - call->inputs];
        inside[i] = *host;
        g.operand[i] =
            (struct hc_guarded_operand){host->name, &host->tensor, &inside[i].tensor, -1};
    }
    enum hc_status status = hc_guarded_open(&g);
    if (status == HC_OK)
        status = hc_guarded_run(&g, breach);
    if (status == HC_OK)
        hc_guarded_write_back(&g);
    hc_guarded_close(&g);
    return status;
}

enum hc_status hc_do_defined(struct hc_check *check, const struct hc_defined_call *call)
{
    struct hc_breach breach = {""};
    enum hc_status status;
    if (check->backend->defined) {
        status = run_guarded(check, call, &breach);
        check->refused |= status == HC_UNSUPPORTED;
    } else {
        status = hc_fail(HC_UNSUPPORTED, "%s takes no definitions", check->backend->name);
    }
    if (breach.text[0])
        hc_check_breach(check, check->backend->name, breach.text);
    /* A call of a definition has no digest of its own. */
    hc_check_undigested(check);
    (void)hc_check_ok(check, status);
    return status;
}
