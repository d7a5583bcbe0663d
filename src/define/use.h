/* `use`: an equation whose right side is another definition.

     p[h, t, u] = use softmax(s[h, t, u])
     y[t, d]    = use rms_norm(x[t, d], w[d]; eps = 1e-5)

   It stands for that definition's equations, in which tensors and axes have the names that they
   have here. Axes that an argument has before those of the definition are axes of all that is
   computed: softmax's rows, once for each h. */
#ifndef HC_DEFINE_USE_H
#define HC_DEFINE_USE_H

#include "define/definition.h"
#include "define/pieces.h"

/* Writes the text with the equations in place of each `use`. The names are those of the library.
   False with *error filled in, in the terms of this text; its length is 0
   where there is no memory. */
bool hc_use_expand(const char *text, struct hc_pieces *expanded, struct hc_formula_error *error);

enum { HC_DEEPEST_USE = 8 }; /* uses in uses */

#endif
