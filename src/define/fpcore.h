/* FPCore, the language of FPBench (fpbench.org): its scalar expressions as definitions. */
#ifndef HC_DEFINE_FPCORE_H
#define HC_DEFINE_FPCORE_H

#include "op/status.h"

/* A core: the text of its definition, or NULL and the reason why it has none. */
typedef void hc_fpcore_take(void *context, const char *name, const char *text, const char *why);

/* Calls `take` for each core of a text. Numbers are real: precisions and preconditions are not
   looked at. HC_INVALID with a line where the text is no FPCore, HC_NO_MEMORY. */
enum hc_status hc_fpcore_read(const char *text, hc_fpcore_take *take, void *context);

#endif
