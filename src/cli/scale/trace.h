/* The inputs of halfcheck gen scale/RULE. A rule of one scale gets amaxes: those of amaxes.h, and
   some at random. A rule with a history gets steps: amaxes of all sizes, idle steps, and each of
   infinity, NaN, a tiny and a huge amax followed by a whole window. A rule of blocks gets blocks,
   whose largest elements are amaxes as above, and whose other elements lie on ties between codes,
   next to ties, and at random. Blocks under TransformerEngine's rule of two levels have no NaN, on
   which its kernel and its reference disagree. */
#ifndef HC_CLI_SCALE_TRACE_H
#define HC_CLI_SCALE_TRACE_H

#include "cli/scale/plan.h"

/* Line i has words[i * width ...], fp32's bits: an amax; the elements of a block; or, under a rule
   of two levels, the tensor's amax and then the elements. */
struct hc_scale_trace {
    int lines, width;
    uint32_t *words;
};

enum { HC_SCALE_BLOCK = 32, HC_SCALE_MOST_WIDTH = 32 };

/* Elements of a block under the plan's rule: 32 or 16, or 0 if the rule is asked for scales alone.
 */
int hc_scale_block(const struct hc_scale_plan *plan);

/* False without memory. The caller frees the words. */
bool hc_scale_trace_make(const struct hc_scale_plan *plan, struct hc_scale_trace *trace);

/* "INDEX WORD...", what gen prints and what must come back. */
enum { HC_SCALE_TEXT = 16 + 9 * HC_SCALE_MOST_WIDTH };
void hc_scale_trace_text(const struct hc_scale_trace *trace, int line, char text[HC_SCALE_TEXT]);

#endif
