/* The smallest sub-problem that still fails: the call of a wrong element, of which everything is
   cut away that this element does not read: other images, channels, rows and pixels, other elements
   of vectors, and terms that are zero. What was given for the element stays as it was.

   A cut is tried, and stays if the call is still valid, the element's real value is the same, and
   the judge still finds it wrong. If the backend flushes, the call as it was given is cut and kept:
   another backend, or the same one when it is mended, reads its subnormals otherwise. */
#ifndef HC_CHECK_JUDGE_CUT_H
#define HC_CHECK_JUDGE_CUT_H

#include "check/judge/judge.h"

struct hc_cut_blocks;

struct hc_cut {
    struct hc_call call;
    int out;
    int64_t index;                /* of the element, in the cut output */
    struct hc_cut_blocks *blocks; /* what the cuts have copied */
    bool no_memory;               /* for one of the cuts: the call is not the smallest */
};

/* Cuts down the call of element `index` of output `out`. HC_NO_MEMORY, or HC_OK: the call is then
   at most as large as before. Close it in any case; the judge's call lives longer. */
enum hc_status hc_cut_down(struct hc_cut *cut, const struct hc_judge *judge, int out,
                           int64_t index);
void hc_cut_close(struct hc_cut *cut);

/* One cut: changes the call, or returns false where it does not apply. */
typedef bool hc_cutter(struct hc_cut *cut);

/* The cuts of the families, in the order in which they are tried; each ends with NULL. */
extern hc_cutter *const hc_cut_averages[], *const hc_cut_vectors[], *const hc_cut_reductions[];
extern hc_cutter *const hc_cut_gemm[], *const hc_cut_gemm_q[];
extern hc_cutter *const hc_cut_conv2d[], *const hc_cut_conv2d_bwd_data[];
extern hc_cutter *const hc_cut_conv2d_bwd_filter[], *const hc_cut_pool[];
extern hc_cutter *const hc_cut_norm[], *const hc_cut_norm_inferred[];
extern hc_cutter *const hc_cut_rows_of_loss[];

#endif
