/* What kernels touch, and what their threads share. Every op in each of its mixes of formats runs
   between pages that nobody may touch; and ops that ask for scratch run on several threads that are
   held up wherever they come to it.

   Guard bytes (check/guarded.h) show what a kernel writes beside its memory, and what it reads
   there only if the result depends on it. A page without access shows every read, too. The memory
   ends, or begins, at such a page, save for the bytes that its alignment of 64 leaves. Whoever
   touches a page is noted, gets the access and goes on, on whatever thread.

   Threads that share scratch that each should have for itself give right results as long as one is
   done before the next begins, as they are in small calls and on few cores. So a jammer takes the
   access to the scratch away again and again, and whoever comes to it then sleeps for a while, a
   random one, in which the others go on.

   Who does nothing touches nothing. So each call is also judged as any other is. */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "case.h"
#include "check/generate/distribution.h"
#include "check/generate/op_space.h"
#include "op/descriptor.h"

/* Where the memory meets its page. */
enum fence_side { FENCE_BEHIND, FENCE_BEFORE };

enum { GUARD = 16, ALIGNMENT = 64, MOST = HC_MAX_IN + HC_MAX_OUT + 1, OPEN = 64 };

/* Memory between guards of so many pages. */
struct fence {
    const char *name;
    unsigned char *map;
    size_t page;
    size_t inner; /* bytes between the guards: whole pages */
    unsigned char *data;
    size_t bytes;
    _Atomic ptrdiff_t touch; /* relative to data; 0: none, since data itself is no guard */
    atomic_bool jammed;
    atomic_int_fast64_t slept;
};

struct fences {
    struct fence fence[MOST];
    int count;
    int scratch; /* the fence of the scratch, or -1 */
    pthread_t jammer;
    atomic_bool jams;
    bool started;
};

/* All that are open, for the handler. */
static _Atomic(struct fence *) fenced[OPEN];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int users;
static struct sigaction before;

static void sleep_a_while(int64_t n)
{
    struct timespec t = {.tv_nsec = (long)((uint64_t)n * 2654435761u % 64) * 4000};
    (void)nanosleep(&t, NULL);
}

/* Whether the fence knows the address; then access is given. */
static bool takes(struct fence *f, const unsigned char *at)
{
    unsigned char *inside = f->map + GUARD * f->page;
    ptrdiff_t none = 0;
    if (at < f->map || at >= inside + f->inner + GUARD * f->page)
        return false;
    if (at >= inside && at < inside + f->inner) {
        sleep_a_while(atomic_fetch_add(&f->slept, 1) + (int64_t)((uintptr_t)at >> 12));
        return mprotect(inside, f->inner, PROT_READ | PROT_WRITE) == 0;
    }
    (void)atomic_compare_exchange_strong(&f->touch, &none, at - f->data);
    unsigned char *guard = at < inside ? f->map : inside + f->inner;
    return mprotect(guard, GUARD * f->page, PROT_READ | PROT_WRITE) == 0;
}

/* What is nobody's is left to the handler before this one: it meets the access again. */
static void met(int number, siginfo_t *what, void *context)
{
    (void)context;
    for (int i = 0; i < OPEN; i++) {
        struct fence *f = atomic_load(&fenced[i]);
        if (f && takes(f, what->si_addr))
            return;
    }
    (void)sigaction(number, &before, NULL);
}

static bool enter(struct fence *f)
{
    int i = 0;
    (void)pthread_mutex_lock(&lock);
    if (users++ == 0) {
        struct sigaction action = {.sa_sigaction = met, .sa_flags = SA_SIGINFO | SA_NODEFER};
        (void)sigemptyset(&action.sa_mask);
        (void)sigaction(SIGSEGV, &action, &before);
    }
    while (i < OPEN && atomic_load(&fenced[i]))
        i++;
    if (i < OPEN)
        atomic_store(&fenced[i], f);
    (void)pthread_mutex_unlock(&lock);
    return i < OPEN;
}

static void leave(struct fence *f)
{
    (void)pthread_mutex_lock(&lock);
    for (int i = 0; i < OPEN; i++)
        if (atomic_load(&fenced[i]) == f)
            atomic_store(&fenced[i], NULL);
    if (--users == 0)
        (void)sigaction(SIGSEGV, &before, NULL);
    (void)pthread_mutex_unlock(&lock);
}

/* The bytes that alignment leaves are NaNs, or parts of them. */
static struct fence *add_fence(struct fences *fences, const char *name, size_t bytes,
                               enum fence_side side)
{
    struct fence *f = &fences->fence[fences->count];
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    size_t aligned = (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    *f = (struct fence){.name = name, .page = page, .bytes = bytes};
    f->inner = (aligned + page - 1) / page * page;
    size_t whole = f->inner + 2 * GUARD * page;
    f->map = aligned_alloc(page, whole);
    if (!f->map)
        return NULL;
    unsigned char *inside = f->map + GUARD * page;
    f->data = side == FENCE_BEHIND ? inside + f->inner - aligned : inside;
    if (!enter(f)) {
        leave(f);
        free(f->map);
        return NULL;
    }
    fences->count++;
    memset(inside, 0xff, f->inner);
    bool ok = mprotect(f->map, GUARD * page, PROT_NONE) == 0 &&
              mprotect(inside + f->inner, GUARD * page, PROT_NONE) == 0;
    return ok ? f : NULL;
}

/* Operands that lie in the same memory do so here. */
static bool add_tensor(struct fences *fences, struct hc_call *call, const struct hc_call *from,
                       int slot, enum fence_side side)
{
    struct hc_tensor *t = hc_slot_tensor(call, slot);
    const void *data = t->data;
    if (!data)
        return true;
    for (int s = 0; s < slot; s++)
        if (hc_slot_tensor_const(from, s)->data == data) {
            t->data = hc_slot_tensor(call, s)->data;
            return true;
        }
    struct fence *f = add_fence(fences, hc_slot(call->op, slot)->name, hc_tensor_bytes(t), side);
    if (!f)
        return false;
    t->data = memcpy(f->data, data, f->bytes);
    return true;
}

static void fences_close(struct fences *fences)
{
    for (int i = 0; fences && i < fences->count; i++) {
        struct fence *f = &fences->fence[i];
        leave(f);
        (void)mprotect(f->map, f->inner + 2 * GUARD * f->page, PROT_READ | PROT_WRITE);
        free(f->map);
    }
    free(fences);
}

/* Copies the call's inputs and has room for its outputs and for so many bytes of scratch; `call`
   becomes the call on these. NULL: no memory, with a line. */
static struct fences *fences_open(struct hc_call *call, size_t scratch, enum fence_side side)
{
    struct fences *fences = calloc(1, sizeof *fences);
    const struct hc_call from = *call;
    bool ok = fences;
    for (int s = 0; ok && s < hc_slot_count(call->op); s++)
        ok = add_tensor(fences, call, &from, s, side);
    if (ok)
        fences->scratch = -1;
    if (ok && scratch > 0) {
        struct fence *f = add_fence(fences, "scratch", scratch, side);
        fences->scratch = f ? fences->count - 1 : -1;
        call->scratch = f ? f->data : NULL;
        ok = f;
    }
    if (ok)
        return fences;
    (void)hc_fail(HC_NO_MEMORY, "no memory between pages for %s", hc_ops[call->op].name);
    fences_close(fences);
    return NULL;
}

/* The first touch outside of one of them, as a sentence's end: "16 bytes behind scratch". False:
   none. */
static bool fences_touched(const struct fences *fences, char *text, size_t size)
{
    for (int i = 0; i < fences->count; i++) {
        const struct fence *f = &fences->fence[i];
        ptrdiff_t at = atomic_load(&f->touch);
        if (at == 0)
            continue;
        if (at < 0)
            (void)snprintf(text, size, "%td bytes before %s", -at, f->name);
        else
            (void)snprintf(text, size, "%td bytes behind %s", at - (ptrdiff_t)f->bytes, f->name);
        return true;
    }
    return false;
}

static void *jam(void *argument)
{
    struct fences *fences = argument;
    struct fence *f = &fences->fence[fences->scratch];
    for (int64_t n = 0; atomic_load(&fences->jams); n++) {
        (void)mprotect(f->map + GUARD * f->page, f->inner, PROT_NONE);
        sleep_a_while(n);
    }
    (void)mprotect(f->map + GUARD * f->page, f->inner, PROT_READ | PROT_WRITE);
    return NULL;
}

/* Takes the access to the scratch away, again and again, from here on until it is stopped. */
static void fences_jam(struct fences *fences)
{
    atomic_store(&fences->jams, true);
    fences->started =
        fences->scratch >= 0 && pthread_create(&fences->jammer, NULL, jam, fences) == 0;
}

static void fences_stop(struct fences *fences)
{
    atomic_store(&fences->jams, false);
    if (fences->started)
        (void)pthread_join(fences->jammer, NULL);
    fences->started = false;
}

/* Whoever was made to sleep, so many times. */
static int64_t fences_slept(const struct fences *fences)
{
    return fences->scratch < 0 ? 0 : atomic_load(&fences->fence[fences->scratch].slept);
}

/* A queue of the case's own, which several threads share the work of. */
struct place {
    struct hc_check *check;
    const struct hc_backend *backend;
    struct hc_queue *queue;
};

static bool open_place(struct place *place, struct hc_check *check, int threads)
{
    *place = (struct place){.check = check, .backend = hc_check_backend(check)};
    if (!place->backend->host_memory || !place->backend->concurrent) {
        hc_skip(check, "its memory is not the host's, or it has one queue");
        return false;
    }
    hc_check_undigested(check);
    return hc_check_ok(check, hc_backend_open(place->backend, &place->queue, threads));
}

/* Memory for the call, with drawn inputs. */
static void draw(const struct place *place, struct hc_call *call)
{
    for (int s = 0; s < hc_slot_count(call->op); s++) {
        struct hc_tensor *t = hc_slot_tensor(call, s);
        if (!hc_op_absent(call, s))
            t->data = hc_check_memory(place->check, hc_tensor_bytes(t) + 1);
    }
    hc_draw_inputs(call, HC_DRAW_NORMAL, hc_check_seed(place->check));
}

static size_t scratch_of(const struct place *place, const struct hc_call *call)
{
    return place->backend->scratch ? place->backend->scratch(place->queue, call) : 0;
}

/* False if the kernel does not take the call. */
static bool touch(const struct place *place, struct hc_call call, const char *set,
                  enum fence_side side, struct hc_comparisons *all)
{
    char where[96];
    struct fences *fences = fences_open(&call, scratch_of(place, &call), side);
    if (!fences) {
        hc_check_failed(place->check);
        return false;
    }
    enum hc_status status = place->backend->kernel[call.op](place->queue, &call);
    all->checked += status == HC_OK;
    if (fences_touched(fences, where, sizeof where))
        hc_comparisons_wrong(all, "%s in %s touches what lies %s", hc_ops[call.op].name, set,
                             where);
    fences_close(fences);
    return status == HC_OK;
}

/* The first shape and variant of each mix of formats. */
static void inside(struct hc_check *check)
{
    struct place place;
    struct hc_comparisons all = {.what = "calls that touch no byte outside their memory"};
    if (!open_place(&place, check, 2))
        return;
    for (enum hc_op op = 0; (int)op < HC_OP_COUNT; op++) {
        struct hc_opspace space = hc_opspace(op);
        for (const struct hc_format_set *set = space.sets; set->name; set++) {
            struct hc_call call = hc_op_call(op, set, space.shapes, space.variants);
            if (!hc_format_set_allowed(op, set, space.variants) ||
                hc_backend_has(place.backend, &call) != HC_OK)
                continue;
            draw(&place, &call);
            if (touch(&place, call, set->name, FENCE_BEHIND, &all) &&
                touch(&place, call, set->name, FENCE_BEFORE, &all))
                (void)hc_claim_call_met(check, &call);
        }
    }
    place.backend->close(place.queue);
    hc_claim_comparisons(check, &all);
}

/* Calls with scratch, large enough for several threads. */
static const struct {
    enum hc_op op;
    const char *set;
    int64_t d[8];
} rows[] = {
    {HC_OP_gemm, "fp32", {65, 129, 65}},
    {HC_OP_gemm, "fp16", {65, 129, 65}},
    {HC_OP_gemm, "bf16", {65, 129, 65}},
    {HC_OP_gemm, "fp64", {65, 129, 65}},
    {HC_OP_gemm_q, "e4m3-fp32", {65, 129, 160}},
    {HC_OP_conv2d, "fp16", {2, 9, 9, 16, 33, 3, 1, 1}},
    {HC_OP_conv2d_bwd_data, "fp32", {2, 9, 9, 16, 33, 3, 1, 1}},
    {HC_OP_conv2d_bwd_filter, "bf16", {2, 9, 9, 16, 33, 3, 1, 1}},
    {HC_OP_bn_train, "fp16", {9, 16, 16, 17}},
    {HC_OP_bn_bwd, "bf16", {9, 16, 16, 17}},
    {HC_OP_bn_moments, "fp32", {9, 16, 16, 17}},
    {HC_OP_bn_bwd_sums, "fp16", {9, 16, 16, 17}},
    {HC_OP_sum, "fp32", {40000}},
    {HC_OP_dot, "fp16-fp32", {40000}},
    {HC_OP_sum_squares, "fp32", {40000}},
    {HC_OP_xent, "fp32", {300, 10}},
};

/* The call's outputs in one row of bytes, in memory of the check. */
static unsigned char *outputs_of(const struct place *place, const struct hc_call *call,
                                 size_t *bytes)
{
    *bytes = 0;
    for (int o = 0; o < hc_ops[call->op].outputs; o++)
        *bytes += call->out[o].data ? hc_tensor_bytes(&call->out[o]) : 0;
    unsigned char *all = hc_check_memory(place->check, *bytes + 1);
    size_t at = 0;
    for (int o = 0; o < hc_ops[call->op].outputs; o++)
        if (call->out[o].data) {
            memcpy(all + at, call->out[o].data, hc_tensor_bytes(&call->out[o]));
            at += hc_tensor_bytes(&call->out[o]);
        }
    return all;
}

/* The outputs of a run, held up or not. NULL: the backend does not take the call. */
static unsigned char *run_between_fences(const struct place *place, struct hc_call call,
                                         bool jammed, size_t *bytes, int64_t *slept)
{
    unsigned char *outputs = NULL;
    struct fences *fences = fences_open(&call, scratch_of(place, &call), FENCE_BEHIND);
    if (!fences) {
        hc_check_failed(place->check);
        return NULL;
    }
    if (jammed)
        fences_jam(fences);
    enum hc_status status = place->backend->kernel[call.op](place->queue, &call);
    fences_stop(fences);
    *slept += fences_slept(fences);
    if (status == HC_OK)
        outputs = outputs_of(place, &call, bytes);
    fences_close(fences);
    return outputs;
}

static void hold_up(const struct place *place, int row, struct hc_comparisons *all, int64_t *slept)
{
    enum { ROUNDS = 3 };
    struct hc_opspace space = hc_opspace(rows[row].op);
    struct hc_op_shape shape = {.name = ""};
    const struct hc_format_set *set = space.sets;
    size_t bytes;
    while (set->name && strcmp(set->name, rows[row].set) != 0)
        set++;
    memcpy(shape.d, rows[row].d, sizeof shape.d);
    if (!set->name)
        return;
    struct hc_call call = hc_op_call(rows[row].op, set, &shape, space.variants);
    if (hc_backend_has(place->backend, &call) != HC_OK || scratch_of(place, &call) == 0)
        return;
    draw(place, &call);
    unsigned char *want = run_between_fences(place, call, false, &bytes, slept);
    if (want)
        (void)hc_claim_call_met(place->check, &call);
    for (int i = 0; want && i < ROUNDS; i++) {
        unsigned char *got = run_between_fences(place, call, true, &bytes, slept);
        if (!got)
            return;
        all->checked++;
        if (memcmp(want, got, bytes) != 0)
            hc_comparisons_wrong(all,
                                 "%s in %s: threads that are held up at the scratch give "
                                 "another result",
                                 hc_ops[call.op].name, set->name);
    }
}

static void apart(struct hc_check *check)
{
    struct place place;
    int64_t slept = 0;
    struct hc_comparisons all = {.what = "calls whose threads share no scratch"};
    if (hc_check_backend(check)->nondeterministic) {
        hc_skip(check, "the same call may give other bits each time");
        return;
    }
    if (!open_place(&place, check, 3))
        return;
    for (size_t row = 0; row < sizeof rows / sizeof rows[0]; row++)
        hold_up(&place, (int)row, &all, &slept);
    place.backend->close(place.queue);
    hc_say(check, "%lld calls, in which threads were held up %lld times", (long long)all.checked,
           (long long)slept);
    hc_claim_comparisons(check, &all);
    if (all.checked == 0)
        hc_skip(check, "none of its ops asks for scratch");
}

static const struct hc_case cases[] = {
    {.name = "memory/threads-share-no-scratch",
     .title = "threads that are held up wherever they come to the scratch give the same bits",
     .source = "src/backend.h: results do not depend on the number of threads",
     .run = apart},
    {.name = "memory/touches-stay-inside",
     .title = "every op reads and writes inside its tensors and its scratch alone, up to the 64 "
              "bytes of their alignment",
     .source = "src/backend.h, scratch",
     .run = inside},
};

HC_CASES(memory_fences, cases);
