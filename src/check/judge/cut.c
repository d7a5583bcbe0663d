#include "check/judge/cut.h"

#include <stdlib.h>
#include <string.h>

#include "check/family/family.h"
#include "check/subnormals.h"

struct hc_cut_blocks {
    struct hc_cut_blocks *before;
    void *block;
};

static void *new_block(struct hc_cut *cut, size_t bytes)
{
    struct hc_cut_blocks *owner = malloc(sizeof *owner);
    void *block = owner ? aligned_alloc(64, (bytes + 64) / 64 * 64) : NULL;
    if (!block) {
        cut->no_memory = true;
        free(owner);
        return NULL;
    }
    *owner = (struct hc_cut_blocks){cut->blocks, block};
    cut->blocks = owner;
    return block;
}

/* Frees the blocks that were made since `until`. */
static void free_blocks(struct hc_cut *cut, const struct hc_cut_blocks *until)
{
    while (cut->blocks != until) {
        struct hc_cut_blocks *owner = cut->blocks;
        cut->blocks = owner->before;
        free(owner->block);
        free(owner);
    }
}

void hc_cut_close(struct hc_cut *cut)
{
    free_blocks(cut, NULL);
}

/* Entries before, along and behind a dimension. */
static void extents(const struct hc_tensor *t, int dimension, int64_t *outer, int64_t *inner)
{
    *outer = *inner = 1;
    for (int d = 0; d < t->rank; d++)
        *(d < dimension ? outer : inner) *= d == dimension ? 1 : t->shape[d];
}

bool hc_cut_pick(struct hc_cut *cut, struct hc_tensor *t, int dimension, const int64_t *entries,
                 int64_t n)
{
    int64_t outer;
    int64_t inner;
    int64_t old = t->shape[dimension];
    extents(t, dimension, &outer, &inner);
    size_t bytes = (size_t)inner * (size_t)hc_formats[t->format].bytes;
    unsigned char *to = new_block(cut, (size_t)(outer * n) * bytes);
    if (!to)
        return false;
    for (int64_t o = 0; o < outer; o++)
        for (int64_t k = 0; k < n; k++)
            memcpy(to + (size_t)(o * n + k) * bytes,
                   (const unsigned char *)t->data + (size_t)(o * old + entries[k]) * bytes, bytes);
    if (t == &cut->call.out[cut->out]) {
        int64_t entry = cut->index / inner % old;
        int64_t now = 0;
        while (now < n && entries[now] != entry)
            now++;
        cut->index = (cut->index / inner / old * n + now) * inner + cut->index % inner;
    }
    t->data = to;
    t->shape[dimension] = n;
    return true;
}

bool hc_cut_range(struct hc_cut *cut, struct hc_tensor *t, int dimension, int64_t from, int64_t n)
{
    if (from < 0 || n < 1 || from + n > t->shape[dimension])
        return false;
    int64_t *entries = malloc((size_t)n * sizeof *entries);
    cut->no_memory |= !entries;
    for (int64_t k = 0; entries && k < n; k++)
        entries[k] = from + k;
    bool good = entries && hc_cut_pick(cut, t, dimension, entries, n);
    free(entries);
    return good;
}

static bool same(const struct hc_exact *a, const struct hc_exact *b)
{
    return memcmp(&a->hi, &b->hi, sizeof a->hi) == 0 && a->lo == b->lo;
}

/* Judges the element of the call that is tried, as its backend reads that. False if there is no
   memory. */
static bool judge_again(const struct hc_cut *tried, const struct hc_judge *judge,
                        struct hc_judged_element *e)
{
    struct hc_judge again = *judge;
    struct hc_flushed flushed = {0};
    bool good = !judge->given || hc_flushed_open(&flushed, &tried->call);
    again.call = judge->given ? &flushed.call : &tried->call;
    again.has_exact = false;
    if (good)
        hc_judge_element(&again, tried->out, tried->index, e);
    hc_flushed_close(&flushed);
    return good;
}

/* Tries one cut. It stays if the element is still in the call, and still as wrong. */
static void attempt(struct hc_cut *cut, hc_cutter *cutter, const struct hc_judge *judge,
                    const struct hc_judged_element *whole)
{
    struct hc_cut tried = *cut;
    struct hc_judged_element e = {0};
    if (cutter(&tried) && hc_call_check(&tried.call) == HC_OK &&
        tried.index < hc_tensor_count(&tried.call.out[tried.out]) &&
        !judge_again(&tried, judge, &e))
        tried.no_memory = true;
    if (e.wrong && e.got_bits == whole->got_bits && same(&e.want, &whole->want)) {
        *cut = tried;
        return;
    }
    cut->no_memory |= tried.no_memory;
    free_blocks(&tried, cut->blocks);
}

enum hc_status hc_cut_down(struct hc_cut *cut, const struct hc_judge *judge, int out, int64_t index)
{
    struct hc_judged_element whole;
    hc_judge_element(judge, out, index, &whole);
    *cut = (struct hc_cut){
        .call = judge->given ? *judge->given : *judge->call, .out = out, .index = index};
    for (hc_cutter *const *cutter = hc_family(cut->call.op)->cuts; cutter && *cutter; cutter++)
        attempt(cut, *cutter, judge, &whole);
    if (cut->no_memory)
        return hc_fail(HC_NO_MEMORY, "no memory to cut the problem down");
    return HC_OK;
}
