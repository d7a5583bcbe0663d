/* The manual pages: halfcheck(1), and one for each command, from the text of its --help. */
#ifndef HC_CLI_MANUAL_PAGES_H
#define HC_CLI_MANUAL_PAGES_H

#include "op/status.h"

/* Writes halfcheck.1 and halfcheck-COMMAND.1 to a folder, which must exist. `date` stands at their
   foot: YYYY-MM-DD. HC_IO if one cannot be written. */
enum hc_status hc_manual_write(const char *folder, const char *date);

#endif
