#include <omp.h>
#include <string.h>

#include "kernels/sim/product.h"
#include "kernels/sim/engine.h"

/* n elements, `step` apart, as codes. */
static void copy(const struct hc_sim_source *s, int64_t at, int64_t step, int64_t n,
                 uint32_t *codes)
{
    if (s->format == HC_FP32) {
        const uint32_t *from = (const uint32_t *)s->data + at;
        for (int64_t i = 0; i < n; i++)
            codes[i] = from[i * step] & ~0x1fffu;
    } else if (s->format == HC_FP16 || s->format == HC_BF16) {
        const uint16_t *from = (const uint16_t *)s->data + at;
        for (int64_t i = 0; i < n; i++)
            codes[i] = from[i * step];
    } else {
        const uint8_t *from = (const uint8_t *)s->data + at;
        for (int64_t i = 0; i < n; i++)
            codes[i] = from[i * step];
    }
}

static void leave_out(const struct hc_sim_source *s, int64_t n, uint32_t *codes)
{
    for (int64_t i = 0; i < n; i++)
        codes[i] = s->format == HC_FP32 ? HC_SIM_ABSENT_TF32 : HC_SIM_ABSENT;
}

static void gather_matrix(const struct hc_sim_source *s, int64_t line, int64_t from, int64_t n,
                          uint32_t *codes)
{
    copy(s, line * s->line_step + from * s->term_step, s->term_step, n, codes);
}

/* A pixel of y and the image's pixels below the filter. */
static void gather_forward(const struct hc_sim_source *s, int64_t line, int64_t from, int64_t n,
                           uint32_t *codes)
{
    const struct hc_conv_shape *g = &s->shape;
    int64_t q = line % g->q;
    int64_t p = line / g->q % g->p;
    int64_t image = line / g->q / g->p;
    for (int64_t done = 0; done < n;) {
        int64_t tap = (from + done) / g->c;
        int64_t c = (from + done) % g->c;
        int64_t count = g->c - c < n - done ? g->c - c : n - done;
        int64_t h = p * g->stride - g->pad + tap / g->s;
        int64_t w = q * g->stride - g->pad + tap % g->s;
        if (h >= 0 && h < g->h && w >= 0 && w < g->w)
            copy(s, ((image * g->h + h) * g->w + w) * g->c + c, 1, count, codes + done);
        else
            leave_out(s, count, codes + done);
        done += count;
    }
}

/* The output row or column that the tap connects with input row or column `at`, or -1. */
static int64_t output_of(const struct hc_conv_shape *g, int64_t at, int64_t tap, int64_t extent)
{
    int64_t scaled = at + g->pad - tap;
    if (scaled < 0 || scaled % g->stride != 0 || scaled / g->stride >= extent)
        return -1;
    return scaled / g->stride;
}

/* A pixel of dx and the pixels of dy that it has a part in. */
static void gather_backward(const struct hc_sim_source *s, int64_t line, int64_t from, int64_t n,
                            uint32_t *codes)
{
    const struct hc_conv_shape *g = &s->shape;
    int64_t w = line % g->w;
    int64_t h = line / g->w % g->h;
    int64_t image = line / g->w / g->h;
    for (int64_t done = 0; done < n;) {
        int64_t tap = (from + done) / g->k;
        int64_t k = (from + done) % g->k;
        int64_t count = g->k - k < n - done ? g->k - k : n - done;
        int64_t p = output_of(g, h, tap / g->s, g->p);
        int64_t q = output_of(g, w, tap % g->s, g->q);
        if (p >= 0 && q >= 0)
            copy(s, ((image * g->p + p) * g->q + q) * g->k + k, 1, count, codes + done);
        else
            leave_out(s, count, codes + done);
        done += count;
    }
}

/* One tap and channel over the pixels of dy, a row of them at a time. */
static void gather_taps(const struct hc_sim_source *s, int64_t line, int64_t from, int64_t n,
                        uint32_t *codes)
{
    const struct hc_conv_shape *g = &s->shape;
    int64_t tap = line / g->c;
    for (int64_t done = 0; done < n;) {
        int64_t q = (from + done) % g->q;
        int64_t row = (from + done) / g->q;
        int64_t end = q + n - done < g->q ? q + n - done : g->q;
        int64_t h = row % g->p * g->stride - g->pad + tap / g->s;
        int64_t image = (row / g->p * g->h + h) * g->w;
        for (; q < end; q++, done++) {
            int64_t w = q * g->stride - g->pad + tap % g->s;
            if (h >= 0 && h < g->h && w >= 0 && w < g->w)
                copy(s, (image + w) * g->c + line % g->c, 1, 1, codes + done);
            else
                leave_out(s, 1, codes + done);
        }
    }
}

static void gather_filters(const struct hc_sim_source *s, int64_t line, int64_t from, int64_t n,
                           uint32_t *codes)
{
    const struct hc_conv_shape *g = &s->shape;
    int64_t taps = g->r * g->s;
    for (int64_t done = 0; done < n;) {
        int64_t tap = (from + done) / g->k;
        int64_t k = (from + done) % g->k;
        int64_t count = g->k - k < n - done ? g->k - k : n - done;
        copy(s, (k * taps + tap) * g->c + line, taps * g->c, count, codes + done);
        done += count;
    }
}

struct hc_sim_source hc_sim_images(const struct hc_tensor *images, const struct hc_conv_shape *g)
{
    return (struct hc_sim_source){
        .format = images->format,
        .data = images->data,
        .shape = *g,
        .images = true,
        .gather = g->op == HC_OP_conv2d            ? gather_forward
                  : g->op == HC_OP_conv2d_bwd_data ? gather_backward
                                                   : gather_taps,
    };
}

struct hc_sim_source hc_sim_filters(const struct hc_tensor *filters, const struct hc_conv_shape *g)
{
    return (struct hc_sim_source){
        .format = filters->format, .data = filters->data, .shape = *g, .gather = gather_filters};
}

struct hc_sim_source hc_sim_matrix(const struct hc_tensor *matrix, int64_t line_step,
                                   int64_t term_step)
{
    return (struct hc_sim_source){.format = matrix->format,
                                  .data = matrix->data,
                                  .line_step = line_step,
                                  .term_step = term_step,
                                  .gather = gather_matrix};
}

/* The terms are taken BLOCK at a time, so that packed operands stay in the caches; between two
   blocks the sums wait in memory as codes, as they do between two instructions. Blocks and tiles
   depend on the shapes alone, and no element is added to by two threads. */

enum { BLOCK = 512, ROWS = 32, SMALL = 1 << 16 };

/* What is the worst among a line's operands. */
enum worst { FINITE, INFINITE, IS_NAN };

/* Scratch: the sums of all tiles, a tile's rows together; the packed columns of one block; and what
   each thread needs. */
struct thread_work {
    uint32_t rows[ROWS * BLOCK * HC_SIM_A_WORDS];
    uint32_t codes[2][BLOCK];
    uint32_t buffer[2 * BLOCK];
    uint16_t left[ROWS];
    unsigned char worst[ROWS];
};

struct work {
    const struct hc_sim_product *p;
    int64_t tiles, from, terms, padded; /* of this block */
    uint32_t *sums;
    uint32_t *columns;
    unsigned char *worst; /* of the columns */
    struct thread_work *threads;
};

static size_t rounded(size_t bytes)
{
    return (bytes + 63) / 64 * 64;
}

static int64_t tiles_of(const struct hc_sim_product *p)
{
    return (p->columns + HC_SIM_COLUMNS - 1) / HC_SIM_COLUMNS;
}

static size_t sums_bytes(const struct hc_sim_product *p)
{
    return (size_t)(tiles_of(p) * p->rows) * HC_SIM_COLUMNS * sizeof(uint32_t);
}

static size_t columns_bytes(const struct hc_sim_product *p)
{
    return (size_t)tiles_of(p) * HC_SIM_COLUMNS * BLOCK * sizeof(uint32_t);
}

size_t hc_sim_product_scratch(const struct hc_sim_product *p)
{
    return sums_bytes(p) + columns_bytes(p) + rounded((size_t)tiles_of(p) * HC_SIM_COLUMNS) +
           (size_t)p->threads * rounded(sizeof(struct thread_work));
}

static uint32_t *sums_of(const struct work *w, int64_t tile, int64_t row)
{
    return w->sums + (tile * w->p->rows + row) * HC_SIM_COLUMNS;
}

/* The codes of a line in this block, filled up with +0 to whole instructions. */
static void gather(const struct work *w, const struct hc_sim_source *source, int64_t line,
                   uint32_t *codes)
{
    source->gather(source, line, w->from, w->terms, codes);
    memset(codes + w->terms, 0, (size_t)(w->padded - w->terms) * sizeof *codes);
}

static unsigned char worst_of(enum hc_operand operand, const uint32_t *codes, int64_t n)
{
    unsigned char worst = FINITE;
    for (int64_t i = 0; i < n && worst < IS_NAN; i++) {
        enum hc_operand_class found = hc_operand_decode(operand, codes[i]).class_;
        worst = found == HC_CLASS_NAN                            ? IS_NAN
                : found == HC_CLASS_INFINITE && worst < INFINITE ? INFINITE
                                                                 : worst;
    }
    return worst;
}

static void pack_tile(const struct work *w, int64_t tile, uint32_t *codes)
{
    const struct hc_sim_product *p = w->p;
    for (int64_t j = 0; j < HC_SIM_COLUMNS; j++) {
        int64_t column = tile * HC_SIM_COLUMNS + j;
        if (column < p->columns)
            gather(w, &p->b, column, codes);
        else
            memset(codes, 0, (size_t)w->padded * sizeof *codes);
        uint32_t *words = w->columns + tile * HC_SIM_COLUMNS * BLOCK + j;
        bool special = p->engine->pack_column(p->unit, codes, w->padded, words);
        w->worst[column] = special ? worst_of(p->unit->b, codes, w->padded) : FINITE;
    }
}

/* Whether it is known that a NaN comes out: a NaN stays one, except that an absent term takes its
   factor with it. Units that hand on the payload of a NaN are asked. */
static bool stays_nan(const struct work *w, uint32_t sum, unsigned char row, unsigned char column)
{
    const struct hc_sim_product *p = w->p;
    if (p->unit->nans == HC_NANS_FIRST)
        return false;
    return (row == IS_NAN && !p->b.images) || (column == IS_NAN && !p->a.images) ||
           hc_operand_decode(p->unit->d, sum).class_ == HC_CLASS_NAN;
}

/* The columns of one row that the engine left, or should not have looked at, by hc_unit_dot. */
static void add_plainly(const struct work *w, struct thread_work *t, int64_t tile, int64_t row,
                        unsigned char worst, const uint32_t *before, uint16_t left)
{
    const struct hc_sim_product *p = w->p;
    uint32_t *sums = sums_of(w, tile, row);
    bool gathered = false;
    for (int64_t j = 0; j < HC_SIM_COLUMNS; j++) {
        int64_t column = tile * HC_SIM_COLUMNS + j;
        if (column >= p->columns ||
            !(left >> j & 1 || worst != FINITE || w->worst[column] != FINITE))
            continue;
        if (stays_nan(w, before[j], worst, w->worst[column])) {
            sums[j] = p->unit->nan;
            continue;
        }
        if (!gathered)
            gather(w, &p->a, row, t->codes[0]);
        gathered = true;
        gather(w, &p->b, column, t->codes[1]);
        sums[j] =
            hc_sim_plain_dot(p->unit, t->codes[0], t->codes[1], w->padded, before[j], t->buffer);
    }
}

static bool any_special(const unsigned char *worst, int64_t n)
{
    unsigned char any = FINITE;
    for (int64_t i = 0; i < n; i++)
        any |= worst[i];
    return any != FINITE;
}

/* ROWS rows from `first` on times all tiles. */
static void add_rows(const struct work *w, struct thread_work *t, int64_t first)
{
    const struct hc_sim_product *p = w->p;
    int64_t rows = p->rows - first < ROWS ? p->rows - first : ROWS;
    for (int64_t i = 0; i < rows; i++) {
        gather(w, &p->a, first + i, t->codes[0]);
        uint32_t *words = t->rows + i * w->padded * HC_SIM_A_WORDS;
        bool special = p->engine->pack_row(p->unit, t->codes[0], w->padded, words);
        t->worst[i] = special ? worst_of(p->unit->a, t->codes[0], w->padded) : FINITE;
    }
    bool special_rows = any_special(t->worst, rows);
    for (int64_t tile = 0; tile < w->tiles; tile++) {
        uint32_t before[ROWS * HC_SIM_COLUMNS];
        memcpy(before, sums_of(w, tile, first), (size_t)rows * HC_SIM_COLUMNS * sizeof *before);
        p->engine->run(p->unit, t->rows, rows, w->columns + tile * HC_SIM_COLUMNS * BLOCK,
                       w->padded, sums_of(w, tile, first), t->left);
        bool all = special_rows || any_special(w->worst + tile * HC_SIM_COLUMNS, HC_SIM_COLUMNS);
        for (int64_t i = 0; i < rows; i++)
            if (all || t->left[i])
                add_plainly(w, t, tile, first + i, t->worst[i], before + i * HC_SIM_COLUMNS,
                            t->left[i]);
    }
}

static void start_row(const struct work *w, int64_t row)
{
    const struct hc_sim_product *p = w->p;
    for (int64_t column = 0; column < w->tiles * HC_SIM_COLUMNS; column++)
        sums_of(w, column / HC_SIM_COLUMNS, row)[column % HC_SIM_COLUMNS] =
            column < p->columns && p->start ? p->start(p->call, row, column) : 0;
}

static void finish_row(const struct work *w, int64_t row)
{
    for (int64_t column = 0; column < w->p->columns; column++)
        w->p->finish(w->p->call, row, column,
                     sums_of(w, column / HC_SIM_COLUMNS, row)[column % HC_SIM_COLUMNS]);
}

/* Of all threads, each for its share of the tiles and then of the rows. */
static void add_block(struct work *w)
{
    const struct hc_sim_product *p = w->p;
#pragma omp for schedule(static)
    for (int64_t tile = 0; tile < w->tiles; tile++)
        pack_tile(w, tile, w->threads[omp_get_thread_num()].codes[0]);
#pragma omp for schedule(dynamic)
    for (int64_t first = 0; first < p->rows; first += ROWS)
        add_rows(w, &w->threads[omp_get_thread_num()], first);
}

void hc_sim_product_run(const struct hc_sim_product *p, void *scratch)
{
    struct work w = {.p = p, .tiles = tiles_of(p), .sums = scratch};
    bool small = p->rows * p->columns * p->terms < SMALL;
    w.columns = (uint32_t *)(void *)((char *)scratch + sums_bytes(p));
    w.worst = (unsigned char *)w.columns + columns_bytes(p);
    w.threads = (struct thread_work *)(void *)(w.worst + rounded((size_t)w.tiles * HC_SIM_COLUMNS));
#pragma omp parallel num_threads(p->threads) if (!small)
    {
        struct work mine = w;
#pragma omp for schedule(static)
        for (int64_t row = 0; row < p->rows; row++)
            start_row(&w, row);
        for (mine.from = 0; mine.from < p->terms; mine.from += BLOCK) {
            int64_t k = p->unit->k;
            mine.terms = p->terms - mine.from < BLOCK ? p->terms - mine.from : BLOCK;
            mine.padded = (mine.terms + k - 1) / k * k;
            add_block(&mine);
        }
#pragma omp for schedule(static)
        for (int64_t row = 0; row < p->rows; row++)
            finish_row(&w, row);
    }
}
