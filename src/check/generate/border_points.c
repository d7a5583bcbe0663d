#include "check/generate/border_points.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "check/generate/allpairs.h"
#include "check/bound/bound.h"
#include "check/family/family.h"
#include "check/generate/integers.h"

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
