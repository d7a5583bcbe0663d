/* The gradient of a definition, as a definition: derives its text, and checks a gradient that the
   owner has written. */
#ifndef HC_DEFINE_GRADIENT_ADJOINT_H
#define HC_DEFINE_GRADIENT_ADJOINT_H

#include "define/definition.h"
#include "op/status.h"

/* Writes the text of the op NAME_grad, whose inputs are those of the definition and, for each
   result y, the gradient dy of a loss by it. It returns the gradient of that loss by every input of
   numbers. The caller frees *text. HC_UNSUPPORTED with a line if the gradient cannot be
   derived, as for some scans. HC_NO_MEMORY. */
enum hc_status hc_adjoint_text(const struct hc_definition *definition, char **text);

/* Compares the gradients of `backward given` with the derived ones, on drawn numbers, in real
   arithmetic, with the given tensors as the definition computes them. HC_OK if they agree, or if
   the text states no backward. HC_INVALID with a line that names the first element that differs. */
enum hc_status hc_backward_prove(const struct hc_definition *definition);

#endif
