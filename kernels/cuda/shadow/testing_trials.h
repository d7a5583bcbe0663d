/* For the tests of cuda-shadow: calls that lead to all kernels, and what happens in one of them. */
#ifndef HC_KERNELS_CUDA_SHADOW_TESTING_TRIALS_H
#define HC_KERNELS_CUDA_SHADOW_TESTING_TRIALS_H

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "backend.h"
#include "check/generate/distribution.h"
#include "check/generate/op_space.h"
#include "kernels/cuda/shadow/shadow.h"
#include "op/descriptor.h"

enum { TRIALS = 3072, BYTES = 1 << 19, EACH = 24 };

/* A call on host memory; its tensors are copied to the device's, `shift` bytes from where a vector
   may begin. */
struct trial {
    struct hc_call call;
    size_t shift;
    bool sweeps; /* a sweep's operands and judge, not the op */
};

static struct trial trials[TRIALS];
static int trial_count;
static const struct hc_backend *backend;
static struct hc_queue *queue;

static inline struct hc_tensor on_host(struct hc_tensor t)
{
    t.data = calloc(1, hc_tensor_bytes(&t) + 1);
    cr_assert_not_null(t.data);
    return t;
}

static inline void add(const struct hc_call *call, size_t shift, bool sweeps)
{
    cr_assert(trial_count < TRIALS && hc_call_check(call) == HC_OK, "%d: %s", trial_count,
              hc_message());
    trials[trial_count++] = (struct trial){*call, shift, sweeps};
}

/* The call with memory and inputs, as it is and off its alignment. */
static inline void add_drawn(struct hc_call call, bool in_place, enum hc_distribution distribution)
{
    size_t bytes = 0;
    for (int slot = 0; slot < hc_slot_count(call.op); slot++)
        bytes += hc_tensor_bytes(hc_slot_tensor_const(&call, slot));
    if (bytes > BYTES || !hc_distribution_applies(&call, distribution))
        return;
    for (int slot = 0; slot < hc_slot_count(call.op); slot++) {
        struct hc_tensor *t = hc_slot_tensor(&call, slot);
        int o = slot - hc_ops[call.op].inputs;
        int like = hc_slot(call.op, slot)->like;
        if (hc_op_absent(&call, slot))
            continue;
        if (o >= 0 && in_place && hc_slot(call.op, slot)->in_place && call.in[like].data &&
            hc_may_lie_in(&call, o, like))
            t->data = call.in[like].data;
        else
            *t = on_host(*t);
    }
    if (hc_call_check(&call) != HC_OK || hc_backend_has(backend, &call) != HC_OK)
        return;
    hc_draw_inputs(&call, distribution, 5);
    add(&call, 0, false);
    if (hc_ops[call.op].class_ == HC_CLASS_BATCH_NORM || hc_ops[call.op].class_ == HC_CLASS_CONV)
        add(&call, 8, false);
}

static inline void add_one(enum hc_op op, const struct hc_format_set *set,
                           const struct hc_op_shape *shape, const struct hc_variant *variant)
{
    struct hc_call call = hc_op_call(op, set, shape, variant);
    if (!hc_format_set_allowed(op, set, variant))
        return;
    add_drawn(call, shape->in_place, HC_DRAW_NORMAL);
    if (op == HC_OP_unscale)
        add_drawn(call, shape->in_place, HC_DRAW_SPECIALS);
}

/* So many rows that batch norm is parted into slices, and a block takes several rows of a loss. */
static inline const struct hc_op_shape *many_rows(enum hc_op op)
{
    static const struct hc_op_shape norm = {.name = "slices", .d = {4100, 1, 1, 16}};
    static const struct hc_op_shape loss = {.name = "rows", .d = {65600, 2}};
    return hc_ops[op].class_ == HC_CLASS_BATCH_NORM ? &norm
           : hc_ops[op].class_ == HC_CLASS_LOSS     ? &loss
                                                    : NULL;
}

/* Adds some generated calls that differ in everything, and those with many rows. */
static inline void add_generated(enum hc_op op)
{
    struct hc_opspace space = hc_opspace(op);
    bool defined = hc_ops[op].class_ == HC_CLASS_ROW_NORM; /* of which there are many */
    int each = hc_op_settled(op) ? 3 * EACH : defined ? EACH / 2 : EACH; /* settled: quick */
    int all = 0;
    int i = 0;
    for (const struct hc_format_set *set = space.sets; set->name; set++)
        for (const struct hc_op_shape *shape = space.shapes; shape->name; shape++)
            for (const struct hc_variant *v = space.variants; v->name; v++)
                all++;
    for (const struct hc_format_set *set = space.sets; set->name; set++) {
        for (const struct hc_op_shape *shape = space.shapes; shape->name; shape++)
            for (const struct hc_variant *v = space.variants; v->name; v++)
                if (i++ * each % all < each)
                    add_one(op, set, shape, v);
        if (many_rows(op) && !strchr(set->name, '-'))
            add_one(op, set, many_rows(op), space.variants);
    }
}

/* The ops of a training step that have no generated cases. */
static inline void add_control(void)
{
    struct hc_tensor one = hc_tensor1(HC_FP32, 1, NULL);
    struct hc_tensor counts = on_host(hc_tensor1(HC_I32, HC_COUNTS, NULL));
    struct hc_call update = {.op = HC_OP_scaler_update,
                             .in = {on_host(one), counts, on_host(one)},
                             .out = {on_host(one), on_host(counts)}};
    struct hc_call verdict = {.op = HC_OP_overflow_verdict,
                              .in = {on_host(one), counts, on_host(one)},
                              .out = {on_host(hc_tensor1(HC_FP32, HC_VERDICT_ELEMENTS, NULL))}};
    struct hc_call augment = {
        .op = HC_OP_augment,
        .in = {on_host(hc_tensor4(HC_U8, 40, 4, 4, 3, NULL)), on_host(hc_tensor1(HC_I32, 40, NULL)),
               on_host(hc_tensor1(HC_I32, 1, NULL)), on_host(hc_tensor1(HC_I32, 40, NULL))},
        .out = {on_host(hc_tensor4(HC_FP16, 33, 4, 4, 3, NULL)),
                on_host(hc_tensor1(HC_I32, 33, NULL)),
                {0}},
        .params.augment = {.batches = 2, .pad = 1, .crops = true}};
    augment.out[HC_AUGMENT_NEW_STEPS] = augment.in[HC_AUGMENT_STEPS];
    for (int i = 0; i < 3; i++)
        augment.params.augment.deviation[i] = 1;
    add(&update, 0, false);
    update.out[HC_SCALER_NEW_COUNTS] = update.in[HC_SCALER_COUNTS];
    add(&update, 0, false);
    add(&verdict, 0, false);
    add(&augment, 0, false);
}

/* They round into one byte and into two, by few random bits and by many. */
static inline void add_stochastic_casts(void)
{
    static const struct {
        enum hc_format from, to;
        int bits;
    } rows[] = {{HC_FP32, HC_E4M3, 8},
                {HC_BF16, HC_E2M1, 24},
                {HC_FP16, HC_E5M2, 16},
                {HC_FP32, HC_BF16, 16}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct hc_call call = {.op = HC_OP_stochastic_cast,
                               .in = {on_host(hc_tensor1(rows[i].from, 257, NULL)),
                                      on_host(hc_tensor1(HC_I32, 257, NULL))},
                               .out = {on_host(hc_tensor1(rows[i].to, 257, NULL))},
                               .params.stochastic_cast = {rows[i].bits, true}};
        add(&call, 0, false);
    }
}

static inline void add_sweeps(void)
{
    static const struct {
        enum hc_op op;
        enum hc_format from, to;
    } rows[] = {{HC_OP_add, HC_FP16, HC_FP16},
                {HC_OP_mul, HC_BF16, HC_BF16},
                {HC_OP_cast, HC_FP32, HC_FP16},
                {HC_OP_cast, HC_I32, HC_BF16}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct hc_tensor x = on_host(hc_tensor1(rows[i].from, 5000, NULL));
        struct hc_call call = {
            .op = rows[i].op, .in = {x}, .out = {on_host(hc_tensor1(rows[i].to, 5000, NULL))}};
        if (rows[i].op != HC_OP_cast)
            call.in[HC_Y] = on_host(x);
        add(&call, 0, true);
    }
}

static inline void begin(void)
{
    backend = hc_backend_by_name("cuda-shadow");
    cr_assert_eq(backend->open(backend, &queue, 1), HC_OK, "%s", hc_message());
    for (int op = 0; op < HC_OP_COUNT; op++)
        if (backend->kernel[op])
            add_generated((enum hc_op)op);
    add_control();
    add_stochastic_casts();
    add_sweeps();
}

/* Memory of the device as the tensor's; uploaded if it is an input. */
static inline void *copied(const struct hc_tensor *t, size_t shift, bool input)
{
    size_t bytes = hc_tensor_bytes(t);
    char *to = backend->allocate(queue, shift + bytes);
    cr_assert_not_null(to);
    if (input)
        cr_assert_eq(backend->upload(queue, to + shift, t->data, bytes), HC_OK);
    return to;
}

static inline enum hc_status sweep(const struct hc_call *call)
{
    static const struct hc_judged zero;
    struct hc_judged *judged = backend->allocate(queue, sizeof zero);
    (void)backend->upload(queue, judged, &zero, sizeof zero);
    enum hc_status status = backend->operands(queue, call, 7);
    if (status == HC_OK)
        status = backend->kernel[call->op](queue, call);
    if (status == HC_OK)
        status = backend->judge(queue, call, 7, judged);
    backend->release(queue, judged);
    return status;
}

/* Whether the shadow finds something. */
static inline bool run(const struct trial *trial)
{
    struct hc_call call = trial->call;
    void *memory[HC_MAX_IN + HC_MAX_OUT + 1] = {0};
    int inputs = hc_ops[call.op].inputs;
    int slots = hc_slot_count(call.op);
    for (int slot = 0; slot < slots; slot++) {
        struct hc_tensor *t = hc_slot_tensor(&call, slot);
        for (int i = 0; i < inputs && slot >= inputs && t->data; i++)
            if (trial->call.in[i].data == t->data)
                t->data = call.in[i].data;
        if (!t->data || t->data != hc_slot_tensor_const(&trial->call, slot)->data)
            continue;
        memory[slot] = copied(t, trial->shift, slot < inputs);
        t->data = (char *)memory[slot] + trial->shift;
    }
    size_t scratch = backend->scratch(queue, &call);
    memory[slots] = call.scratch = scratch ? backend->allocate(queue, scratch) : NULL;
    enum hc_status status = trial->sweeps ? sweep(&call) : backend->kernel[call.op](queue, &call);
    for (int i = 0; i <= slots; i++)
        backend->release(queue, memory[i]);
    bool found = status == HC_DEVICE && strncmp(hc_message(), "cuda-shadow: ", 13) == 0;
    cr_assert(found || status == HC_OK || status == HC_UNSUPPORTED, "%s", hc_message());
    return found;
}

#endif
