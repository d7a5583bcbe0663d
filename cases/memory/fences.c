/* What kernels touch, and what their threads share. Every op in each of its mixes of formats runs
   between pages that nobody may touch; and ops that ask for scratch run on several threads that are
   held up wherever they come to it (cases/fixture/fences.h). */
#include <math.h>
#include <stdlib.h>

#include "cases/fixture/fences.h"
#include "check/generate/distribution.h"
#include "check/generate/op_space.h"
#include "op/descriptor.h"

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

/* Who touches nothing need not be right: whether half of the first output is about what `exact`
   gives. */
static bool is_about_right(const struct place *place, struct hc_call call,
                           const struct hc_tensor *got)
{
    const struct hc_backend *exact = hc_backend_by_name("exact");
    const struct hc_tensor *want = &call.out[HC_FIRST];
    size_t scratch = exact->scratch ? exact->scratch(NULL, &call) : 0;
    int64_t near = 0;
    call.scratch = scratch ? hc_check_memory(place->check, scratch) : NULL;
    if (exact->kernel[call.op](NULL, &call) != HC_OK)
        return true;
    for (int64_t i = 0; i < hc_tensor_count(want); i++) {
        double x = hc_tensor_get(want, i);
        double y = hc_tensor_get(got, i);
        near += x == y || (isnan(x) && isnan(y)) || fabs(y - x) <= 0.05 * (1 + fabs(x));
    }
    return 2 * near >= hc_tensor_count(want);
}

static void touch(const struct place *place, struct hc_call call, const char *set,
                  enum hc_fence_side side, struct hc_comparisons *all)
{
    char where[96];
    const struct hc_call own = call;
    struct hc_fences *fences = hc_fences_open(&call, scratch_of(place, &call), side);
    if (!fences) {
        hc_check_failed(place->check);
        return;
    }
    enum hc_status status = place->backend->kernel[call.op](place->queue, &call);
    all->checked += status == HC_OK;
    if (hc_fences_touched(fences, where, sizeof where))
        hc_comparisons_wrong(all, "%s in %s touches what lies %s", hc_ops[call.op].name, set,
                             where);
    if (status == HC_OK && call.out[HC_FIRST].data &&
        !is_about_right(place, own, &call.out[HC_FIRST]))
        hc_comparisons_wrong(all, "%s in %s gives other numbers than exact", hc_ops[call.op].name,
                             set);
    hc_fences_close(fences);
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
            touch(&place, call, set->name, HC_FENCE_BEHIND, &all);
            touch(&place, call, set->name, HC_FENCE_BEFORE, &all);
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
static unsigned char *run(const struct place *place, struct hc_call call, bool jammed,
                          size_t *bytes, int64_t *slept, struct hc_comparisons *all)
{
    unsigned char *outputs = NULL;
    const struct hc_call own = call;
    struct hc_fences *fences = hc_fences_open(&call, scratch_of(place, &call), HC_FENCE_BEHIND);
    if (!fences) {
        hc_check_failed(place->check);
        return NULL;
    }
    if (jammed)
        hc_fences_jam(fences);
    enum hc_status status = place->backend->kernel[call.op](place->queue, &call);
    hc_fences_stop(fences);
    *slept += hc_fences_slept(fences);
    if (status == HC_OK && !jammed && !is_about_right(place, own, &call.out[HC_FIRST]))
        hc_comparisons_wrong(all, "%s gives other numbers than exact", hc_ops[call.op].name);
    if (status == HC_OK)
        outputs = outputs_of(place, &call, bytes);
    hc_fences_close(fences);
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
    unsigned char *want = run(place, call, false, &bytes, slept, all);
    for (int i = 0; want && i < ROUNDS; i++) {
        unsigned char *got = run(place, call, true, &bytes, slept, all);
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
