#include "check/generate/border_points.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "check/generate/allpairs.h"
#include "check/bound/bound.h"
#include "check/generate/integers.h"

/* The other extents are small, odd and unlike each other. Filters, strides and pads take turns. */
static struct hc_op_shape shape_of(const struct hc_border_row *row, int64_t size, int number)
{
    static const int64_t filters[][3] = {{3, 1, 1}, {3, 2, 1}, {1, 1, 0}, {5, 2, 2}, {2, 3, 0}};
    const int64_t *f = filters[number % 5];
    bool back = row->op == HC_OP_avg_pool_bwd;
    int64_t window = 2 + number % 2;
    int64_t area = window * window;
    switch (row->extent) {
    case HC_EXTENT_GEMM_M:
        return (struct hc_op_shape){.d = {size, 5, 7}};
    case HC_EXTENT_GEMM_N:
        return (struct hc_op_shape){.d = {3, size, 9}};
    case HC_EXTENT_GEMM_K:
        return (struct hc_op_shape){.d = {3, 5, size}};
    case HC_EXTENT_CONV_IMAGES:
        return (struct hc_op_shape){.d = {size, 5, 7, 2, 3, f[0], f[1], f[2]}};
    case HC_EXTENT_CONV_CHANNELS:
        return (struct hc_op_shape){.d = {2, 5, 6, size, 3, f[0], f[1], f[2]}};
    case HC_EXTENT_CONV_FILTERS:
        return (struct hc_op_shape){.d = {2, 6, 5, 3, size, f[0], f[1], f[2]}};
    case HC_EXTENT_CONV_PIXELS:
        return (struct hc_op_shape){.d = {3, 1, size, 2, 3, 3, 1, 1}};
    case HC_EXTENT_CONV_IMAGE: /* more images than a run has that is cut by their size */
        return (struct hc_op_shape){.d = {size < 8192 ? 35 : 11, 1, size, 1, 1, 3, 1, 1}};
    case HC_EXTENT_CONV_WEIGHTS:
        return (struct hc_op_shape){.d = {2, 3, 3, 17, (size + 67) / 68, 2, 1, 0}};
    case HC_EXTENT_NORM_CHANNELS:
        return (struct hc_op_shape){.d = {2, 3, 2, size}};
    case HC_EXTENT_NORM_ELEMENTS:
        return (struct hc_op_shape){.d = {size, 1, 1, 1}};
    case HC_EXTENT_POOL_CHANNELS:
        return (struct hc_op_shape){.d = {2, 2 * window, window, size, window}};
    case HC_EXTENT_POOL_ELEMENTS:
        return (struct hc_op_shape){
            .d = {back ? (size + area - 1) / area : size, window, window, 1, window}};
    case HC_EXTENT_LOSS_ROWS:
        return (struct hc_op_shape){.d = {size, 3}};
    case HC_EXTENT_LOSS_CLASSES:
        return (struct hc_op_shape){.d = {70, size}};
    default:
        if (row->op == HC_OP_all_reduce) /* a power of two of ranks and others take turns */
            return (struct hc_op_shape){.d = {3 + number % 4, size}};
        return (struct hc_op_shape){.d = {size}};
    }
}

/* The same with 1 for every other extent: kernels have ways of their own for vectors, and a row
   may be lost there. False where an op has no such call. */
static bool lone_of(const struct hc_border_row *row, int64_t size, struct hc_op_shape *shape)
{
    static const int at[HC_EXTENT_COUNT] = {
        [HC_EXTENT_GEMM_M] = 0,       [HC_EXTENT_GEMM_N] = 1,      [HC_EXTENT_GEMM_K] = 2,
        [HC_EXTENT_CONV_IMAGES] = 0,  [HC_EXTENT_CONV_PIXELS] = 2, [HC_EXTENT_CONV_CHANNELS] = 3,
        [HC_EXTENT_CONV_FILTERS] = 4, [HC_EXTENT_LOSS_ROWS] = 0,   [HC_EXTENT_LOSS_CLASSES] = 1,
    };
    static const struct hc_op_shape ones = {.d = {1, 1, 1, 1, 1, 1, 1, 0}};
    bool has = row->extent == HC_EXTENT_GEMM_M || row->extent == HC_EXTENT_LOSS_ROWS ||
               row->extent == HC_EXTENT_CONV_IMAGES || at[row->extent] > 0;
    *shape = ones;
    shape->d[at[row->extent]] = size;
    return has;
}

/* What has no extent is chosen by the size alone, whatever other sizes there are (Knuth's
   multiplicative hash, so that neighbours and 2 b + 7 differ in all choices). */
static int number_of(int64_t size)
{
    return (int)((uint32_t)size * 2654435761u >> 20);
}

struct hc_call hc_border_call(const struct hc_border_row *row, const struct hc_border_point *point)
{
    struct hc_variant variant = hc_integers_variant(row->op, point->number);
    struct hc_call call = hc_op_call(row->op, row->set, &point->shape, &variant);
    if (row->op == HC_OP_adam || row->op == HC_OP_adamw)
        call.params.adam.eps = 0;
    return call;
}

/* What a call costs: elements, or products. */
static int64_t work_of(const struct hc_call *call)
{
    int64_t in = hc_tensor_count(&call->in[HC_FIRST]);
    int64_t out = hc_tensor_count(&call->out[HC_FIRST]);
    return (int64_t)fmax((double)(in > out ? in : out), (double)out * hc_call_length(call));
}

/* Below level exhaustive only the first set of formats goes to the large sizes, and there only to
   the one just past the border; the other sets go there only in middling sizes. */
static bool is_wanted(const struct hc_border_row *row, const struct hc_border_point *point,
                      enum hc_level level)
{
    enum { MIDDLING = 1 << 12, LARGE = 40000 };
    struct hc_call call = hc_border_call(row, point);
    int64_t work = work_of(&call);
    bool past = point->size == point->border + 1;
    return level == HC_EXHAUSTIVE || work <= (row->plain ? LARGE : MIDDLING) ||
           (past && (row->plain || work <= LARGE));
}

static int border_points(const struct hc_border_row *row, enum hc_level level,
                         const struct hc_backend *const *backends, int count,
                         struct hc_border_point *points)
{
    struct hc_border_size sizes[HC_BORDER_SIZES];
    int n = hc_border_sizes(backends, count, row->extent, sizes);
    int turns = row->op == HC_OP_gemm ? 2 : 1; /* with a factor as it is, and transposed */
    int kept = 0;
    struct hc_border_point least = {0};
    for (int i = 0; i < n * turns; i++) {
        int64_t size = sizes[i / turns].size;
        int number = number_of(size) + i % turns;
        struct hc_border_point p = {shape_of(row, size, number), number, size,
                                    sizes[i / turns].border, ""};
        (void)snprintf(p.text, sizeof p.text, "%s %" PRId64, hc_extent_names[row->extent], size);
        if (is_wanted(row, &p, level))
            points[kept++] = p;
        if (least.size == 0 && size == p.border + 1)
            least = p;
        if (!lone_of(row, size, &p.shape))
            continue;
        (void)snprintf(p.text, sizeof p.text, "%s %" PRId64 " alone", hc_extent_names[row->extent],
                       size);
        if (is_wanted(row, &p, level))
            points[kept++] = p;
    }
    if (kept == 0)
        points[kept++] = least; /* something there is in every case */
    return kept;
}

/* Choices for the extents of op_space.h, and, last, for what has no extent. */
struct choices {
    struct {
        int count;
        int64_t value[HC_PAIR_LEVELS];
    } of[HC_PAIR_FACTORS];
};

enum { NUMBER = HC_PAIR_FACTORS - 1 };

static const struct choices choices[] = {
    [HC_CLASS_GEMM] = {{{4, {1, 7, 16, 65}},
                        {4, {1, 9, 16, 33}},
                        {4, {1, 8, 17, 64}},
                        [NUMBER] = {12, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}}}},
    [HC_CLASS_CONV] = {{{2, {1, 3}},
                        {2, {5, 8}},
                        {2, {6, 9}},
                        {4, {1, 3, 8, 17}},
                        {4, {1, 4, 16, 19}},
                        {4, {1, 2, 3, 5}},
                        {3, {1, 2, 3}},
                        {3, {0, 1, 2}}}},
    [HC_CLASS_NORM] = {{{2, {1, 3}}, {2, {3, 4}}, {2, {3, 5}}, {6, {1, 3, 4, 16, 64, 65}}}},
    [HC_CLASS_POOL] =
        {{{2, {1, 3}}, {2, {1, 4}}, {2, {1, 3}}, {4, {1, 5, 16, 33}}, {4, {1, 2, 3, 4}}}},
    [HC_CLASS_LOSS] = {{{4, {1, 6, 65, 130}}, {5, {1, 3, 10, 129, 257}}, [NUMBER] = {2, {0, 1}}}},
    [HC_CLASS_CONTROL] = {{{0}}},
    [HC_CLASS_COLLECTIVE] = {{{0}}},
    [HC_CLASS_QUANT] = {{{0}}},
};

bool hc_border_meets(enum hc_op op)
{
    return choices[hc_ops[op].class_].of[0].count > 0;
}

static int pair_points(const struct hc_border_row *row, struct hc_border_point *points)
{
    const struct choices *c = &choices[hc_ops[row->op].class_];
    int rows[HC_PAIR_ROWS][HC_PAIR_FACTORS];
    int levels[HC_PAIR_FACTORS];
    for (int f = 0; f < HC_PAIR_FACTORS; f++)
        levels[f] = c->of[f].count ? c->of[f].count : 1;
    int n = hc_all_pairs(levels, HC_PAIR_FACTORS, rows);
    for (int i = 0; i < n; i++) {
        struct hc_border_point *p = &points[i];
        size_t at = 0;
        *p = (struct hc_border_point){.number = (int)c->of[NUMBER].value[rows[i][NUMBER]]};
        for (int f = 0; f < NUMBER; f++)
            p->shape.d[f] = c->of[f].value[rows[i][f]];
        for (int f = 0; f < NUMBER && c->of[f].count && at < sizeof p->text; f++)
            at += (size_t)snprintf(p->text + at, sizeof p->text - at, "%s%" PRId64, f ? "x" : "",
                                   p->shape.d[f]);
        bool pools = hc_ops[row->op].class_ == HC_CLASS_POOL; /* extents are whole windows */
        for (int f = 1; f < 3 && pools; f++)
            p->shape.d[f] *= p->shape.d[4];
    }
    return n;
}

/* The extents of a product or of a convolution that kernels cut into tiles: which of the shape's
   numbers each is. */
struct tiled {
    enum hc_extent extent;
    int at;
};

static const struct tiled tiled_gemm[] = {
    {HC_EXTENT_GEMM_M, 0}, {HC_EXTENT_GEMM_N, 1}, {HC_EXTENT_GEMM_K, 2}};
static const struct tiled tiled_conv[] = {
    {HC_EXTENT_CONV_IMAGES, 0}, {HC_EXTENT_CONV_CHANNELS, 3}, {HC_EXTENT_CONV_FILTERS, 4}};

enum { TILED = 3 };

/* Multiples of the borders in all of these extents at once: one of each list meets one of each
   other list, by turns, as one border, two, or two and one more or less. What would cost too much
   takes smaller ones. */
static int tile_points(const struct hc_border_row *row, const struct hc_backend *const *backends,
                       int count, struct hc_border_point *points)
{
    enum { MOST = 1 << 22, TURNS = 12 };
    bool gemm = hc_ops[row->op].class_ == HC_CLASS_GEMM;
    const struct tiled *tiled = gemm ? tiled_gemm : tiled_conv;
    struct hc_border_size sizes[TILED][HC_BORDER_SIZES];
    int n[TILED];
    int kept = 0;
    if (!gemm && hc_ops[row->op].class_ != HC_CLASS_CONV)
        return 0;
    for (int e = 0; e < TILED; e++)
        n[e] = hc_border_sizes(backends, count, tiled[e].extent, sizes[e]);
    for (int turn = 0; turn < TURNS; turn++) {
        struct hc_border_point p = {.number = turn};
        struct hc_op_shape shape = {.d = {1, 5, 6, 1, 1, 3, 1, 1}};
        int back[TILED] = {0};
        p.shape = shape;
        for (int tries = 0; tries < 3 * HC_BORDER_SIZES; tries++) {
            for (int e = 0; e < TILED; e++) {
                int i = n[e] - 1 - (turn * (e + 1) + back[e]) % n[e];
                p.shape.d[tiled[e].at] = sizes[e][i].size;
            }
            struct hc_call call = hc_border_call(row, &p);
            if (work_of(&call) <= MOST)
                break;
            back[tries % TILED]++;
        }
        (void)snprintf(p.text, sizeof p.text, "tiles %" PRId64 "x%" PRId64 "x%" PRId64,
                       p.shape.d[tiled[0].at], p.shape.d[tiled[1].at], p.shape.d[tiled[2].at]);
        points[kept++] = p;
    }
    return kept;
}

int hc_border_points(const struct hc_border_row *row, enum hc_level level,
                     const struct hc_backend *const *backends, int count,
                     struct hc_border_point points[HC_BORDER_POINTS])
{
    if (row->extent == HC_EXTENT_COUNT) {
        int pairs = pair_points(row, points);
        return pairs + (row->plain ? tile_points(row, backends, count, points + pairs) : 0);
    }
    return border_points(row, level, backends, count, points);
}
