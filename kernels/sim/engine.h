/* Sums of products with the bits of a matrix unit, 16 columns at a time. A block has rows of a and
   16 columns of b; each of its elements is a chain of the unit's instructions, as in hc_unit_dot.
   Operands are packed once for many blocks. */
#ifndef HC_KERNELS_SIM_ENGINE_H
#define HC_KERNELS_SIM_ENGINE_H

#include <stdbool.h>
#include <stdint.h>

#include "unit/unit.h"

enum { HC_SIM_COLUMNS = 16, HC_SIM_A_WORDS = 2 };

/* Codes in the unit's encodings may have this bit, which no encoding uses: the term lies in the
   padding of an image. It counts as a product of +0, whatever the other factor is. A tf32 code,
   whose low bits are not looked at, has HC_SIM_ABSENT_TF32 instead. */
#define HC_SIM_ABSENT      0x10000u
#define HC_SIM_ABSENT_TF32 1u

/* How one unit's blocks are computed. */
struct hc_sim_engine {
    const char *name; /* "avx512" or "portable" */

    /* Packs `terms` codes of a row into HC_SIM_A_WORDS words each, or of a column into one word
       each, which are HC_SIM_COLUMNS words apart. Returns whether an operand is infinite or NaN, so
       that its sums have to be had from hc_unit_dot. */
    bool (*pack_row)(const struct hc_unit *u, const uint32_t *codes, int64_t terms,
                     uint32_t *words);
    bool (*pack_column)(const struct hc_unit *u, const uint32_t *codes, int64_t terms,
                        uint32_t *words);

    /* Adds the products of `rows` rows and 16 columns to sums [rows][16], which are codes in u->d.
       `terms` is a multiple of u->k; a row's words are `terms` products apart. left[row] gets the
       columns whose sums stay as they are, because a value in them is infinite or NaN. */
    void (*run)(const struct hc_unit *u, const uint32_t *a, int64_t rows, const uint32_t *b,
                int64_t terms, uint32_t *sums, uint16_t *left);
};

/* The fastest engine for the unit on this CPU. */
const struct hc_sim_engine *hc_sim_engine_for(const struct hc_unit *u);

/* The portable one: hc_unit_dot, for any unit without scales. */
extern const struct hc_sim_engine hc_sim_portable;

/* Those for AVX-512, if the CPU has it: by the rule of a unit, NULL where the unit has a field that
   the rule's loops do not know. */
const struct hc_sim_engine *hc_sim_fused_avx512(const struct hc_unit *u);
const struct hc_sim_engine *hc_sim_floored_avx512(const struct hc_unit *u);
const struct hc_sim_engine *hc_sim_exact_avx512(const struct hc_unit *u);
const struct hc_sim_engine *hc_sim_chained_avx512(const struct hc_unit *u);

/* hc_unit_dot on codes, of which some may be absent. `buffer` has room for 2 `terms` codes. */
uint32_t hc_sim_plain_dot(const struct hc_unit *u, const uint32_t *a, const uint32_t *b,
                          int64_t terms, uint32_t c, uint32_t *buffer);

#endif
