#include "check/family/kit.h"

#include <assert.h>
#include <string.h>

#include "check/generate/draw.h"

const struct hc_format_set hc_sets_none[] = {{.name = NULL}};

const struct hc_format_set hc_sets_fp32[] = {
    {"fp32", HC_FP32, HC_FP32, HC_FP32, HC_FP32},
    {.name = NULL},
};

const struct hc_format_set hc_sets_mixed[] = {
    {"fp32", HC_FP32, HC_FP32, HC_FP32, HC_FP32},
    {"fp64", HC_FP64, HC_FP64, HC_FP64, HC_FP64},
    {"fp16", HC_FP16, HC_FP16, HC_FP32, HC_FP32},
    {"bf16", HC_BF16, HC_BF16, HC_FP32, HC_FP32},
    {"fp16-fp32", HC_FP16, HC_FP32, HC_FP32, HC_FP32},
    {"bf16-fp32", HC_BF16, HC_FP32, HC_FP32, HC_FP32},
    {"fp32-fp16", HC_FP32, HC_FP16, HC_FP32, HC_FP32},
    {"fp32-bf16", HC_FP32, HC_BF16, HC_FP32, HC_FP32},
    {.name = NULL},
};

const struct hc_format_set hc_sets_multiplied[] = {
    {"fp32", HC_FP32, HC_FP32, HC_FP32, HC_FP32},
    {"fp64", HC_FP64, HC_FP64, HC_FP64, HC_FP64},
    {"fp16", HC_FP16, HC_FP16, HC_FP32, HC_FP32},
    {"bf16", HC_BF16, HC_BF16, HC_FP32, HC_FP32},
    {"fp16-fp32", HC_FP16, HC_FP32, HC_FP32, HC_FP32},
    {"bf16-fp32", HC_BF16, HC_FP32, HC_FP32, HC_FP32},
    {"fp32-fp16", HC_FP32, HC_FP16, HC_FP32, HC_FP32},
    {"fp32-bf16", HC_FP32, HC_BF16, HC_FP32, HC_FP32},
    {"fp32-as-tf32", HC_FP32, HC_FP32, HC_FP32, HC_TF32},
    {"fp16-in-fp16", HC_FP16, HC_FP16, HC_FP32, HC_FP16},
    {"fp16-in-fp16-fp32", HC_FP16, HC_FP32, HC_FP32, HC_FP16},
    {"e4m3-fp32", HC_E4M3, HC_FP32, HC_E4M3, HC_FP32},
    {"e4m3xe5m2-fp32", HC_E4M3, HC_FP32, HC_E5M2, HC_FP32},
    {"e5m2xe4m3-fp32", HC_E5M2, HC_FP32, HC_E4M3, HC_FP32},
    {"e5m2-fp32", HC_E5M2, HC_FP32, HC_E5M2, HC_FP32},
    {"e4m3-bf16", HC_E4M3, HC_BF16, HC_E4M3, HC_FP32},
    {"e4m3fnuz-fp32", HC_E4M3FNUZ, HC_FP32, HC_E4M3FNUZ, HC_FP32},
    {"e5m2fnuz-bf16", HC_E5M2FNUZ, HC_BF16, HC_E5M2FNUZ, HC_FP32},
    {"e4m3fnuzxe5m2fnuz-fp32", HC_E4M3FNUZ, HC_FP32, HC_E5M2FNUZ, HC_FP32},
    {.name = NULL},
};

const struct hc_format_set hc_sets_stateful[] = {
    {"fp32", HC_FP32, HC_FP32, HC_FP32, HC_FP32},
    {"fp64", HC_FP64, HC_FP64, HC_FP64, HC_FP64},
    {"fp16", HC_FP16, HC_FP16, HC_FP32, HC_FP32},
    {"bf16", HC_BF16, HC_BF16, HC_FP32, HC_FP32},
    {"fp16-state-fp16", HC_FP16, HC_FP16, HC_FP16, HC_FP32},
    {"bf16-state-bf16", HC_BF16, HC_BF16, HC_BF16, HC_FP32},
    {"fp16-in-fp16", HC_FP16, HC_FP16, HC_FP16, HC_FP16},
    {"bf16-in-bf16", HC_BF16, HC_BF16, HC_BF16, HC_BF16},
    {.name = NULL},
};

const struct hc_op_shape hc_shapes_vectors[] = {
    {"257", HC_QUICK, true, false, {257}},
    {"0", HC_STANDARD, false, false, {0}},
    {"1", HC_STANDARD, false, false, {1}},
    {"33", HC_STANDARD, false, false, {33}},
    {"130-in-place", HC_STANDARD, false, true, {130}},
    {"4099", HC_EXHAUSTIVE, true, false, {4099}},
    {.name = NULL},
};

const struct hc_op_shape hc_shapes_sums[] = {
    {"257", HC_QUICK, true, false, {257}},
    {"0", HC_STANDARD, false, false, {0}},
    {"1", HC_STANDARD, false, false, {1}},
    {"33-in-place", HC_STANDARD, false, true, {33}},
    {"40", HC_STANDARD, true, false, {40}},
    {"4099", HC_STANDARD, false, false, {4099}},
    {"100003", HC_EXHAUSTIVE, true, false, {100003}},
    {.name = NULL},
};

const struct hc_variant hc_variants_plain[] = {{.name = ""}, {.name = NULL}};

const struct hc_variant hc_variants_bare[] = {
    {.name = ""},
    {.name = "-bare", .bare = true},
    {.name = NULL},
};

const struct hc_family_extent hc_extents_vector[] = {{HC_EXTENT_VECTOR, HC_NEVER_ALONE, false},
                                                     {HC_EXTENT_COUNT, 0, false}};

struct hc_tensor hc_rank4(int64_t n, int64_t h, int64_t w, int64_t c)
{
    return hc_tensor4(HC_FP32, n, h, w, c, NULL);
}

struct hc_tensor hc_rank2(int64_t rows, int64_t columns, bool transposed)
{
    return transposed ? hc_tensor2(HC_FP32, columns, rows, NULL)
                      : hc_tensor2(HC_FP32, rows, columns, NULL);
}

void hc_exponents_of_squares(const struct hc_draw_site *p, double *low, double *high)
{
    const struct hc_format_info *f = &hc_formats[hc_op_narrow(p->call, p->format)];
    *low = f->emin < -30 ? -30 : -14;
    *high = f->emax > 30 ? 30 : 6;
}

void hc_shape_set(int64_t *d, const int64_t to[8])
{
    memcpy(d, to, 8 * sizeof *d);
}

int64_t hc_at_most(int64_t n, int64_t extent)
{
    return n < extent ? n : extent;
}

int64_t hc_small_vector(int64_t n)
{
    enum { LONG = 1 << 18, OF_LONG = 1021, OF_SHORT = 251 };
    return hc_at_most(n < LONG ? OF_SHORT : OF_LONG, n);
}

void hc_axes_add(struct hc_axes *l, enum hc_axis_kind kind, int64_t small, int64_t large,
                 int64_t step, int64_t alone)
{
    assert(l->count < HC_AXES && small <= large && (kind || small == large));
    l->axis[l->count++] = (struct hc_axis){small, large, step, alone, kind};
}

void hc_axes_plain(struct hc_axes *l, const struct hc_tensor *small, const struct hc_tensor *large,
                   const enum hc_axis_kind *kinds)
{
    for (int a = 0; a < large->rank; a++)
        hc_axes_add(l, kinds[a], small->shape[a], large->shape[a], 1, 0);
}

void hc_layout_images(const struct hc_call *call, int slot, const struct hc_tensor *small,
                      const struct hc_tensor *large, struct hc_axes *to)
{
    static const enum hc_axis_kind kinds[] = {HC_AXIS_ROWS, HC_AXIS_TERMS, HC_AXIS_TERMS,
                                              HC_AXIS_COLUMNS};
    (void)call;
    (void)slot;
    hc_axes_plain(to, small, large, kinds);
}
