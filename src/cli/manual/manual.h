/* The manual pages: halfcheck(1), and one for each command, from the text of its --help. */
#ifndef HC_CLI_MANUAL_MANUAL_H
#define HC_CLI_MANUAL_MANUAL_H

#include "op/status.h"

/* Writes halfcheck.1 and halfcheck-COMMAND.1 to a folder, which must exist. `date` stands at their
   foot: YYYY-MM-DD. HC_IO if one cannot be written. */
enum hc_status hc_manual_write(const char *folder, const char *date);

/* Completion: what may stand in place of the last word of a command line. */

/* The words follow "halfcheck"; the last one may be empty. Prints a candidate on each line, some
   with a tab and what it is. The last line says what the shell shall add: names (nothing), files or
   folders. completion.bash and completion.zsh read that. */
void hc_complete(int count, char **words);

#endif
