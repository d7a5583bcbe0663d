/* Faults in every kernel of kernels.def, at every place where it may have one: the shadow finds
   each. A new kernel needs no line here, if a call of a generated case launches it. */
#include "kernels/cuda/launch.h"
#include "kernels/cuda/shadow/fault.h"
#include "kernels/cuda/shadow/testing_trials.h"

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
