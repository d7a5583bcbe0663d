/* The gradient of a definition, as a definition: the text that is derived, and the proof of the one
   that its owner writes. */
#ifndef HC_DEFINE_ADJOINT_H
#define HC_DEFINE_ADJOINT_H

#include "define/definition.h"
#include "op/status.h"

/* Writes the text of the op NAME_grad, whose inputs are those of the definition and, for each
   result y, the gradient dy of a loss by it; it returns the gradient of that loss by every input of
   numbers. The caller frees *text. HC_UNSUPPORTED with a line where the definition has none here: a
   scan. HC_NO_MEMORY. */
enum hc_status hc_adjoint_text(const struct hc_definition *definition, char **text);

/* HC_OK if the gradients of `backward given` are those of the definition, on drawn numbers, in real
   arithmetic, where what is given is what the definition computes; or if it writes no backward.
   HC_INVALID with a line that names the element where they part. */
enum hc_status hc_backward_prove(const struct hc_definition *definition);

#endif
