/* A calculation as JSON. */
#ifndef HC_CLI_CALC_DOCUMENT_H
#define HC_CLI_CALC_DOCUMENT_H

#include <jansson.h>

#include "cli/calc/calc.h"

/* All that is printed; numbers as text, as hex floats and as bits. */
json_t *hc_calc_document(const struct hc_calc_run *run);

#endif
