/* What an owner's text has and equations have not: the blocks behind `return`, and `use`. They are
   unfolded before the equations are read. */
#ifndef HC_DEFINE_UNFOLD_H
#define HC_DEFINE_UNFOLD_H

#include "define/definition.h"
#include "define/pieces.h"

/* The blocks behind `return`, which say more about an op:

     variant one_pass:
     v[t] = mean(d: x[t,d]^2) - m[t] * m[t]

     backward given y:
     dx[n, c] = y[n,c] * (dy[n,c] - sum(c: y[n,c] * dy[n,c]))
     return dx

   The equations of a variant stand in the place of those that assign the same tensors. A backward
   is an op of its own, which gets what is given from the forward pass, and for each result y the
   gradient dy. */

/* A part of the text. */
struct hc_block_part {
    int from;
    int length; /* 0: there is none */
};

struct hc_blocks {
    int main; /* so long is the text before them */
    int variants;
    struct {
        char name[HC_LONGEST_DEFINED_NAME + 1];
        struct hc_block_part head;
        struct hc_block_part body;
    } variant[HC_MAX_VARIANTS];
    struct hc_block_part backward; /* its body */
    struct hc_block_part backward_head;
    int given;
    struct hc_block_part given_name[HC_MAX_DEFINED_TENSORS];
};

/* False with *error filled in, in the terms of the text. */
bool hc_blocks_find(const char *text, struct hc_blocks *blocks, struct hc_formula_error *error);

/* Writes the text before the blocks, with the equations of a variant; NULL: of none. */
bool hc_blocks_choose(const char *text, const struct hc_blocks *blocks, const char *variant,
                      struct hc_pieces *chosen, struct hc_formula_error *error);

/* Gives the definition, which was read of the text, the text of its backward. */
bool hc_blocks_backward(const char *text, const struct hc_blocks *blocks,
                        struct hc_definition *definition, struct hc_formula_error *error);

/* `use`: an equation whose right side is another definition.

     p[h, t, u] = use softmax(s[h, t, u])
     y[t, d]    = use rms_norm(x[t, d], w[d]; eps = 1e-5)

   It stands for that definition's equations, in which tensors and axes have the names that they
   have here. Axes that an argument has before those of the definition are axes of all that is
   computed: softmax's rows, once for each h. */
enum { HC_DEEPEST_USE = 8 }; /* uses in uses */

/* Writes the text with the equations in place of each `use`. The names are those of the library.
   False with *error filled in, in the terms of this text; its length is 0
   where there is no memory. */
bool hc_use_expand(const char *text, struct hc_pieces *expanded, struct hc_formula_error *error);

#endif
