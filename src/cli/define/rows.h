/* Axes of independent rows: a row of a result depends only on the same rows of the inputs. If rows
   are repeated, so are the results. */
#ifndef HC_DEFINE_ROWS_H
#define HC_DEFINE_ROWS_H

#include "define/definition.h"

/* Whether the definition has such an axis there. False without memory, too. */
bool hc_define_stands_alone(const struct hc_definition *definition, int axis);

#endif
