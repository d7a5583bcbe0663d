/* Backends that only seem to do the work. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "check/selftest/change.h"

static enum hc_status writes_nothing(const struct hc_fault_site *site, struct hc_queue *queue,
                                     const struct hc_call *call)
{
    (void)site;
    (void)queue;
    (void)call;
    return HC_OK;
}

/* Large outputs are not written. */
static enum hc_status small_alone(const struct hc_fault_site *site, struct hc_queue *queue,
                                  const struct hc_call *call)
{
    return hc_tensor_count(&call->out[HC_FIRST]) > 1500 ? HC_OK : site->right(queue, call);
}

static bool any_special(const struct hc_call *call)
{
    for (int i = 0; i < hc_ops[call->op].inputs; i++)
        for (int64_t k = 0; call->in[i].data && k < hc_tensor_count(&call->in[i]); k++)
            if (!isfinite(hc_tensor_get(&call->in[i], k)))
                return true;
    return false;
}

/* Infinities and NaNs are refused. */
static enum hc_status refuses_specials(const struct hc_fault_site *site, struct hc_queue *queue,
                                       const struct hc_call *call)
{
    if (any_special(call))
        return hc_fail(HC_UNSUPPORTED, "%s: not in these formats", hc_ops[call->op].name);
    return site->right(queue, call);
}

static enum hc_status refuses_halves(const struct hc_fault_site *site, struct hc_queue *queue,
                                     const struct hc_call *call)
{
    if (call->in[HC_FIRST].format == HC_FP16)
        return hc_fail(HC_UNSUPPORTED, "%s: not in half", hc_ops[call->op].name);
    return site->right(queue, call);
}

/* A device kills the program without a word. */
static enum hc_status kills(const struct hc_fault_site *site, struct hc_queue *queue,
                            const struct hc_call *call)
{
    if (any_special(call))
        abort();
    return site->right(queue, call);
}

static enum hc_status (*right_upload)(struct hc_queue *, void *, const void *, size_t);
static enum hc_status (*right_download)(struct hc_queue *, void *, const void *, size_t);

/* Copies are at most a page long. */
static enum hc_status upload_a_page(struct hc_queue *queue, void *to, const void *from,
                                    size_t bytes)
{
    return right_upload(queue, to, from, bytes < 4096 ? bytes : 4096);
}

static enum hc_status download_a_page(struct hc_queue *queue, void *to, const void *from,
                                      size_t bytes)
{
    return right_download(queue, to, from, bytes < 4096 ? bytes : 4096);
}

static void short_uploads(struct hc_backend *faulty)
{
    hc_play_device(faulty);
    right_upload = faulty->upload;
    faulty->upload = upload_a_page;
}

static void short_downloads(struct hc_backend *faulty)
{
    hc_play_device(faulty);
    right_download = faulty->download;
    faulty->download = download_a_page;
}

/* Declares its sums to be poor, so that every bound is wide. */
static void poor_accumulator(struct hc_backend *faulty)
{
    faulty->accumulator = (struct hc_accumulator){.precision = 8, .block = 1, .truncates = true};
    faulty->accumulates = NULL;
}

static enum hc_status right(const struct hc_fault_site *site, struct hc_queue *queue,
                            const struct hc_call *call)
{
    return site->right(queue, call);
}

static const struct hc_change result_in_bf16 = {hc_everywhere, hc_through_bf16, 0, HC_FIRST};
static const struct hc_change later_zero = {hc_beyond, hc_to_zero, 300, HC_FIRST};
static const struct hc_change later_next = {hc_beyond, hc_next, 192, HC_FIRST};

static const struct hc_fault faults[] = {
    {"cheat-writes-nothing", "no kernel writes anything", HC_FAULT_CHEAT, "*",
     "op/add/* op/sum/* op/xent/* bits/*", .wrong = writes_nothing},
    {"cheat-norm-writes-nothing", "batch norm writes nothing", HC_FAULT_CHEAT, "bn_*",
     "op/bn_train/* op/bn_infer/* op/bn_bwd/* batchnorm/*", .wrong = writes_nothing,
     .place = HC_PLACE_HOST},
    {"cheat-control-writes-nothing", "the ops that decide and count a training step write nothing",
     HC_FAULT_CHEAT, "scaler_update overflow_verdict rates step_log clip augment",
     "scaler/* op/rates/* op/clip/* data/*", .wrong = writes_nothing},
    {"cheat-small-alone", "outputs of more than 1,500 elements are not written", HC_FAULT_CHEAT,
     "*", "border/conv2d/* border/add/* bits/*", .wrong = small_alone, .place = HC_PLACE_HOST},
    {"cheat-first-300", "elements from the 301st on are 0", HC_FAULT_CHEAT,
     "gemm conv2d* bn_* avg_pool*", "op/gemm/* op/conv2d/* op/bn_train/*", .outputs = &later_zero,
     .place = HC_PLACE_HOST},
    {"cheat-first-192", "elements from the 193rd on are their neighbours", HC_FAULT_CHEAT,
     "gemm conv2d* bn_* xent_bwd", "op/gemm/* op/conv2d_bwd_data/* op/bn_bwd/*",
     .outputs = &later_next},
    {"cheat-refuses-specials", "calls with infinities or NaNs are refused as unsupported",
     HC_FAULT_CHEAT, "*", "op/add/* op/gemm/* bits/*", .wrong = refuses_specials,
     .place = HC_PLACE_HOST},
    {"cheat-refuses-halves", "calls in half are refused as unsupported", HC_FAULT_CHEAT, "*",
     "op/add/fp16/* bits/add/fp16 training/step-amp", .wrong = refuses_halves,
     .shown = HC_UNIMPLEMENTED},
    {"cheat-dies-of-specials", "a kernel that meets an infinity or a NaN ends the program",
     HC_FAULT_CHEAT, "gemm", "op/gemm/*", .wrong = kills, .crashes = true},
    {"cheat-uploads-a-page", "uploads are cut at 4,096 bytes", HC_FAULT_CHEAT, "*",
     "op/add/* op/conv2d/* bits/*", .wrong = right, .rebuild = short_uploads},
    {"cheat-downloads-a-page", "downloads are cut at 4,096 bytes", HC_FAULT_CHEAT, "*",
     "op/add/* op/conv2d/* bits/*", .wrong = right, .place = HC_PLACE_HOST,
     .rebuild = short_downloads},
    {"cheat-poor-accumulator", "the backend declares a poor accumulator, and its results are poor",
     HC_FAULT_CHEAT, "gemm dot sum conv2d", "op/gemm/* op/conv2d/* op/dot/*",
     .outputs = &result_in_bf16, .rebuild = poor_accumulator},
};

HC_FAULTS(cheat, faults);
