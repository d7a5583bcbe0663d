#include "check/generate/size_layout.h"

#include <assert.h>
#include <string.h>

#include "op/descriptor.h"

/* Kinds of axes: what stands along it in every tensor of the call. Rows are the rows of a product,
   the images of a batch, the elements of a vector; columns are its columns, filters, channels.
   Terms are summed over, or reach into each other, and stay as they are. */
enum kind { TERMS, ROWS, COLUMNS, STEPS };

/* How many different ones there are: primes, so that no block of a kernel is a multiple of them. */
enum {
    PRODUCT_ROWS = 13,
    PRODUCT_COLUMNS = 11,
    IMAGES = 2,
    FILTERS = 5,
    NORM_ROWS = 5,
    NORM_CHANNELS = 3,
    VECTOR = 1021,
    LOSS_ROWS = 3,
    LOSS_CLASSES = HC_SIZE_ALONE + 5,
    MATRIX_ROWS = 5,
    MATRIX_BLOCKS = 3
};

static int64_t at_most(int64_t n, int64_t extent)
{
    return n < extent ? n : extent;
}

/* The columns of a block of quantize or dequantize, which have one scale. */
static int64_t block_columns(enum hc_op op, const union hc_params *p)
{
    return op == HC_OP_quantize ? p->quantize.columns : p->dequantize.columns;
}

struct hc_op_shape hc_size_small(enum hc_op op, const struct hc_variant *variant,
                                 const struct hc_op_shape *large)
{
    struct hc_op_shape s = *large;
    const int64_t *d = large->d;
    switch (hc_ops[op].class_) {
    case HC_CLASS_GEMM:
        s.d[0] = at_most(PRODUCT_ROWS, d[0]);
        s.d[1] = at_most(PRODUCT_COLUMNS, d[1]);
        break;
    case HC_CLASS_CONV:
        if (op == HC_OP_conv2d_bwd_filter) {
            s.d[3] = at_most(FILTERS, d[3]);
            s.d[4] = at_most(FILTERS, d[4]);
            break;
        }
        s.d[0] = at_most(IMAGES, d[0]);
        s.d[op == HC_OP_conv2d ? 4 : 3] = at_most(FILTERS, d[op == HC_OP_conv2d ? 4 : 3]);
        break;
    case HC_CLASS_POOL:
        s.d[0] = at_most(IMAGES, d[0]);
        s.d[3] = at_most(FILTERS, d[3]);
        break;
    case HC_CLASS_NORM:
        s.d[0] = at_most(NORM_ROWS, d[0] * d[1] * d[2]);
        s.d[1] = s.d[2] = 1;
        s.d[3] = at_most(NORM_CHANNELS, d[3]);
        break;
    case HC_CLASS_LOSS:
        s.d[0] = at_most(LOSS_ROWS, d[0]);
        s.d[1] = at_most(LOSS_CLASSES, d[1]);
        break;
    case HC_CLASS_COLLECTIVE:
        s.d[1] = at_most(VECTOR, d[1]);
        break;
    case HC_CLASS_QUANT:
        if (op == HC_OP_im2col || op == HC_OP_col2im) {
            s.d[0] = at_most(IMAGES, d[0]);
            s.d[3] = at_most(FILTERS, d[3]);
        } else if (op == HC_OP_stochastic_cast) {
            s.d[0] = at_most(VECTOR, d[0]);
        } else {
            s.d[0] = at_most(MATRIX_ROWS, d[0]);
            s.d[1] = at_most(MATRIX_BLOCKS * block_columns(op, &variant->params), d[1]);
        }
        break;
    default:
        s.d[0] = at_most(VECTOR, d[0]);
    }
    return s;
}

/* Adds an axis to the slot's layout. */
static void add(struct hc_layout *l, int kind, int64_t small, int64_t large, int64_t step,
                int64_t alone)
{
    assert(l->count < HC_AXES && small <= large && (kind || small == large));
    l->axis[l->count++] = (struct hc_axis){small, large, step, alone, kind};
}

/* The extents of a tensor, by their kinds. */
static void plain(struct hc_layout *l, const struct hc_tensor *small, const struct hc_tensor *large,
                  const int *kinds)
{
    for (int a = 0; a < large->rank; a++)
        add(l, kinds[a], small->shape[a], large->shape[a], 1, 0);
}

typedef void layout(const struct hc_call *call, int slot, const struct hc_tensor *small,
                    const struct hc_tensor *large, struct hc_layout *to);

static void of_gemm(const struct hc_call *call, int slot, const struct hc_tensor *small,
                    const struct hc_tensor *large, struct hc_layout *to)
{
    const struct hc_gemm *p = &call->params.gemm;
    int a[] = {ROWS, TERMS};
    int b[] = {TERMS, COLUMNS};
    int c[] = {ROWS, COLUMNS};
    if (p->transpose_a)
        a[0] = TERMS, a[1] = ROWS;
    if (p->transpose_b)
        b[0] = COLUMNS, b[1] = TERMS;
    bool row = slot == HC_GEMM_C && large->rank == 1;
    plain(to, small, large, slot == HC_GEMM_A ? a : slot == HC_GEMM_B ? b : row ? &c[1] : c);
}

/* Blocks are of one row or of all rows; scales of all rows have one row themselves. */
static void of_gemm_q(const struct hc_call *call, int slot, const struct hc_tensor *small,
                      const struct hc_tensor *large, struct hc_layout *to)
{
    static const int kinds[][2] = {
        [HC_GEMM_Q_A] = {ROWS, TERMS},           [HC_GEMM_Q_B] = {COLUMNS, TERMS},
        [HC_GEMM_Q_C] = {ROWS, COLUMNS},         [HC_GEMM_Q_A_SCALES] = {ROWS, TERMS},
        [HC_GEMM_Q_B_SCALES] = {COLUMNS, TERMS}, [HC_GEMM_Q_A_TENSOR] = {TERMS, TERMS},
        [HC_GEMM_Q_B_TENSOR] = {TERMS, TERMS},
    };
    bool out = slot >= hc_ops[call->op].inputs;
    plain(to, small, large, kinds[out ? HC_GEMM_Q_C : slot]);
}

static void of_conv(const struct hc_call *call, int slot, const struct hc_tensor *small,
                    const struct hc_tensor *large, struct hc_layout *to)
{
    static const int kinds[][3][4] = {
        {{ROWS}, {COLUMNS}, {ROWS, TERMS, TERMS, COLUMNS}},                      /* x w y */
        {{ROWS}, {TERMS, TERMS, TERMS, COLUMNS}, {ROWS, TERMS, TERMS, COLUMNS}}, /* dy w dx */
        {{TERMS, TERMS, TERMS, COLUMNS},
         {TERMS, TERMS, TERMS, ROWS},
         {ROWS, TERMS, TERMS, COLUMNS}}, /* x dy dw */
    };
    plain(to, small, large, kinds[call->op - HC_OP_conv2d][slot]);
}

static void of_images(const struct hc_call *call, int slot, const struct hc_tensor *small,
                      const struct hc_tensor *large, struct hc_layout *to)
{
    static const int kinds[] = {ROWS, TERMS, TERMS, COLUMNS};
    (void)call;
    (void)slot;
    plain(to, small, large, kinds);
}

/* A row of the matrix is a pixel of an image, a column a tap of the filter and a channel. */
static void of_columns(const struct hc_call *call, int slot, const struct hc_tensor *small,
                       const struct hc_tensor *large, struct hc_layout *to)
{
    bool back = call->op == HC_OP_col2im;
    const struct hc_tensor *x = back ? &call->out[HC_FIRST] : &call->in[HC_FIRST];
    int64_t r = call->params.columns.kernel;
    int64_t taps = r * r;
    if (large->rank == 4) {
        of_images(call, slot, small, large, to);
        return;
    }
    int64_t images = x->shape[0];
    int64_t channels = large->shape[1] / taps;
    int64_t pixels = large->shape[0] / images;
    add(to, ROWS, small->shape[0] / pixels, images, 1, 0);
    add(to, TERMS, pixels, pixels, 1, 0);
    add(to, TERMS, taps, taps, 1, 0);
    add(to, COLUMNS, small->shape[1] / taps, channels, 1, 0);
}

static void of_norm(const struct hc_call *call, int slot, const struct hc_tensor *small,
                    const struct hc_tensor *large, struct hc_layout *to)
{
    int last = large->rank - 1;
    (void)call;
    (void)slot;
    if (last == 3)
        add(to, ROWS, small->shape[0] * small->shape[1] * small->shape[2],
            large->shape[0] * large->shape[1] * large->shape[2], 1, 0);
    add(to, COLUMNS, small->shape[last], large->shape[last], 1, 0);
}

static void of_loss(const struct hc_call *call, int slot, const struct hc_tensor *small,
                    const struct hc_tensor *large, struct hc_layout *to)
{
    (void)call;
    (void)slot;
    bool rows = large->rank == 2 || large->format == HC_I32;
    add(to, rows ? ROWS : TERMS, small->shape[0], large->shape[0], 1, 0);
    if (large->rank == 2)
        add(to, COLUMNS, small->shape[1], large->shape[1], 1, HC_SIZE_ALONE);
}

static void of_average(const struct hc_call *call, int slot, const struct hc_tensor *small,
                       const struct hc_tensor *large, struct hc_layout *to)
{
    static const int kinds[] = {TERMS, ROWS};
    (void)call;
    (void)slot;
    plain(to, small, large, large->rank == 2 ? kinds : &kinds[1]);
}

/* Elements of codes stay together in blocks; a scale is one of a block. */
static void of_codes(const struct hc_call *call, int slot, const struct hc_tensor *small,
                     const struct hc_tensor *large, struct hc_layout *to)
{
    (void)slot;
    const struct hc_tensor *all = &call->in[HC_FIRST];
    if (large->rank == 1) {
        add(to, TERMS, small->shape[0], large->shape[0], 1, 0);
        return;
    }
    bool scales = large->shape[1] < all->shape[1];
    int64_t step = scales ? 1 : block_columns(call->op, &call->params);
    add(to, ROWS, small->shape[0], large->shape[0], 1, 0);
    add(to, COLUMNS, small->shape[1], large->shape[1], step, 0);
}

/* Tensors of as many elements as the first one, beside scalars. */
static void of_vector(const struct hc_call *call, int slot, const struct hc_tensor *small,
                      const struct hc_tensor *large, struct hc_layout *to)
{
    bool each = slot == HC_FIRST || hc_slot(call->op, slot)->size == HC_SIZE_FIRST;
    add(to, each ? ROWS : TERMS, small->shape[0], large->shape[0], 1, 0);
}

static layout *layout_of(enum hc_op op)
{
    static layout *const by_class[] = {
        [HC_CLASS_ELEMENTWISE] = of_vector, [HC_CLASS_REDUCTION] = of_vector,
        [HC_CLASS_GEMM] = of_gemm,          [HC_CLASS_CONV] = of_conv,
        [HC_CLASS_NORM] = of_norm,          [HC_CLASS_POOL] = of_images,
        [HC_CLASS_LOSS] = of_loss,          [HC_CLASS_OPTIMIZER] = of_vector,
        [HC_CLASS_CONTROL] = of_vector,     [HC_CLASS_COLLECTIVE] = of_average,
        [HC_CLASS_QUANT] = of_codes,
    };
    if (op == HC_OP_gemm_q)
        return of_gemm_q;
    if (op == HC_OP_im2col || op == HC_OP_col2im)
        return of_columns;
    return op == HC_OP_stochastic_cast ? of_vector : by_class[hc_ops[op].class_];
}

void hc_size_layout(const struct hc_call *small, const struct hc_call *large,
                    struct hc_repeats *repeats)
{
    layout *of = layout_of(large->op);
    memset(repeats->slot, 0, sizeof repeats->slot);
    for (int s = 0; s < hc_slot_count(large->op); s++)
        if (!hc_op_absent(large, s))
            of(large, s, hc_slot_tensor_const(small, s), hc_slot_tensor_const(large, s),
               &repeats->slot[s]);
}
