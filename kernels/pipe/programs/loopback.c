/* A program behind a pipe for tests: loopback BACKEND [SWITCH ...]. It has all ops of a backend of
   halfcheck's own and runs each call on it, from what came through the pipe alone: so it proves
   that the protocol leaves nothing out. The switches, each a word:

   only=OP,OP   it has these ops
   format=NAME  they take this format alone
   order=NAME   it computes adam and adamw in this order where "ours" was asked for; eps inside the
                root has no other order
   reversed     it sums the terms of sum, dot and sum_squares, and the ranks of all_reduce, from
                the last to the first
   memory       large tensors go by shared memory
   flushed=NAME it says that products of factors in this format alone are flushed; flushed=own, of
                which ops and formats its backend says so
   finer        it sums in fp64 and rounds once, at the end: products, norms, losses and all ops of
                rows that have fp64 and whose contract states no rounding on the way
   zeros        it is wrong: all outputs are 0 */
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "backend.h"
#include "op/defined.h"
#include "op/descriptor.h"
#include "op/params.h"
#include "op/rule.h"

static const struct hc_backend *backend;
static struct hc_queue *queue;
static const char *only, *order, *one_format, *flushed;
static bool reversed, by_memory, finer, zeros;
static int memory_file;

static void *some(size_t bytes)
{
    void *memory = aligned_alloc(64, (bytes / 64 + 1) * 64);
    if (!memory)
        exit(5);
    return memory;
}

static bool offered(const char *op)
{
    const char *found = only ? strstr(only, op) : op;
    size_t n = strlen(op);
    while (found &&
           ((found > only && only && found[-1] != ',') || (found[n] != '\0' && found[n] != ',')))
        found = strstr(found + 1, op);
    return found;
}

static json_t *formats_of(enum hc_op op)
{
    json_t *formats = json_array();
    unsigned set = hc_slot_formats(op, HC_FIRST, false);
    for (int f = 0; f < HC_FORMAT_COUNT; f++)
        if (set >> f & 1 && (!one_format || strcmp(one_format, hc_formats[f].name) == 0) &&
            (f != HC_FP64 || !hc_descriptor(op)->fp64 || backend->fp64))
            json_array_append_new(formats, json_string(hc_formats[f].name));
    return formats;
}

static json_t *orders(void)
{
    json_t *all = json_array();
    for (int i = 0; i < HC_ORDER_COUNT; i++)
        json_array_append_new(all, json_string(hc_adam_order_names[i]));
    return all;
}

static bool flushes(enum hc_op op, enum hc_format factors)
{
    struct hc_call call = {.op = op};
    for (int i = 0; i < hc_ops[op].inputs; i++)
        call.in[i].format = factors;
    return hc_backend_accumulator(backend, &call).flushes;
}

/* "gemm/bf16" and its like. */
static json_t *own_flushed(void)
{
    json_t *all = json_array();
    for (int op = 0; op < HC_OP_COUNT; op++)
        for (int f = 0; f < HC_FORMAT_COUNT; f++)
            if (hc_slot_formats((enum hc_op)op, HC_FIRST, false) >> f & 1 &&
                flushes((enum hc_op)op, (enum hc_format)f))
                json_array_append_new(all,
                                      json_sprintf("%s/%s", hc_ops[op].name, hc_formats[f].name));
    return all;
}

static void greet(void)
{
    json_t *ops = json_object();
    for (enum hc_op op = 0; (int)op < HC_OP_COUNT; op++) {
        if (!backend->kernel[op] || !offered(hc_ops[op].name))
            continue;
        json_t *offer = json_pack("{s:o}", "formats", formats_of(op));
        if (hc_op_param(op, "order"))
            json_object_set_new(offer, "orders", orders());
        json_object_set_new(ops, hc_ops[op].name, offer);
    }
    const struct hc_accumulator *a = &backend->accumulator;
    json_t *all =
        json_pack("{s:i, s:s, s:o, s:{s:i, s:i, s:i, s:b}, s:b, s:b, s:b}", "pipe", 1, "name",
                  "loopback", "ops", ops, "accumulator", "precision", a->precision, "block",
                  a->block, "extra_bits", a->extra_bits, "truncates", a->truncates, "shared",
                  by_memory, "canonical_nan", backend->canonical_nan, "parallel", true);
    if (flushed)
        json_object_set_new(json_object_get(all, "accumulator"), "flushes",
                            strcmp(flushed, "own") == 0 ? own_flushed()
                                                        : json_pack("[s]", flushed));
    (void)json_dumpf(all, stdout, JSON_COMPACT);
    (void)fputs("\n", stdout);
    (void)fflush(stdout);
    json_decref(all);
}

static enum hc_format format_named(const char *name)
{
    int f = 0;
    while (f < HC_FORMAT_COUNT && (!name || strcmp(hc_formats[f].name, name) != 0))
        f++;
    if (f == HC_FORMAT_COUNT)
        exit(6);
    return (enum hc_format)f;
}

/* A tensor as the line describes it, in memory of its own; false if the call has none. */
static bool take(const json_t *tensors, const char *slot, struct hc_tensor *t)
{
    const json_t *described = json_object_get(tensors, slot);
    const json_t *shape = json_object_get(described, "shape");
    if (!described)
        return false;
    t->format = format_named(json_string_value(json_object_get(described, "format")));
    t->rank = (int)json_array_size(shape);
    for (int d = 0; d < t->rank; d++)
        t->shape[d] = json_integer_value(json_array_get(shape, (size_t)d));
    if (json_integer_value(json_object_get(described, "bytes")) != (json_int_t)hc_tensor_bytes(t))
        exit(7);
    t->data = some(hc_tensor_bytes(t));
    return true;
}

static void value_text(const json_t *value, char *text, size_t size)
{
    if (json_is_string(value))
        (void)snprintf(text, size, "%s", json_string_value(value));
    else if (json_is_integer(value))
        (void)snprintf(text, size, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
    else if (json_is_boolean(value))
        (void)snprintf(text, size, "%s", json_is_true(value) ? "true" : "false");
    else
        exit(8);
}

static void read_params(const json_t *params, struct hc_call *call)
{
    for (const struct hc_param *p = hc_op_params(call->op); p->name; p++) {
        const json_t *value = json_object_get(params, p->name);
        char text[HC_PARAM_TEXT] = "";
        if (json_is_array(value))
            for (size_t i = 0; i < json_array_size(value); i++) {
                size_t used = strlen(text);
                text[used] = ',';
                value_text(json_array_get(value, i), text + used + (i > 0), sizeof text - used - 1);
            }
        else
            value_text(value, text, sizeof text);
        if (hc_param_read(call->op, &call->params, p->name, text) != HC_OK)
            exit(9);
    }
    bool adam = call->op == HC_OP_adam || call->op == HC_OP_adamw;
    if (order && adam && call->params.adam.order == HC_ORDER_OURS && !call->params.adam.eps_inside)
        (void)hc_param_read(call->op, &call->params, "order", order);
}

static void swap(const struct hc_tensor *t, int64_t a, int64_t b)
{
    uint64_t bits = hc_tensor_bits(t, a);
    hc_tensor_set_bits(t, a, hc_tensor_bits(t, b));
    hc_tensor_set_bits(t, b, bits);
}

static void reverse(const struct hc_call *call)
{
    const struct hc_tensor *x = &call->in[HC_FIRST];
    for (int64_t r = 0; call->op == HC_OP_all_reduce && r < x->shape[0] / 2; r++)
        for (int64_t i = 0; i < x->shape[1]; i++)
            swap(x, r * x->shape[1] + i, (x->shape[0] - 1 - r) * x->shape[1] + i);
    if (call->op != HC_OP_sum && call->op != HC_OP_dot && call->op != HC_OP_sum_squares)
        return;
    for (int i = 0; i < hc_ops[call->op].inputs; i++)
        for (int64_t a = 0, b = hc_tensor_count(&call->in[i]) - 1; a < b; a++, b--)
            swap(&call->in[i], a, b);
}

/* The bytes of the tensors of one side: through the pipe, or in the shared memory. */
static void move(const json_t *tensors, struct hc_call *call, bool output, unsigned char *memory)
{
    const char *slot;
    json_t *described;
    json_object_foreach((json_t *)tensors, slot, described)
    {
        for (int i = 0; i < hc_slot_count(call->op); i++) {
            const struct hc_tensor *t = hc_slot_tensor(call, i);
            size_t bytes = hc_tensor_bytes(t);
            bool out = i >= hc_ops[call->op].inputs;
            if (out != output || strcmp(hc_slot(call->op, i)->name, slot) != 0)
                continue;
            unsigned char *at =
                memory ? memory + json_integer_value(json_object_get(described, "at")) : NULL;
            if (memory)
                memcpy(output ? at : t->data, output ? t->data : at, bytes);
            else if (output ? fwrite(t->data, 1, bytes, stdout) != bytes
                            : fread(t->data, 1, bytes, stdin) != bytes)
                exit(10);
        }
    }
}

/* Whether the contract states no rounding before the last one. Attention owes one: it stores the
   weights, and their gradient, before products; so do norms of a sum, and chunks of a loss. */
static bool rounds_once(const struct hc_call *call)
{
    enum hc_op_class class_ = hc_ops[call->op].class_;
    bool sums = class_ == HC_CLASS_REDUCTION || class_ == HC_CLASS_GEMM ||
                class_ == HC_CLASS_CONV || class_ == HC_CLASS_POOL ||
                class_ == HC_CLASS_BATCH_NORM || class_ == HC_CLASS_LOSS ||
                class_ == HC_CLASS_DEFINED;
    bool stores =
        call->op == HC_OP_attention || call->op == HC_OP_attention_backward ||
        call->op == HC_OP_attention_general || call->op == HC_OP_attention_general_backward ||
        call->op == HC_OP_add_rms_norm || call->op == HC_OP_add_rms_norm_backward ||
        call->op == HC_OP_add_layer_norm_kept || call->op == HC_OP_linear_cross_entropy_backward;
    return sums && !stores && call->op != HC_OP_bn_leaky_bwd && hc_descriptor(call->op)->fp64;
}

/* The call in fp64, without memory. False if it is no such call. */
static bool widen(const struct hc_call *call, struct hc_call *wide)
{
    *wide = *call;
    if (!rounds_once(call))
        return false;
    if (call->op == HC_OP_gemm)
        wide->params.gemm.tf32 = wide->params.gemm.half_accumulator = false;
    if (call->op == HC_OP_sum || call->op == HC_OP_dot)
        wide->params.reduce.accumulator = HC_FP64;
    for (int s = 0; s < hc_slot_count(call->op); s++)
        if (hc_slot_formats(call->op, s, true) >> HC_FP64 & 1)
            hc_slot_tensor(wide, s)->format = HC_FP64;
    return hc_backend_has(backend, wide) == HC_OK;
}

static enum hc_status run(struct hc_call *call);

static enum hc_status run_wide(const struct hc_call *call, struct hc_call *wide)
{
    int inputs = hc_ops[call->op].inputs;
    for (int s = 0; s < hc_slot_count(call->op); s++) {
        const struct hc_tensor *t = hc_slot_tensor_const(call, s);
        struct hc_tensor *w = hc_slot_tensor(wide, s);
        w->data = t->data ? some(hc_tensor_bytes(w)) : NULL;
        for (int64_t i = 0; t->data && s < inputs && i < hc_tensor_count(t); i++)
            hc_tensor_set(w, i, hc_tensor_get(t, i));
    }
    enum hc_status status = run(wide);
    for (int s = 0; s < hc_slot_count(call->op); s++) {
        const struct hc_tensor *t = hc_slot_tensor_const(call, s);
        struct hc_tensor *w = hc_slot_tensor(wide, s);
        for (int64_t i = 0; t->data && s >= inputs && i < hc_tensor_count(t); i++)
            hc_tensor_set(t, i, hc_tensor_get(w, i));
        free(w->data);
    }
    return status;
}

static enum hc_status run(struct hc_call *call)
{
    struct hc_call wide;
    if (finer && call->in[HC_FIRST].format != HC_FP64 && widen(call, &wide))
        return run_wide(call, &wide);
    size_t scratch = backend->scratch ? backend->scratch(queue, call) : 0;
    enum hc_status status = hc_backend_has(backend, call);
    if (status != HC_OK)
        return status;
    call->scratch = scratch ? some(scratch) : NULL;
    if (reversed)
        reverse(call);
    status = backend->kernel[call->op](queue, call);
    free(call->scratch);
    for (int i = 0; i < hc_ops[call->op].outputs && zeros; i++)
        if (call->out[i].data)
            memset(call->out[i].data, 0, hc_tensor_bytes(&call->out[i]));
    return status;
}

static void answer(const json_t *line)
{
    struct hc_call call = {.op = hc_op_by_name(json_string_value(json_object_get(line, "op")))};
    const json_t *in = json_object_get(line, "in");
    const json_t *out = json_object_get(line, "out");
    size_t mapped = (size_t)json_integer_value(json_object_get(line, "shared"));
    unsigned char *memory =
        mapped ? mmap(NULL, mapped, PROT_READ | PROT_WRITE, MAP_SHARED, memory_file, 0) : NULL;
    for (int i = 0; i < hc_slot_count(call.op); i++)
        (void)take(i < hc_ops[call.op].inputs ? in : out, hc_slot(call.op, i)->name,
                   hc_slot_tensor(&call, i));
    read_params(json_object_get(line, "params"), &call);
    move(in, &call, false, memory);
    enum hc_status status = run(&call);
    if (status == HC_OK)
        (void)fputs("ok\n", stdout);
    else
        (void)printf("%s %s\n", status == HC_UNSUPPORTED ? "no" : "error", hc_message());
    if (status == HC_OK)
        move(out, &call, true, memory);
    (void)fflush(stdout);
    if (memory)
        (void)munmap(memory, mapped);
    for (int i = 0; i < hc_slot_count(call.op); i++)
        free(hc_slot_tensor(&call, i)->data);
}

int main(int count, char **words)
{
    static char line[1 << 16];
    backend = count > 1 ? hc_backend_by_name(words[1]) : NULL;
    for (int i = 2; i < count; i++) {
        only = strncmp(words[i], "only=", 5) == 0 ? words[i] + 5 : only;
        order = strncmp(words[i], "order=", 6) == 0 ? words[i] + 6 : order;
        one_format = strncmp(words[i], "format=", 7) == 0 ? words[i] + 7 : one_format;
        flushed = strncmp(words[i], "flushed=", 8) == 0 ? words[i] + 8 : flushed;
        reversed |= strcmp(words[i], "reversed") == 0;
        zeros |= strcmp(words[i], "zeros") == 0;
        finer |= strcmp(words[i], "finer") == 0;
        by_memory |= strcmp(words[i], "memory") == 0;
    }
    if (!backend || backend->open(backend, &queue, 1) != HC_OK || !fgets(line, sizeof line, stdin))
        return 2;
    json_t *hello = json_loads(line, 0, NULL);
    memory_file = (int)json_integer_value(json_object_get(hello, "shared"));
    json_decref(hello);
    greet();
    while (fgets(line, sizeof line, stdin)) {
        json_t *call = json_loads(line, 0, NULL);
        answer(call);
        json_decref(call);
    }
    backend->close(queue);
    return 0;
}
