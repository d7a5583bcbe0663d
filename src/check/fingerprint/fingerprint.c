#include "check/fingerprint/fingerprint.h"

#include <inttypes.h>
#include <string.h>

#include "check/fingerprint/features.h"
#include "check/fingerprint/models.h"
#include "check/fingerprint/probe.h"
#include "check/fingerprint/structure.h"
#include "check/timing.h"

enum { SUMS = 2048, AGAIN = 512 };

/* The calls that are described, and others: of one element, which a library may leave to its vector
   product; of many; and of long sums, which it may cut into slices, as long as the format can show
   their order. `sums` are compared with those
   of the first shape, or with what was found there, since other lengths have other sums. */
static const struct hc_gemm_shape first_shape = {.side = 32, .terms = 64};
static const struct {
    struct hc_gemm_shape shape;
    int sums;
} other_shapes[] = {{{1, 64}, 96}, {{128, 64}, 512}, {{16, 1024}, 64}};
enum { SHAPES = sizeof other_shapes / sizeof other_shapes[0] };

/* Runs the sums; without C if the kernel does not take it. */
static enum hc_status run_or_leave_c(struct hc_probe *p, void (*add)(struct hc_probe *))
{
    hc_probe_begin(p);
    add(p);
    enum hc_status status = hc_probe_run(p);
    if (status != HC_UNSUPPORTED || !p->takes_c)
        return status;
    p->takes_c = false;
    hc_probe_begin(p);
    add(p);
    return hc_probe_run(p);
}

static void add_plain(struct hc_probe *p)
{
    (void)hc_probe_sum(p);
    (void)hc_probe_sum(p);
    hc_probe_term(p, 0, 1, 1);
    (void)hc_probe_sum(p);
    hc_probe_term(p, 1, 1.5, 2);
    hc_probe_term(p, p->shape.terms - 1, -1, 1);
}

/* 0, 1 and 1.5 * 2 - 1 need no rounding: whoever gets these wrong multiplies no matrices. */
static enum hc_status check_plain(struct hc_probe *p)
{
    static const double want[] = {0, 1, 2};
    enum hc_status status = run_or_leave_c(p, add_plain);
    for (int i = 0; i < 3 && status == HC_OK; i++)
        if (!(hc_probe_value(p, i) == want[i]))
            status = hc_fail(
                HC_DEVICE, "%s: gemm of %s gives %.9g where %g is exact: no fingerprint",
                p->backend->name, hc_formats[p->format].name, hc_probe_value(p, i), want[i]);
    return status;
}

static enum hc_status find_all(struct hc_probe *p, struct hc_findings_of_shape *found)
{
    *found = (struct hc_findings_of_shape){.shape = p->shape};
    enum hc_status status = hc_find_structure(p, found);
    if (status == HC_OK)
        status = hc_find_rounding(p, found);
    return status == HC_OK ? hc_find_features(p, found) : status;
}

/* The guarded calls repeat each other already, but not on a backend that may give other bits each
   time: it may even do so in one call out of many. */
static enum hc_status check_repeats(struct hc_probe *p)
{
    uint32_t before[AGAIN];
    memcpy(before, p->got, sizeof before);
    int count = p->count;
    p->count = AGAIN;
    enum hc_status status = hc_probe_run(p);
    p->count = count;
    if (status == HC_OK && memcmp(before, p->got, sizeof before) != 0)
        status =
            hc_fail(HC_DEVICE, "%s: gemm of %s gives other bits for the same call: no fingerprint",
                    p->backend->name, hc_formats[p->format].name);
    return status;
}

static enum hc_status find_first(struct hc_probe *p, struct hc_fingerprint *f)
{
    enum hc_status status = check_plain(p);
    if (status == HC_OK)
        status = find_all(p, &f->main);
    if (status != HC_OK)
        return status;
    hc_probe_begin(p);
    hc_vectors_add(p, SUMS);
    status = hc_probe_run(p);
    if (status == HC_OK)
        status = check_repeats(p);
    if (status == HC_OK)
        hc_find_models(p, f);
    f->main.trace = p->trace;
    return status;
}

/* What predicts sums of other lengths: the model that equals those of the first shape. */
static bool predicts(const struct hc_fingerprint *f, struct hc_model *model)
{
    *model = (struct hc_model){.c_last = f->main.c == HC_SUM_C_LAST};
    if (f->equal_count)
        model->unit = *f->equals[0];
    return f->equal_count > 0 || (f->in_words && hc_model_of_findings(f->format, &f->main, model));
}

static bool is_nan(uint32_t code)
{
    return (code & 0x7fffffff) > 0x7f800000;
}

static void count_differences(const struct hc_probe *p, const struct hc_probe *first,
                              struct hc_found_other *other)
{
    for (int i = 0; i < p->count; i++)
        if (p->got[i] != first->got[i]) {
            other->different++;
            other->different_numbers += !is_nan(p->got[i]) || !is_nan(first->got[i]);
        }
}

/* Whether calls of this shape do what those of the first did, whose sums `first` still has. Sums of
   another length have other bits: then their order, and what follows from the first, must agree. If
   nothing follows from it, no sums are compared, but all that is found is. */
static enum hc_status compare_shape(struct hc_probe *p, const struct hc_probe *first, int sums,
                                    const struct hc_fingerprint *f, struct hc_found_other *other)
{
    enum hc_status status = HC_OK;
    struct hc_findings_of_shape *found = &other->found;
    struct hc_model model;
    bool alike = p->shape.terms == f->main.shape.terms;
    other->compared = alike || predicts(f, &model);
    other->sums = sums;
    if (!alike)
        status = hc_find_structure(p, found);
    hc_probe_begin(p);
    hc_vectors_add(p, sums);
    if (status == HC_OK)
        status = hc_probe_run(p);
    if (status == HC_OK && alike)
        count_differences(p, first, other);
    else if (status == HC_OK && other->compared)
        other->different = other->different_numbers = hc_model_differences(p, &model, sums);
    bool order = alike || (found->order == f->main.order && found->piece == f->main.piece &&
                           found->c == f->main.c);
    other->same = order && other->different == 0;
    if (status == HC_OK && !(other->same && other->compared))
        status = find_all(p, found);
    if (status == HC_OK && !other->compared)
        other->same = hc_findings_equal(found, &f->main);
    found->trace = p->trace;
    return status;
}

static enum hc_status find_others(const struct hc_probe *first, struct hc_fingerprint *f)
{
    enum hc_status status = HC_OK;
    for (int i = 0; i < SHAPES && status == HC_OK; i++) {
        struct hc_probe p;
        struct hc_found_other *other = &f->other[f->other_count];
        int most = hc_structure_most_terms(first->format);
        other->shape = other_shapes[i].shape;
        other->shape.terms = other->shape.terms < most ? other->shape.terms : most;
        status = hc_probe_open(&p, first->backend, first->queue, first->format, other->shape);
        p.takes_c = first->takes_c;
        if (status == HC_OK)
            status = compare_shape(&p, first, other_shapes[i].sums, f, other);
        f->calls += p.calls;
        hc_probe_close(&p);
        if (status == HC_OK)
            f->other_count++;
        if (status == HC_UNSUPPORTED) /* a size that the kernel does not take */
            status = HC_OK;
    }
    return status;
}

enum hc_status hc_fingerprint(const struct hc_backend *backend, struct hc_queue *queue,
                              enum hc_format format, struct hc_fingerprint *f)
{
    struct hc_probe p;
    double start = hc_clock();
    *f = (struct hc_fingerprint){.format = format};
    enum hc_status status = hc_probe_open(&p, backend, queue, format, first_shape);
    if (status == HC_OK)
        status = find_first(&p, f);
    if (status == HC_INVALID) /* no format of gemm's contract */
        status = HC_UNSUPPORTED;
    f->calls = p.calls;
    if (status == HC_OK)
        status = find_others(&p, f);
    hc_probe_close(&p);
    f->seconds = hc_clock() - start;
    return status;
}
