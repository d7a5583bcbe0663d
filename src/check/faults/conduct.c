/* Backends that break a rule, whatever they compute. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "check/selftest/change.h"

/* Backends that only seem to do the work. */

static enum hc_status writes_nothing(const struct hc_fault_site *site, const struct hc_call *call)
{
    (void)site;
    (void)call;
    return HC_OK;
}

/* Large outputs are not written. */
static enum hc_status small_alone(const struct hc_fault_site *site, const struct hc_call *call)
{
    return hc_tensor_count(&call->out[HC_FIRST]) > 1500 ? HC_OK : hc_right(site, call);
}

static bool any_special(const struct hc_call *call)
{
    for (int i = 0; i < hc_ops[call->op].inputs; i++)
        for (int64_t k = 0; call->in[i].data && k < hc_tensor_count(&call->in[i]); k++)
            if (!isfinite(hc_in(call, i, k)))
                return true;
    return false;
}

/* Infinities and NaNs are refused. */
static enum hc_status refuses_specials(const struct hc_fault_site *site, const struct hc_call *call)
{
    if (any_special(call))
        return hc_fail(HC_UNSUPPORTED, "%s: not in these formats", hc_ops[call->op].name);
    return hc_right(site, call);
}

static enum hc_status refuses_halves(const struct hc_fault_site *site, const struct hc_call *call)
{
    if (call->in[HC_FIRST].format == HC_FP16)
        return hc_fail(HC_UNSUPPORTED, "%s: not in half", hc_ops[call->op].name);
    return hc_right(site, call);
}

/* A device kills the program without a word. */
static enum hc_status kills(const struct hc_fault_site *site, const struct hc_call *call)
{
    if (any_special(call))
        abort();
    return hc_right(site, call);
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

static enum hc_status right(const struct hc_fault_site *site, const struct hc_call *call)
{
    return hc_right(site, call);
}

/* Kernels that change their inputs or write outside their outputs. Their results are right. */

/* Whether input i must keep its bytes, because it is not also an output. */
static bool stays(const struct hc_call *call, int i)
{
    const struct hc_tensor *t = &call->in[i];
    bool output = !t->data || hc_tensor_count(t) == 0;
    for (int o = 0; o < hc_ops[call->op].outputs; o++)
        output = output || call->out[o].data == t->data;
    return !output;
}

/* Changes made to the caller's own inputs, before or after the sound kernel. */
struct spoiled {
    hc_where *where;
    hc_what *what;
    int slot; /* or HC_ALL_SLOTS */
    bool before;
};

static void spoil(const struct hc_call *call, const struct spoiled *row)
{
    for (int i = 0; i < hc_ops[call->op].inputs; i++) {
        const struct hc_tensor *t = &call->in[i];
        bool integers = hc_is_integer(&hc_formats[t->format]);
        if (!stays(call, i) || (row->slot == HC_ALL_SLOTS ? integers : row->slot != i))
            continue;
        struct hc_changed_element e = {call, t->format, 0, hc_tensor_count(t), 0, t->data, t->data};
        for (; e.i < e.n; e.i++)
            if (row->where(&e))
                hc_tensor_set_bits(t, e.i, row->what(&e, hc_tensor_bits(t, e.i)));
    }
}

static enum hc_status spoils(const struct hc_fault_site *site, const struct hc_call *call)
{
    const struct spoiled *row = site->fault->data;
    if (row->before)
        spoil(call, row);
    enum hc_status status = hc_right(site, call);
    if (!row->before && status == HC_OK)
        spoil(call, row);
    return status;
}

/* Writes one byte that far past the end of a tensor's bytes, or before their beginning if
   negative. */
struct reach {
    int64_t bytes;
    bool input; /* of the first input, otherwise of the first output */
};

static enum hc_status reaches(const struct hc_fault_site *site, const struct hc_call *call)
{
    const struct reach *reach = site->fault->data;
    const struct hc_tensor *t = reach->input ? &call->in[HC_FIRST] : &call->out[HC_FIRST];
    enum hc_status status = hc_right(site, call);
    if (status != HC_OK || !t->data)
        return status;
    unsigned char *at = t->data;
    at += reach->bytes < 0 ? reach->bytes : (int64_t)hc_tensor_bytes(t) + reach->bytes - 1;
    *at = (unsigned char)(*at + 1);
    return status;
}

static enum hc_status past_scratch(const struct hc_fault_site *site, const struct hc_call *call)
{
    size_t bytes = hc_backend_by_name("exact")->scratch(site->queue, call);
    enum hc_status status = hc_right(site, call);
    if (status == HC_OK && call->scratch && bytes > 0)
        ((unsigned char *)call->scratch)[bytes]++;
    return status;
}

/* Results that depend on earlier calls, on what lay in memory, or on whether a call is in place. */

/* State between calls, which a kernel must not keep. A process has one fault. */
static struct {
    int calls;
    bool known[HC_OP_ROOM];
    union hc_params params[HC_OP_ROOM];
    struct hc_tensor result;
} kept;

/* The first call's parameters serve all later calls of the op. */
static void first_parameters(struct hc_call *call)
{
    if (!kept.known[call->op])
        kept.params[call->op] = call->params;
    kept.known[call->op] = true;
    call->params = kept.params[call->op];
}

/* A call whose output has the last one's size repeats the last result. */
static enum hc_status last_result(const struct hc_fault_site *site, const struct hc_call *call)
{
    const struct hc_tensor *out = &call->out[HC_FIRST];
    size_t bytes = hc_tensor_bytes(out);
    if (kept.result.data && kept.result.format == out->format &&
        hc_tensor_bytes(&kept.result) == bytes && hc_tensor_count(&kept.result) > 1) {
        memcpy(out->data, kept.result.data, bytes);
        return HC_OK;
    }
    enum hc_status status = hc_right(site, call);
    free(kept.result.data);
    kept.result = *out;
    kept.result.data = hc_fault_copy(out);
    return status;
}

/* One call of a hundred leaves out its first element. */
static enum hc_status hundredth_call(const struct hc_fault_site *site, const struct hc_call *call)
{
    const struct hc_tensor *out = &call->out[HC_FIRST];
    uint64_t was = hc_tensor_count(out) > 0 ? hc_tensor_bits(out, 0) : 0;
    enum hc_status status = hc_right(site, call);
    if (status == HC_OK && ++kept.calls % 100 == 0 && hc_tensor_count(out) > 0)
        hc_tensor_set_bits(out, 0, was);
    return status;
}

/* Gradients are divided by the scale of the call before. */
static enum hc_status earlier_scale(const struct hc_fault_site *site, const struct hc_call *call)
{
    static float earlier;
    struct hc_call bad = *call;
    float scale = (float)hc_in(call, HC_UNSCALE_SCALE, 0);
    if (earlier == 0)
        earlier = scale;
    bad.in[HC_UNSCALE_SCALE].data = &earlier;
    enum hc_status status = hc_right(site, &bad);
    earlier = scale;
    return status;
}

static bool is_in_place(const struct hc_call *call)
{
    for (int o = 0; o < hc_ops[call->op].outputs; o++)
        for (int i = 0; i < hc_ops[call->op].inputs; i++)
            if (call->out[o].data && call->out[o].data == call->in[i].data)
                return true;
    return false;
}

/* In place the op is applied twice. */
static enum hc_status twice(const struct hc_fault_site *site, const struct hc_call *call)
{
    enum hc_status status = hc_right(site, call);
    return status == HC_OK && is_in_place(call) ? hc_right(site, call) : status;
}

/* In place of another operand than the first, the first one is there before the others are read. */
static enum hc_status first_copied(const struct hc_fault_site *site, const struct hc_call *call)
{
    const struct hc_tensor *out = &call->out[HC_OUT];
    if (is_in_place(call) && call->in[HC_X].format == out->format)
        memmove(out->data, call->in[HC_X].data, hc_tensor_bytes(out));
    return hc_right(site, call);
}

static enum hc_status refused(const struct hc_fault_site *site, const struct hc_call *call)
{
    if (is_in_place(call))
        return hc_fail(HC_UNSUPPORTED, "%s: not in place", hc_ops[call->op].name);
    return hc_right(site, call);
}

/* In place every second element is read where its neighbour has been written. */
static bool odd_in_place(const struct hc_changed_element *e)
{
    return is_in_place(e->call) && e->i % 2 == 1;
}

static uint64_t neighbour(const struct hc_changed_element *e, uint64_t bits)
{
    (void)bits;
    return hc_changed_right(e, e->i - 1);
}

/* Zeros are not written. */
static bool is_zero(const struct hc_changed_element *e)
{
    return hc_changed_right(e, e->i) == 0;
}

/* Kernels that give the right result but break a rule of src/backend.h (hc_kernel), and kernels
   that only seem to work. */

static bool is_also_output(const struct hc_call *call, int i)
{
    for (int o = 0; o < hc_ops[call->op].outputs; o++)
        if (call->out[o].data == call->in[i].data)
            return true;
    return false;
}

/* Number of elements of an input, 0 if it is also an output. */
static int64_t own_count(const struct hc_call *call, int i)
{
    return call->in[i].data && !is_also_output(call, i) ? hc_tensor_count(&call->in[i]) : 0;
}

static void zeroed_inputs(const struct hc_call *call)
{
    for (int i = 0; i < hc_ops[call->op].inputs; i++)
        for (int64_t k = 0; k < own_count(call, i); k++)
            hc_tensor_set_bits(&call->in[i], k, 0);
}

/* Subnormals and zeros become +0, as some hardware would have it. */
static uint64_t tiny_to_zero(const struct hc_changed_element *e, uint64_t bits)
{
    return fabs(hc_decode(e->format, bits)) < ldexp(1, hc_formats[e->format].emin) ? 0 : bits;
}

/* Also writes an element beside the first output: -1 is the one before it, n >= 0 the one n past
   its end. */
static enum hc_status beside(const struct hc_fault_site *site, const struct hc_call *call)
{
    int64_t at = (int64_t)site->fault->number;
    enum hc_status status = hc_right(site, call);
    const struct hc_tensor *y = &call->out[HC_FIRST];
    if (status == HC_OK && y->data)
        hc_tensor_set_bits(y, at < 0 ? at : hc_tensor_count(y) + at, 0);
    return status;
}

/* The same beside the first input. */
static enum hc_status beside_input(const struct hc_fault_site *site, const struct hc_call *call)
{
    int64_t at = (int64_t)site->fault->number;
    enum hc_status status = hc_right(site, call);
    const struct hc_tensor *x = &call->in[HC_FIRST];
    if (status == HC_OK && x->data)
        hc_tensor_set_bits(x, at < 0 ? at : hc_tensor_count(x) + at, 0);
    return status;
}

/* Writes only the first 1 / `number` of the elements, or none. */
static enum hc_status part(const struct hc_fault_site *site, const struct hc_call *call)
{
    int64_t of = (int64_t)site->fault->number;
    struct hc_call aside = *call;
    const struct hc_tensor *y = &call->out[HC_FIRST];
    if (!y->data)
        return hc_right(site, call);
    aside.out[HC_FIRST].data = hc_fault_copy(y);
    enum hc_status status = hc_right(site, &aside);
    int64_t n = of && status == HC_OK ? hc_tensor_count(y) / of : 0;
    memcpy(y->data, aside.out[HC_FIRST].data, (size_t)n * (size_t)hc_formats[y->format].bytes);
    free(aside.out[HC_FIRST].data);
    return status;
}

/* State between calls. A process has one fault. */
static struct {
    const void *seen;
    int calls;
} seen_before;

/* Does nothing for an output that it has just seen. */
static enum hc_status once(const struct hc_fault_site *site, const struct hc_call *call)
{
    if (seen_before.seen == call->out[HC_FIRST].data)
        return HC_OK;
    seen_before.seen = call->out[HC_FIRST].data;
    return hc_right(site, call);
}

static void by_turns(const struct hc_call *call)
{
    const struct hc_tensor *y = &call->out[HC_FIRST];
    if (seen_before.calls++ % 2 && hc_tensor_count(y) > 0)
        hc_tensor_set_bits(y, 0, hc_tensor_bits(y, 0) ^ 1);
}

/* Adds the first element of the old output to the new one. */
static enum hc_status onto_output(const struct hc_fault_site *site, const struct hc_call *call)
{
    const struct hc_tensor *y = &call->out[HC_FIRST];
    double was = hc_tensor_count(y) > 0 && !is_also_output(call, 0) ? hc_tensor_get(y, 0) : 0;
    enum hc_status status = hc_right(site, call);
    if (status == HC_OK && was != 0)
        hc_tensor_set(y, 0, hc_tensor_get(y, 0) + was);
    return status;
}

/* Refuses numbers of unusual size. */
static enum hc_status only_easy(const struct hc_fault_site *site, const struct hc_call *call)
{
    const struct hc_tensor *x = &call->in[HC_FIRST];
    for (int64_t i = 0; x->data && i < hc_tensor_count(x); i++) {
        double size = fabs(hc_tensor_get(x, i));
        if (size != 0 && !(size > 0x1p-8 && size < 0x1p8))
            return hc_fail(HC_UNSUPPORTED, "%s: not such numbers", hc_ops[call->op].name);
    }
    return hc_right(site, call);
}

/* Right at the sizes that a test would use: up to 66, powers of two, and 255 to 258. Otherwise the
   middle element is off by one bit. */
static void at_known_sizes(const struct hc_call *call)
{
    const struct hc_tensor *y = &call->out[HC_FIRST];
    int64_t n = y->data ? hc_tensor_count(y) : 0;
    bool known = n <= 66 || (n & (n - 1)) == 0 || (n >= 255 && n <= 258);
    if (!known)
        hc_tensor_set_bits(y, n / 2, hc_tensor_bits(y, n / 2) ^ 1);
}

/* Computes, and then reports that it could not. */
static enum hc_status refused_afterwards(const struct hc_fault_site *site,
                                         const struct hc_call *call)
{
    (void)hc_right(site, call);
    return hc_fail(HC_UNSUPPORTED, "%s: not today", hc_ops[call->op].name);
}

static void *allocate(struct hc_queue *queue, size_t bytes)
{
    (void)queue;
    return aligned_alloc(64, (bytes + 63) / 64 * 64);
}

static void release(struct hc_queue *queue, void *memory)
{
    (void)queue;
    free(memory);
}

/* Memory of its own behind copies, like a device's. */
static void set_apart(struct hc_backend *faulty)
{
    faulty->host_memory = false;
    faulty->allocate = allocate;
    faulty->release = release;
}

/* Reads that change no result. */

static size_t scratch_bytes(const struct hc_fault_site *site, const struct hc_call *call)
{
    const struct hc_backend *home = hc_backend_by_name(hc_fault_home(site->fault));
    return home->scratch(site->queue, call);
}

static enum hc_status reads_behind_its_scratch(const struct hc_fault_site *site,
                                               const struct hc_call *call)
{
    const volatile unsigned char *scratch = call->scratch;
    if (scratch)
        (void)scratch[(scratch_bytes(site, call) + 63) / 64 * 64];
    return hc_right(site, call);
}

static enum hc_status reads_before_its_input(const struct hc_fault_site *site,
                                             const struct hc_call *call)
{
    const volatile unsigned char *x = call->in[HC_FIRST].data;
    if (x)
        (void)x[-64];
    return hc_right(site, call);
}

/* Every thread keeps the row of A that it works on at the beginning of the scratch. */
static enum hc_status one_row_for_all(const struct hc_fault_site *site, const struct hc_call *call)
{
    const struct hc_tensor *a = &call->in[HC_GEMM_A];
    const struct hc_tensor *b = &call->in[HC_GEMM_B];
    const struct hc_tensor *out = &call->out[HC_GEMM_OUT];
    const struct hc_gemm *p = &call->params.gemm;
    int64_t k = a->shape[1];
    float *row = call->scratch;
    if (hc_call_fp64(call) || p->transpose_a || p->transpose_b || p->beta != 0 || p->alpha != 1 ||
        !row || scratch_bytes(site, call) < (size_t)k * sizeof *row)
        return hc_right(site, call);
#pragma omp parallel for num_threads(3) schedule(static)
    for (int64_t i = 0; i < out->shape[0]; i++) {
        for (int64_t t = 0; t < k; t++)
            row[t] = (float)hc_tensor_get(a, i * k + t);
        for (int64_t j = 0; j < out->shape[1]; j++) {
            float sum = 0;
            for (int64_t t = 0; t < k; t++)
                sum += row[t] * (float)hc_tensor_get(b, t * out->shape[1] + j);
            hc_tensor_set(out, i * out->shape[1] + j, (double)sum);
        }
    }
    return HC_OK;
}

static const struct hc_fault faults[] = {
#include "check/faults/conduct.def"
};

HC_FAULTS(conduct, faults);
