/* Sizes at borders, and the calls that have them. */
#include "check/generate/border.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "check/family/family.h"
#include "check/generate/allpairs.h"
#include "check/generate/integers.h"

const char *const hc_extent_names[HC_EXTENT_COUNT] = {
    [HC_EXTENT_VECTOR] = "elements",
    [HC_EXTENT_TERMS] = "terms",
    [HC_EXTENT_GEMM_M] = "m",
    [HC_EXTENT_GEMM_N] = "n",
    [HC_EXTENT_GEMM_K] = "k",
    [HC_EXTENT_CONV_IMAGES] = "images",
    [HC_EXTENT_CONV_CHANNELS] = "channels",
    [HC_EXTENT_CONV_FILTERS] = "filters",
    [HC_EXTENT_CONV_PIXELS] = "pixels",
    [HC_EXTENT_CONV_IMAGE] = "image",
    [HC_EXTENT_CONV_WEIGHTS] = "weights",
    [HC_EXTENT_NORM_CHANNELS] = "channels",
    [HC_EXTENT_NORM_ELEMENTS] = "elements",
    [HC_EXTENT_POOL_CHANNELS] = "channels",
    [HC_EXTENT_POOL_ELEMENTS] = "elements",
    [HC_EXTENT_LOSS_ROWS] = "rows",
    [HC_EXTENT_LOSS_CLASSES] = "classes",
    [HC_EXTENT_TABLE_ROWS] = "rows",
};

/* Borders that no backend needs to list: an index kept in 16 bits, a label kept in 7 or 8. */
static const struct hc_border common[] = {
    {HC_EXTENT_VECTOR, 65536},     {HC_EXTENT_TERMS, 65536},      {HC_EXTENT_LOSS_ROWS, 64},
    {HC_EXTENT_LOSS_CLASSES, 128}, {HC_EXTENT_LOSS_CLASSES, 256}, {HC_EXTENT_TABLE_ROWS, 65536},
    {HC_EXTENT_COUNT, 0},
};

/* For a backend that lists no borders every power of two is one, up to this: as far as a call with
   only that extent stays small. */
static const int default_log2[HC_EXTENT_COUNT] = {
    [HC_EXTENT_VECTOR] = 18,        [HC_EXTENT_TERMS] = 18,         [HC_EXTENT_GEMM_M] = 10,
    [HC_EXTENT_GEMM_N] = 10,        [HC_EXTENT_GEMM_K] = 12,        [HC_EXTENT_CONV_IMAGES] = 7,
    [HC_EXTENT_CONV_CHANNELS] = 9,  [HC_EXTENT_CONV_FILTERS] = 9,   [HC_EXTENT_CONV_PIXELS] = 10,
    [HC_EXTENT_CONV_IMAGE] = 14,    [HC_EXTENT_CONV_WEIGHTS] = 16,  [HC_EXTENT_NORM_CHANNELS] = 12,
    [HC_EXTENT_NORM_ELEMENTS] = 18, [HC_EXTENT_POOL_CHANNELS] = 12, [HC_EXTENT_POOL_ELEMENTS] = 18,
    [HC_EXTENT_LOSS_ROWS] = 16,     [HC_EXTENT_LOSS_CLASSES] = 12,  [HC_EXTENT_TABLE_ROWS] = 12,
};

struct list {
    struct hc_border_size *sizes;
    int count;
};

static void add_size(struct list *list, int64_t size, int64_t border)
{
    for (int i = 0; i < list->count; i++)
        if (list->sizes[i].size == size)
            return;
    assert(list->count < HC_BORDER_SIZES);
    if (size > 0)
        list->sizes[list->count++] = (struct hc_border_size){size, border};
}

static void add_border(struct list *list, int64_t border)
{
    add_size(list, border - 1, border);
    add_size(list, border, border);
    add_size(list, border + 1, border);
    add_size(list, 2 * border + 7, border);
}

static void add_borders(struct list *list, const struct hc_border *borders, enum hc_extent extent)
{
    for (int log2 = 0; !borders && log2 <= default_log2[extent]; log2++)
        add_border(list, (int64_t)1 << log2);
    for (; borders && borders->size; borders++)
        if (borders->extent == extent)
            add_border(list, borders->size);
}

static int by_size(const void *a, const void *b)
{
    const struct hc_border_size *x = a;
    const struct hc_border_size *y = b;
    return (x->size > y->size) - (x->size < y->size);
}

int hc_border_sizes(const struct hc_backend *const *backends, int count, enum hc_extent extent,
                    struct hc_border_size sizes[HC_BORDER_SIZES])
{
    struct list list = {.sizes = sizes};
    int built_in;
    const struct hc_backend *const *known = hc_backends_built_in(&built_in);
    add_borders(&list, common, extent);
    for (int i = 0; i < built_in; i++)
        add_borders(&list, known[i]->borders, extent);
    for (int i = 0; i < count; i++)
        add_borders(&list, backends[i]->borders, extent);
    qsort(sizes, (size_t)list.count, sizeof *sizes, by_size);
    return list.count;
}

/* The op's shape with `size` in the extent and little in the others. */
static struct hc_op_shape shape_of(const struct hc_border_row *row, int64_t size, int number)
{
    const struct hc_family *f = hc_family(row->op);
    struct hc_op_shape shape = {.d = {size}};
    if (f->border_shape)
        f->border_shape(row->extent, size, number, shape.d);
    return shape;
}

/* The same with 1 for every other extent: kernels have ways of their own for vectors, and a row
   may be lost there. False where an op has no such call. */
static bool lone_of(const struct hc_border_row *row, int64_t size, struct hc_op_shape *shape)
{
    static const struct hc_op_shape ones = {.d = {1, 1, 1, 1, 1, 1, 1, 0}};
    const struct hc_family_extent *e = hc_family(row->op)->extents;
    while (e->extent != row->extent)
        e++;
    if (e->at == HC_NEVER_ALONE)
        return false;
    *shape = ones;
    shape->d[e->at] = size;
    return true;
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
    return hc_op_call(row->op, row->set, &point->shape, &variant);
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
    int turns = hc_family(row->op)->turns > 1 ? hc_family(row->op)->turns : 1;
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

enum { NUMBER = HC_PAIR_FACTORS - 1 };

static int pair_points(const struct hc_border_row *row, struct hc_border_point *points)
{
    const struct hc_family *family = hc_family(row->op);
    const struct hc_family_choices *c = family->choices;
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
        if (family->choose)
            family->choose(p->shape.d);
    }
    return n;
}

enum { TILED = 3 };

/* Multiples of the borders in all of these extents at once: one of each list meets one of each
   other list, by turns, as one border, two, or two and one more or less. What would cost too much
   takes smaller ones. */
static int tile_points(const struct hc_border_row *row, const struct hc_backend *const *backends,
                       int count, struct hc_border_point *points)
{
    enum { MOST = 1 << 22, TURNS = 12 };
    const struct hc_family_extent *tiled = hc_family(row->op)->extents; /* the first ones are */
    struct hc_border_size sizes[TILED][HC_BORDER_SIZES];
    int n[TILED];
    int kept = 0;
    for (int e = 0; e < TILED; e++)
        if (!tiled[e].tiled)
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
