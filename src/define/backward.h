/* The backward that a text writes, held to the one that is derived. */
#ifndef HC_DEFINE_BACKWARD_H
#define HC_DEFINE_BACKWARD_H

#include "define/definition.h"
#include "op/status.h"

/* HC_OK if the written gradients are those of the definition, on drawn numbers, in real arithmetic,
   where what is given is what the definition computes; or if it writes no backward. HC_INVALID with
   a line that names the element where they part. */
enum hc_status hc_backward_prove(const struct hc_definition *definition);

#endif
