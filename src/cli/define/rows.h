/* Axes of whose places each stands alone: rows, of which a result's row depends on those of the
   inputs and on nothing that another row has. What repeats rows repeats results. */
#ifndef HC_DEFINE_ROWS_H
#define HC_DEFINE_ROWS_H

#include "define/definition.h"

/* Whether the definition has such an axis there. False without memory, too. */
bool hc_define_stands_alone(const struct hc_definition *definition, int axis);

#endif
