/* Faults in every kernel of kernels.def, at every place where it may have one: the shadow finds
   each. A new kernel needs no line here, if a call of a generated case launches it. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "backend.h"
#include "check/generate/distribution.h"
#include "check/generate/op_space.h"
#include "kernels/cuda/launch.h"
#include "kernels/cuda/shadow/fault.h"
#include "kernels/cuda/shadow/shadow.h"
#include "op/descriptor.h"

/* Calls that lead to all kernels, and what happens in one of them. */

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

static struct hc_tensor on_host(struct hc_tensor t)
{
    t.data = calloc(1, hc_tensor_bytes(&t) + 1);
    cr_assert_not_null(t.data);
    return t;
}

static void add(const struct hc_call *call, size_t shift, bool sweeps)
{
    cr_assert(trial_count < TRIALS && hc_call_check(call) == HC_OK, "%d: %s", trial_count,
              hc_message());
    trials[trial_count++] = (struct trial){*call, shift, sweeps};
}

/* The call with memory and inputs, as it is and off its alignment. */
static void add_drawn(struct hc_call call, bool in_place, enum hc_distribution distribution)
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

static void add_one(enum hc_op op, const struct hc_format_set *set, const struct hc_op_shape *shape,
                    const struct hc_variant *variant)
{
    struct hc_call call = hc_op_call(op, set, shape, variant);
    if (!hc_format_set_allowed(op, set, variant))
        return;
    add_drawn(call, shape->in_place, HC_DRAW_NORMAL);
    if (op == HC_OP_unscale)
        add_drawn(call, shape->in_place, HC_DRAW_SPECIALS);
}

/* So many rows that batch norm is parted into slices, and a block takes several rows of a loss. */
static const struct hc_op_shape *many_rows(enum hc_op op)
{
    static const struct hc_op_shape norm = {.name = "slices", .d = {4100, 1, 1, 16}};
    static const struct hc_op_shape loss = {.name = "rows", .d = {65600, 2}};
    return hc_ops[op].class_ == HC_CLASS_BATCH_NORM ? &norm
           : hc_ops[op].class_ == HC_CLASS_LOSS     ? &loss
                                                    : NULL;
}

/* Adds some generated calls that differ in everything, and those with many rows. */
static void add_generated(enum hc_op op)
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
static void add_control(void)
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
static void add_stochastic_casts(void)
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

static void add_sweeps(void)
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

static void begin(void)
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
static void *copied(const struct hc_tensor *t, size_t shift, bool input)
{
    size_t bytes = hc_tensor_bytes(t);
    char *to = backend->allocate(queue, shift + bytes);
    cr_assert_not_null(to);
    if (input)
        cr_assert_eq(backend->upload(queue, to + shift, t->data, bytes), HC_OK);
    return to;
}

static enum hc_status sweep(const struct hc_call *call)
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
static bool run(const struct trial *trial)
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

static const char *const names[] = {
#define HC_DEVICE_KERNEL(name) #name,
#include "kernels/cuda/kernel/kernels.def"
#undef HC_DEVICE_KERNEL
};

enum { CHOSEN = 16 };

static void end(void)
{
    hc_emulated_fault_set(&(struct hc_emulated_fault){.kernel = NULL});
    backend->close(queue);
}

TestSuite(mutants, .init = begin, .fini = end, .timeout = 300);

/* The trials that lead a kernel to all places where it may have a fault. */
struct subject {
    int kernel;
    const struct trial *trials[CHOSEN];
    int count;
    int barriers;
    struct hc_fault_seen seen;
};

static bool launched[HC_DEVICE_KERNEL_COUNT][TRIALS];

static void set(int kernel, enum hc_emulated_fault_kind kind, int site)
{
    hc_emulated_fault_set(&(struct hc_emulated_fault){kind, names[kernel], site});
}

static void choose(struct subject *s)
{
    struct hc_fault_seen *seen = &hc_fault_seen;
    set(s->kernel, HC_SOUND, 0);
    *seen = (struct hc_fault_seen){0};
    for (int i = 0; i < trial_count && s->count < CHOSEN; i++) {
        if (!launched[s->kernel][i])
            continue;
        struct hc_fault_seen before = *seen;
        cr_assert(!run(&trials[i]), "%s: %s", names[s->kernel], hc_message());
        if (memcmp(&before, seen, sizeof before) == 0 && hc_emulated_fault_sites() == s->barriers)
            continue;
        s->barriers = hc_emulated_fault_sites();
        s->trials[s->count++] = &trials[i];
    }
    s->seen = *seen;
}

static bool finds(const struct subject *s, enum hc_emulated_fault_kind kind, int site)
{
    bool found = false;
    set(s->kernel, kind, site);
    for (int i = 0; i < s->count && !found; i++)
        found = run(s->trials[i]);
    return found;
}

/* The barriers of the kernels' source, and whether one that is left out is found in some kernel.
   (Two of inlined functions may follow each other, and a kernel does not need both.) */
static struct {
    const char *file;
    int line;
    bool found;
} barriers[64];
static int barrier_count;

static bool leave_out_barriers(const struct subject *s)
{
    bool any = s->barriers == 0;
    for (int i = 0; i < s->barriers; i++) {
        int line;
        int at = 0;
        bool found = finds(s, HC_NO_BARRIER, i);
        const char *file = hc_emulated_fault_line(i, &line);
        while (at < barrier_count &&
               (barriers[at].line != line || strcmp(barriers[at].file, file) != 0))
            at++;
        cr_assert_lt(at, 64);
        barriers[at].file = file;
        barriers[at].line = line;
        barriers[at].found |= found;
        barrier_count = at == barrier_count ? at + 1 : barrier_count;
        any |= found;
    }
    return any;
}

/* The kernels that read no tensor, so that no reading of theirs can go too far. */
static const struct {
    int kernel;
    const char *instead; /* of reading */
} writers[] = {
    {HC_DK_operands, "it draws its numbers from a seed"},
    {HC_DK_quant_begin, "it sets each block's amax to 0"},
};

/* The kernels that need nothing of the launches which may stand before them, and may overtake
   them. */
static const struct {
    int kernel;
    const char *needs;
} independent[] = {
    {HC_DK_row_norm_weights, "dy, x and statistics, and no dx"},
    {HC_DK_linear_logits, "x and w"},
};

static bool depends(int kernel)
{
    bool any = true;
    for (size_t i = 0; i < sizeof independent / sizeof independent[0]; i++)
        any &= kernel != independent[i].kernel;
    return any;
}

static bool reads(int kernel)
{
    bool any = true;
    for (size_t i = 0; i < sizeof writers / sizeof writers[0]; i++)
        any &= kernel != writers[i].kernel;
    return any;
}

/* An access that goes one element too far is seen where it reaches the end of what there is. */
static void change_places(const struct subject *s)
{
    const char *name = names[s->kernel];
    bool read = false;
    bool written = false;
    bool atomic = false;
    for (int i = 0; i < s->seen.places; i++) {
        const struct hc_fault_place *p = &s->seen.place[i];
        bool far = p->ends && p->kind != HC_FENCE;
        cr_expect(!far || finds(s, HC_FAR_ACCESS, i), "%s: access %d is one too far", name, i);
        cr_expect(!p->first || finds(s, HC_LOST_WRITE, i), "%s: write %d is lost", name, i);
        cr_expect(p->kind != HC_FENCE || finds(s, HC_LOST_FENCE, i), "%s: no fence %d", name, i);
        read |= far && p->kind == HC_ACCESS_READ;
        written |= far && p->kind == HC_ACCESS_WRITE;
        atomic |= p->kind == HC_ACCESS_ATOMIC;
    }
    cr_expect(read || !reads(s->kernel), "%s reads nothing to its end", name);
    cr_expect(written || atomic, "%s writes nothing to its end", name);
    cr_expect(!atomic || finds(s, HC_PLAIN_ATOMIC, 0), "%s: a plain atomic operation", name);
}

/* What the slot `work` counts from operands, against each byte once a launch that kernels touched.
   The former counts an operand as often as it is read, and leaves out tensors of a row. */
static void compare_bytes(const struct trial *trial, double counted)
{
    const struct hc_shadow_count *counts = hc_shadow_counts();
    double touched = 0;
    double rows = 0;
    for (int k = 0; k < HC_DEVICE_KERNEL_COUNT; k++)
        touched += (double)(counts[k].read + counts[k].written);
    for (int slot = 0; slot < hc_slot_count(trial->call.op); slot++) {
        const struct hc_tensor *t = hc_slot_tensor_const(&trial->call, slot);
        rows += t->data && t->rank == 1 ? (double)hc_tensor_bytes(t) : 0;
    }
    if (trial->sweeps || counts[HC_DEVICE_KERNEL_COUNT].launches > 0)
        return;
    cr_expect(counted >= touched - 4 * rows - 1024 && counted <= 2 * touched + 16384,
              "%s: counts %g bytes, touches %g", hc_ops[trial->call.op].name, counted, touched);
}

Test(mutants, every_fault_of_every_kernel_is_found)
{
    for (int i = 0; i < trial_count; i++) {
        hc_shadow_counts_reset();
        double before = backend->work(queue).bytes;
        cr_expect(!run(&trials[i]), "%s", hc_message());
        compare_bytes(&trials[i], backend->work(queue).bytes - before);
        for (int k = 0; k < HC_DEVICE_KERNEL_COUNT; k++)
            launched[k][i] = hc_shadow_counts()[k].launches > 0;
    }
    for (int k = 0; k < HC_DEVICE_KERNEL_COUNT; k++) {
        struct subject s = {.kernel = k};
        choose(&s);
        cr_expect_gt(s.count, 0, "nothing launches %s", names[k]);
        cr_expect(leave_out_barriers(&s), "%s does without any of its barriers", names[k]);
        change_places(&s);
        cr_expect(!s.seen.vectors || finds(&s, HC_OFF_VECTOR, 0), "%s: vectors", names[k]);
        cr_expect(!s.seen.follows || !depends(k) || finds(&s, HC_NO_SEPARATION, 0), "%s: launches",
                  names[k]);
    }
    for (int i = 0; i < barrier_count; i++)
        cr_expect(barriers[i].found, "%s:%d: hc_sync is left out", barriers[i].file,
                  barriers[i].line);
}
