/* Unfolds an owner's text into plain equations before these are read: the blocks after `return`
   (variants and backward), and `use`. */
#ifndef HC_DEFINE_UNFOLD_H
#define HC_DEFINE_UNFOLD_H

#include "define/definition.h"
#include "define/pieces.h"

/* The blocks after `return`:

     variant one_pass:
     v[t] = mean(d: x[t,d]^2) - m[t] * m[t]

     backward given y:
     dx[n, c] = y[n,c] * (dy[n,c] - sum(c: y[n,c] * dy[n,c]))
     return dx

   The equations of a variant replace those that assign the same tensors. A backward is an op of its
   own. Its inputs are the tensors given from the forward pass and, for each result y, the gradient
   dy. */

/* A part of the text. */
struct hc_block_part {
    int from;
    int length; /* 0: there is none */
};

struct hc_blocks {
    int main; /* the length of the text before them */
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

/* Returns false and fills in *error, whose place is in `text`, if a block is wrong. */
bool hc_blocks_find(const char *text, struct hc_blocks *blocks, struct hc_formula_error *error);

/* Writes the text before the blocks, with the equations of the variant if it is not NULL. */
bool hc_blocks_choose(const char *text, const struct hc_blocks *blocks, const char *variant,
                      struct hc_pieces *chosen, struct hc_formula_error *error);

/* Sets definition->backward from the text that the definition was read from. */
bool hc_blocks_backward(const char *text, const struct hc_blocks *blocks,
                        struct hc_definition *definition, struct hc_formula_error *error);

/* `use`: an equation whose right side is another definition.

     p[h, t, u] = use softmax(s[h, t, u])
     y[t, d]    = use rms_norm(x[t, d], w[d]; eps = 1e-5)

   It stands for that definition's equations, with the names of tensors and axes that the `use` has.
   Leading axes of an argument that the definition does not have become axes of everything that is
   computed: here the rows of softmax, once for each h. */
enum { HC_DEEPEST_USE = 8 }; /* of uses within uses */

/* Writes the text with the equations of the library in place of each `use`. If one is wrong,
   returns false and fills in *error, whose place is in `text`; error->length is 0 if there is no
   memory. */
bool hc_use_expand(const char *text, struct hc_pieces *expanded, struct hc_formula_error *error);

#endif
