#include "define/judge.h"

#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include "formula/upward.h"

/* The result next to hi + lo - rad, or + rad: rounding does not decrease, so that the results of
   all numbers between lie between these two. */
static double end(enum hc_format format, const struct hc_defined_value *value, double sign)
{
    if (!isfinite(value->want.hi))
        return value->want.hi;
    if (value->rad == 0)
        return hc_decode(format, hc_encode(format, value->want.hi, value->want.lo, HC_NEAREST));
    double far = value->want.hi + sign * value->rad;
    double more = hc_up(fabs(value->want.lo) + fabs(far) * 0x1p-52);
    return hc_round(format, far + sign * more);
}

void hc_define_judge_element(enum hc_format format, enum hc_format compute,
                             struct hc_defined_element *element, bool *single)
{
    const struct hc_defined_value *value = &element->value;
    double want = value->want.hi;
    double got = element->got;
    *single = false;
    element->error = element->bound = element->ratio = 0;
    bool open = isnan(want) ? value->or_infinite && isinf(got) : value->nan && isnan(got);
    if (isinf(value->rad) || open) {
        element->bound = (double)INFINITY;
        return;
    }
    double below = end(format, value, -1);
    double above = end(format, value, 1);
    double size = fabs(want) + value->rad;
    double half = hc_format_tiny(format) / 2;
    bool right = isnan(want) ? isnan(got) : got >= below && got <= above;
    *single = isnan(want) || below == above;
    if (size > 0 && isfinite(size))
        half = fmax(half, ldexp(hc_format_unit(format), ilogb(size)));
    element->bound = hc_add_up(value->rad, half);
    if (format == compute && isfinite(want)) {
        /* What was computed is the result: the last operation's rounding is in the radius. One who
           computes in wide arithmetic rounds once. */
        double nearest = hc_decode(format, hc_encode(format, want, value->want.lo, HC_NEAREST));
        double once = nearest == want && value->want.lo == 0
                          ? 0
                          : hc_up(fabs(nearest - want - value->want.lo));
        double away = fabs(got - want - value->want.lo);
        right = got == nearest || away <= value->rad;
        *single = *single || value->rad <= once;
        element->bound = fmax(value->rad, once);
    }
    element->error = right && !isfinite(want) ? 0 : fabs(got - want - value->want.lo);
    if (isnan(element->error))
        element->error = (double)INFINITY;
    element->ratio = element->error == 0 ? 0 : element->error / element->bound;
    if (right)
        element->ratio = fmin(element->ratio, 1);
    else if (!(element->ratio > 1))
        element->ratio = nextafter(1, 2);
}

static int by_size(const void *a, const void *b)
{
    const double *x = a;
    const double *y = b;
    return (*x > *y) - (*x < *y);
}

/* The format in which a result is judged: that in which it comes, unless the text names one with
   numbers that this cannot hold. */
static enum hc_format judged_in(enum hc_format named, enum hc_format comes)
{
    if (named == HC_FORMAT_COUNT)
        return comes;
    const struct hc_format_info *want = &hc_formats[named];
    const struct hc_format_info *got = &hc_formats[comes];
    bool holds =
        got->precision >= want->precision && got->emin <= want->emin && got->emax >= want->emax;
    return holds ? comes : named;
}

/* The evaluators of one thread: of what may be, and of what is likely, where that is asked for. */
struct evaluators {
    struct hc_evaluator *bound;
    struct hc_evaluator *likely;
    struct hc_instance likely_instance;
};

static bool open_evaluators(struct evaluators *v, const struct hc_instance *instance)
{
    v->likely_instance = *instance;
    v->likely_instance.freedoms.probable = true;
    v->bound = hc_evaluator_new(instance);
    v->likely = NULL;
    return v->bound;
}

static void close_evaluators(struct evaluators *v)
{
    hc_evaluator_free(v->bound);
    hc_evaluator_free(v->likely);
}

/* A right element's error in units of the likely line; NaN where it is so small, beside what a
   result's own rounding or a thousandth of the radius comes to, that it need not be asked. */
static enum hc_status likely_excess(struct evaluators *v, int tensor, enum hc_format format,
                                    const struct hc_defined_element *element, double *excess)
{
    double once = element->bound - element->value.rad;
    bool small = element->error <= once || element->error <= element->value.rad * 0x1p-10;
    *excess = (double)NAN;
    if (small || element->ratio > 1 || isinf(element->bound))
        return HC_OK;
    struct hc_defined_element likely = *element;
    bool single;
    if (!v->likely && !(v->likely = hc_evaluator_new(&v->likely_instance)))
        return HC_NO_MEMORY;
    enum hc_status status = hc_evaluator_element(v->likely, tensor, element->index, &likely.value);
    if (status != HC_OK)
        return status;
    hc_define_judge_element(format, v->likely_instance.freedoms.compute, &likely, &single);
    *excess = isinf(likely.bound) ? (double)NAN : likely.ratio;
    return HC_OK;
}

struct share {
    struct hc_defined_output output;
    enum hc_status status;
    char message[256];
};

static void judge_share(const struct hc_instance *instance, int tensor, const struct hc_tensor *got,
                        int64_t judged, double *ratio, enum hc_format format, struct share *share)
{
    struct evaluators evaluators;
    int64_t elements = hc_tensor_count(got);
    share->status = open_evaluators(&evaluators, instance) ? HC_OK : HC_NO_MEMORY;
    share->output.excess = (double)NAN;
    share->output.worst.ratio = -1;
#pragma omp for schedule(static)
    for (int64_t i = 0; i < judged; i++) {
        struct hc_defined_element element = {.index = i};
        bool single;
        double excess;
        if (share->status != HC_OK)
            continue;
        if (judged < elements)
            element.index = (int64_t)((double)i * (double)(elements - 1) / (double)(judged - 1));
        share->status =
            hc_evaluator_element(evaluators.bound, tensor, element.index, &element.value);
        if (share->status != HC_OK)
            continue;
        element.got = hc_tensor_get(got, element.index);
        hc_define_judge_element(format, instance->freedoms.compute, &element, &single);
        share->status = likely_excess(&evaluators, tensor, format, &element, &excess);
        share->output.excess = fmax(share->output.excess, excess); /* passes over NaN */
        ratio[i] = element.ratio;
        share->output.wrong += element.ratio > 1;
        share->output.unbounded += isinf(element.bound);
        share->output.single += single;
        if (element.ratio > share->output.worst.ratio)
            share->output.worst = element;
    }
    if (share->status != HC_OK)
        (void)strncpy(share->message, hc_message(), sizeof share->message - 1);
    close_evaluators(&evaluators);
}

enum hc_status hc_define_judge(const struct hc_instance *instance, int tensor,
                               const struct hc_tensor *got, bool all,
                               struct hc_defined_output *output)
{
    struct hc_tensor want = hc_instance_tensor(instance, tensor);
    const char *name = instance->definition->tensor[tensor].name;
    int64_t elements = hc_tensor_count(got);
    bool fits = want.rank == got->rank || (want.rank == 0 && elements == 1);
    for (int i = 0; fits && i < want.rank; i++)
        fits = want.shape[i] == got->shape[i];
    if (!fits)
        return hc_fail(HC_INVALID, "%s: %s has another shape than the definition gives it",
                       instance->definition->name, name);
    int64_t judged = all || elements < HC_DEFINED_SAMPLE ? elements : HC_DEFINED_SAMPLE;
    double *ratio = malloc((size_t)(judged ? judged : 1) * sizeof *ratio);
    enum hc_status status = HC_OK;
    enum hc_format format = judged_in(instance->definition->tensor[tensor].format, got->format);
    *output = (struct hc_defined_output){.format = format, .elements = elements, .judged = judged};
    output->worst.ratio = -1;
    output->excess = (double)NAN;
    if (!ratio)
        return hc_fail(HC_NO_MEMORY, "no memory to judge %s", name);
#pragma omp parallel
    {
        struct share share = {.status = HC_OK};
        judge_share(instance, tensor, got, judged, ratio, format, &share);
#pragma omp critical
        {
            if (share.status != HC_OK && status == HC_OK)
                status = hc_fail(share.status, "%s", share.message);
            output->wrong += share.output.wrong;
            output->unbounded += share.output.unbounded;
            output->excess = fmax(output->excess, share.output.excess);
            output->single += share.output.single;
            bool same = share.output.worst.ratio == output->worst.ratio;
            if (share.output.worst.ratio > output->worst.ratio ||
                (same && share.output.worst.index < output->worst.index))
                output->worst = share.output.worst;
        }
        hc_reference_end();
    }
    if (status == HC_OK && judged > 0) {
        qsort(ratio, (size_t)judged, sizeof *ratio, by_size);
        output->median = ratio[judged / 2];
    }
    free(ratio);
    return status;
}
