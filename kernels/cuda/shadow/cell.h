/* What is known of one byte within a launch (shadow.h says why it is enough). */
#ifndef HC_KERNELS_CUDA_SHADOW_CELL_H
#define HC_KERNELS_CUDA_SHADOW_CELL_H

#include <stdbool.h>
#include <stdint.h>

enum hc_access { HC_ACCESS_READ = 1, HC_ACCESS_WRITE = 2, HC_ACCESS_ATOMIC = 4, HC_FENCE = 8 };

/* Among the kinds of a cell: the other blocks have not all handed over to the same place. */
enum { HC_APART = 16 };

/* Blocks are counted over all launches, from 1 on; threads of a block from 1 on; barriers of a
   block from 0 on. 0: nobody. */
struct hc_cell {
    uint32_t block;       /* the last that was here */
    uint32_t other_block; /* another one of the launch */
    uint16_t epoch;       /* barriers that the last block had passed */
    uint16_t thread;      /* the last that was here in this epoch */
    uint16_t other_thread;
    uint8_t kinds;       /* of all accesses in the launch */
    uint8_t epoch_kinds; /* of those in the epoch */
};

/* Who comes to a byte. A block hands over what it did by an atomic operation behind a fence, say on
   a counter, and a later one takes over what was handed over there (order.c). Places are told apart
   by a number, 0: none. */
struct hc_visit {
    uint32_t first_block; /* of the launch */
    const uint32_t
        *handed_over; /* the place of each block of the launch, from the first on; or NULL */
    uint32_t taken_over;
    uint32_t block;
    uint16_t epoch;
    uint16_t thread;
    enum hc_access kind;
};

enum hc_clash { HC_NO_CLASH, HC_CLASH_OF_BLOCKS, HC_CLASH_OF_THREADS };

static inline uint32_t hc_place_of(const struct hc_visit *v, uint32_t block)
{
    return v->handed_over ? v->handed_over[block - v->first_block] : 0;
}

/* Another block than the last comes. */
static inline void hc_cell_change_block(struct hc_cell *cell, const struct hc_visit *v)
{
    if (cell->other_block && hc_place_of(v, cell->other_block) != hc_place_of(v, cell->block))
        cell->kinds |= HC_APART;
    cell->other_block = cell->block;
}

/* Adds the visit. The cell then still tells who clashed: other_block or other_thread, and in its
   kinds without the visit's own. */
static inline enum hc_clash hc_cell_visit(struct hc_cell *cell, const struct hc_visit *v)
{
    static const uint8_t clashes[] = {[HC_ACCESS_READ] = HC_ACCESS_WRITE | HC_ACCESS_ATOMIC,
                                      [HC_ACCESS_WRITE] =
                                          HC_ACCESS_READ | HC_ACCESS_WRITE | HC_ACCESS_ATOMIC,
                                      [HC_ACCESS_ATOMIC] = HC_ACCESS_READ | HC_ACCESS_WRITE};
    if (cell->block < v->first_block)
        *cell = (struct hc_cell){.block = v->block, .epoch = v->epoch, .thread = v->thread};
    if (cell->block != v->block || cell->epoch != v->epoch) {
        if (cell->block != v->block)
            hc_cell_change_block(cell, v);
        cell->block = v->block;
        cell->epoch = v->epoch;
        cell->thread = v->thread;
        cell->other_thread = 0;
        cell->epoch_kinds = 0;
    }
    if (cell->thread != v->thread) {
        cell->other_thread = cell->thread;
        cell->thread = v->thread;
    }
    if (cell->other_block && v->taken_over && !(cell->kinds & HC_APART) &&
        hc_place_of(v, cell->other_block) == v->taken_over)
        cell->other_block = 0;
    if (cell->other_block && (cell->kinds & clashes[v->kind]))
        return HC_CLASH_OF_BLOCKS;
    if (cell->other_thread && (cell->epoch_kinds & clashes[v->kind]))
        return HC_CLASH_OF_THREADS;
    cell->kinds |= (uint8_t)v->kind;
    cell->epoch_kinds |= (uint8_t)v->kind;
    return HC_NO_CLASH;
}

#endif
