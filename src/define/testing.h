/* What tests of definitions share: a definition with tensors of drawn numbers. */
#ifndef HC_DEFINE_TESTING_H
#define HC_DEFINE_TESTING_H

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>

#include "define/judge.h"
#include "define/value.h"

static inline struct hc_definition *defined(const char *text)
{
    struct hc_formula_error error;
    char shown[512];
    struct hc_definition *d = hc_definition_read(text, &error);
    if (!d)
        hc_formula_error_text(&error, shown, sizeof shown);
    cr_assert(d, "%s", shown);
    return d;
}

/* A number between -2 and 2, and not near 0, by its number. */
static inline double drawn(uint64_t i)
{
    i = (i + 1) * UINT64_C(0x9e3779b97f4a7c15);
    i ^= i >> 31;
    i *= UINT64_C(0xbf58476d1ce4e5b9);
    double x = ldexp((double)(i >> 34), -29) - 1;
    return x < 0 ? x - 0.25 : x + 0.25;
}

/* How long an axis is: as the one of that name in another instance, if there is one, or else 3 or
   4. */
static inline int64_t length_of(const struct hc_definition *d, int axis,
                                const struct hc_instance *like)
{
    int same = like ? hc_definition_axis(like->definition, d->axis[axis].name) : -1;
    return same >= 0 ? like->extent[same] : 3 + axis % 2;
}

/* Fills the inputs with drawn numbers in a format. `like` may be NULL. */
static inline struct hc_instance
drawn_instance(const struct hc_definition *d, enum hc_format format, const struct hc_instance *like)
{
    struct hc_instance in = {.definition = d, .io = format, .freedoms = hc_usual_freedoms};
    uint64_t number = 0;
    in.freedoms.compute = format == HC_FP64 ? HC_FP64 : HC_FP32;
    for (int i = 0; i < d->inputs; i++) {
        const struct hc_defined_tensor *t = &d->tensor[i];
        struct hc_tensor *x = &in.input[i];
        *x = (struct hc_tensor){.format = t->index ? HC_I32 : format, .rank = t->rank};
        for (int k = 0; k < t->rank; k++)
            x->shape[k] = length_of(d, t->axis[k], like);
        x->data = calloc((size_t)hc_tensor_count(x), 8);
        cr_assert_not_null(x->data);
        int64_t places = t->index_axis >= 0 ? length_of(d, t->index_axis, like) : 3;
        for (int64_t e = 0; e < hc_tensor_count(x); e++)
            hc_tensor_set(
                x, e, t->index ? (double)((number++ * 5 + 1) % (uint64_t)places) : drawn(number++));
    }
    cr_assert_eq(hc_instance_bind(&in), HC_OK, "%s", hc_message());
    return in;
}

static inline void free_inputs(struct hc_instance *in)
{
    for (int i = 0; i < in->definition->inputs; i++)
        free(in->input[i].data);
}

static inline struct hc_defined_value value_at(struct hc_evaluator *evaluator, int tensor,
                                               int64_t index)
{
    struct hc_defined_value value = {.rad = 0};
    cr_assert_eq(hc_evaluator_element(evaluator, tensor, index, &value), HC_OK, "%s", hc_message());
    return value;
}

/* Element 0 of the first result, for inputs of a format in their order: the inputs' axes are all n
   long. */
static inline struct hc_defined_element element_of(const char *text, enum hc_format io, int64_t n,
                                                   const double *x, const double *w)
{
    struct hc_definition *d = defined(text);
    struct hc_instance in = {.definition = d, .io = io, .freedoms = hc_usual_freedoms};
    struct hc_defined_element element = {.index = 0};
    for (int i = 0; i < d->inputs; i++) {
        in.input[i] = (struct hc_tensor){.format = io, .rank = 1, .shape = {n}};
        in.input[i].data = calloc((size_t)n, 8);
        for (int64_t k = 0; k < n; k++)
            hc_tensor_set(&in.input[i], k, (i ? w : x)[k]);
    }
    cr_assert_eq(hc_instance_bind(&in), HC_OK, "%s", hc_message());
    struct hc_evaluator *evaluator = hc_evaluator_new(&in);
    element.value = value_at(evaluator, d->result[0], 0);
    hc_evaluator_free(evaluator);
    free_inputs(&in);
    hc_definition_free(d);
    return element;
}

enum answer { RIGHT, WRONG, NOT_JUDGED };

static inline enum answer judged(struct hc_defined_element element, enum hc_format format,
                                 double got)
{
    bool single;
    element.got = got;
    hc_define_judge_element(format, HC_FP32, &element, &single);
    return isinf(element.bound) ? NOT_JUDGED : element.ratio > 1 ? WRONG : RIGHT;
}

#endif
