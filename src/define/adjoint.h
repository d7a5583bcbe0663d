/* The gradient of a definition, as a definition: its text. */
#ifndef HC_DEFINE_ADJOINT_H
#define HC_DEFINE_ADJOINT_H

#include "define/definition.h"
#include "op/status.h"

/* Writes the text of the op NAME_grad, whose inputs are those of the definition and, for each
   result y, the gradient dy of a loss by it; it returns the gradient of that loss by every input of
   numbers. The caller frees *text. HC_UNSUPPORTED with a line where the definition has none here: a
   scan. HC_NO_MEMORY. */
enum hc_status hc_adjoint_text(const struct hc_definition *definition, char **text);

#endif
