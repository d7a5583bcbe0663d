/* What is known of one byte within a launch (shadow.h says why it is enough). */
#ifndef HC_KERNELS_CUDA_SHADOW_CELL_H
#define HC_KERNELS_CUDA_SHADOW_CELL_H

#include <stdbool.h>
#include <stdint.h>

enum hc_access { HC_ACCESS_READ = 1, HC_ACCESS_WRITE = 2, HC_ACCESS_ATOMIC = 4 };

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

/* Who comes to a byte. */
struct hc_visit {
    uint32_t first_block; /* of the launch */
    uint32_t block;
    uint16_t epoch;
    uint16_t thread;
    enum hc_access kind;
};

enum hc_clash { HC_NO_CLASH, HC_CLASH_OF_BLOCKS, HC_CLASH_OF_THREADS };

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
        cell->other_block = cell->block != v->block ? cell->block : cell->other_block;
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
    if (cell->other_block && (cell->kinds & clashes[v->kind]))
        return HC_CLASH_OF_BLOCKS;
    if (cell->other_thread && (cell->epoch_kinds & clashes[v->kind]))
        return HC_CLASH_OF_THREADS;
    cell->kinds |= (uint8_t)v->kind;
    cell->epoch_kinds |= (uint8_t)v->kind;
    return HC_NO_CLASH;
}

#endif
