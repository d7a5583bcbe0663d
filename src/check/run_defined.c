/* A call of a definition on the backend under test. As with ops (check/guarded.h) its tensors lie
   in one block between guards, and it runs twice on other fillings, so that it is seen to read or
   write beside its tensors, to leave an element unwritten, or not to repeat. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check/check_inner.h"
#include "check/guarded.h"
#include "num/float_state.h"

enum { ALIGNMENT = 64 };

/* The block: guard, tensor, guard, guard, tensor, guard, ... as the inputs and outputs come. */
struct block {
    const struct hc_backend *backend;
    struct hc_queue *queue;
    const struct hc_defined_call *host; /* the caller's */
    struct hc_defined_call call;        /* on the tensors in the block */
    struct hc_defined_operand *operand; /* of both, inputs first */
    size_t *at;
    size_t bytes;
    unsigned char *memory; /* the backend's */
    unsigned char *image;  /* in the host's memory; the same where the backend works there */
    unsigned char *kept;   /* what the first run left */
};

static const struct hc_defined_operand *operand_of(const struct hc_defined_call *call, int i)
{
    return i < call->inputs ? &call->in[i] : &call->out[i - call->inputs];
}

static int operands(const struct block *b)
{
    return b->host->inputs + b->host->outputs;
}

static enum hc_status open_block(struct block *b, struct hc_check *check,
                                 const struct hc_defined_call *call)
{
    int n = call->inputs + call->outputs;
    *b = (struct block){
        .backend = check->backend, .queue = check->queue, .host = call, .call = *call};
    b->operand = hc_check_memory(check, (size_t)n * sizeof *b->operand);
    b->at = hc_check_memory(check, (size_t)n * sizeof *b->at);
    for (int i = 0; i < n; i++) {
        b->operand[i] = *operand_of(call, i);
        b->at[i] = b->bytes + HC_GUARD_BYTES;
        size_t bytes = hc_tensor_bytes(&b->operand[i].tensor);
        b->bytes = (b->at[i] + bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT + HC_GUARD_BYTES;
    }
    b->memory = b->backend->allocate(b->queue, b->bytes);
    if (!b->memory)
        return HC_NO_MEMORY;
    b->image = b->backend->host_memory ? b->memory : hc_check_memory(check, b->bytes);
    b->kept = hc_check_memory(check, b->bytes);
    for (int i = 0; i < n; i++)
        b->operand[i].tensor.data = b->memory + b->at[i];
    b->call.in = b->operand;
    b->call.out = b->operand + call->inputs;
    return HC_OK;
}

/* Fills the block: guards and outputs with the byte, inputs with the caller's numbers. */
static void fill(const struct block *b, unsigned char byte)
{
    memset(b->image, byte, b->bytes);
    for (int i = 0; i < b->host->inputs; i++) {
        const struct hc_tensor *t = &b->host->in[i].tensor;
        if (hc_tensor_bytes(t))
            memcpy(b->image + b->at[i], t->data, hc_tensor_bytes(t));
    }
}

static bool is_filled(const unsigned char *from, size_t bytes, unsigned char byte)
{
    return bytes == 0 || (from[0] == byte && memcmp(from, from + 1, bytes - 1) == 0);
}

/* What the run did outside of its outputs. */
static void look(const struct block *b, unsigned char byte, bool refused, struct hc_breach *breach)
{
    size_t done = 0;
    for (int i = 0; i <= operands(b) && !breach->text[0]; i++) {
        size_t next = i < operands(b) ? b->at[i] : b->bytes;
        const char *name = b->operand[i < operands(b) ? i : i - 1].name;
        if (!is_filled(b->image + done, next - done, byte))
            (void)snprintf(breach->text, sizeof breach->text, "%s wrote beside %s", b->call.name,
                           name);
        if (i == operands(b))
            break;
        const struct hc_tensor *t = &operand_of(b->host, i)->tensor;
        size_t bytes = hc_tensor_bytes(t);
        done = next + bytes;
        if (i < b->host->inputs && bytes && memcmp(b->image + next, t->data, bytes) != 0)
            (void)snprintf(breach->text, sizeof breach->text, "%s changed its input %s",
                           b->call.name, name);
        if (i >= b->host->inputs && refused && !is_filled(b->image + next, bytes, byte))
            (void)snprintf(breach->text, sizeof breach->text,
                           "%s says that it is unsupported, and wrote %s", b->call.name, name);
    }
}

static enum hc_status run_once(struct block *b, unsigned char byte, struct hc_breach *breach)
{
    bool apart = b->image != b->memory;
    enum hc_status status = HC_OK;
    fill(b, byte);
    if (apart)
        status = b->backend->upload(b->queue, b->memory, b->image, b->bytes);
    if (status != HC_OK)
        return status;
    enum hc_status ran = b->backend->defined(b->queue, &b->call);
    const char *left = hc_float_state_reset();
    if (left)
        (void)snprintf(breach->text, sizeof breach->text,
                       "%s leaves %s in the thread that called it", b->call.name, left);
    if (ran != HC_OK && ran != HC_UNSUPPORTED)
        return ran;
    if (apart)
        status = b->backend->download(b->queue, b->image, b->memory, b->bytes);
    if (status == HC_OK)
        look(b, byte, ran == HC_UNSUPPORTED, breach);
    return status == HC_OK ? ran : status;
}

/* An output's elements in both runs: all are written, and repeat unless the backend is
   `nondeterministic`. */
static void compare(const struct block *b, int output, struct hc_breach *breach)
{
    int i = b->host->inputs + output;
    struct hc_tensor first = b->host->out[output].tensor;
    struct hc_tensor second = first;
    size_t size = (size_t)hc_formats[first.format].bytes;
    int64_t unwritten = 0;
    first.data = b->kept + b->at[i];
    second.data = b->image + b->at[i];
    for (int64_t k = 0; k < hc_tensor_count(&first) && !breach->text[0]; k++) {
        uint64_t one = hc_tensor_bits(&first, k);
        uint64_t other = hc_tensor_bits(&second, k);
        if (is_filled(b->kept + b->at[i] + (size_t)k * size, size,
                      hc_prefill_of_outputs[HC_PREFILL_FIRST]) &&
            is_filled(b->image + b->at[i] + (size_t)k * size, size,
                      hc_prefill_of_outputs[HC_PREFILL_SECOND]))
            unwritten++;
        else if (!b->backend->nondeterministic && !hc_same_bits(first.format, one, other))
            (void)snprintf(breach->text, sizeof breach->text,
                           "%s does not repeat: %s[%" PRId64 "] is %.9g, and %.9g when the same "
                           "call runs again where memory held other bytes",
                           b->call.name, b->host->out[output].name, k, hc_tensor_get(&first, k),
                           hc_tensor_get(&second, k));
    }
    if (unwritten && !breach->text[0])
        (void)snprintf(breach->text, sizeof breach->text,
                       "%s leaves %" PRId64 " of %" PRId64 " elements of %s unwritten",
                       b->call.name, unwritten, hc_tensor_count(&first), b->host->out[output].name);
}

/* What refuses the numbers, and takes the same call with zeros, may refuse whatever it would get
   wrong. */
static void check_refusal(struct block *b, struct hc_breach *breach)
{
    char why[256];
    bool apart = b->image != b->memory;
    (void)snprintf(why, sizeof why, "%s", hc_message());
    memset(b->image, 0, b->bytes);
    if ((!apart || b->backend->upload(b->queue, b->memory, b->image, b->bytes) == HC_OK) &&
        b->backend->defined(b->queue, &b->call) == HC_OK)
        (void)snprintf(breach->text, sizeof breach->text,
                       "%s refuses inputs by their values: it takes the same call with zeros",
                       b->call.name);
    (void)hc_fail(HC_UNSUPPORTED, "%s", why);
}

static enum hc_status run_twice(struct block *b, struct hc_breach *breach)
{
    enum hc_status status = run_once(b, hc_prefill_of_outputs[HC_PREFILL_FIRST], breach);
    if (status == HC_UNSUPPORTED && !breach->text[0])
        check_refusal(b, breach);
    if (status != HC_OK)
        return status;
    memcpy(b->kept, b->image, b->bytes);
    if (!breach->text[0])
        status = run_once(b, hc_prefill_of_outputs[HC_PREFILL_SECOND], breach);
    for (int o = 0; o < b->host->outputs && status == HC_OK && !breach->text[0]; o++)
        compare(b, o, breach);
    for (int o = 0; o < b->host->outputs && status == HC_OK; o++) {
        const struct hc_tensor *t = &b->host->out[o].tensor;
        if (hc_tensor_bytes(t))
            memcpy(t->data, b->kept + b->at[b->host->inputs + o], hc_tensor_bytes(t));
    }
    return status;
}

enum hc_status hc_do_defined(struct hc_check *check, const struct hc_defined_call *call)
{
    struct block block;
    struct hc_breach breach = {""};
    enum hc_status status = HC_OK;
    if (!check->backend->defined)
        status = hc_fail(HC_UNSUPPORTED, "%s takes no definitions", check->backend->name);
    if (status == HC_OK)
        status = open_block(&block, check, call);
    if (status == HC_OK) {
        status = run_twice(&block, &breach);
        check->refused |= status == HC_UNSUPPORTED;
        check->backend->release(check->queue, block.memory);
    }
    if (breach.text[0])
        hc_check_breach(check, check->backend->name, breach.text);
    /* A call of a definition has no digest of its own. */
    hc_check_undigested(check);
    (void)hc_check_ok(check, status);
    return status;
}
