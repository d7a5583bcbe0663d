/* What `halfcheck --version` prints. */
#ifndef HC_CLI_VERSION_H
#define HC_CLI_VERSION_H

#include <stdio.h>

/* "halfcheck VERSION (COMMIT)" on the first line, and then a line for the compiler and for each
   library: its name, and the version that is loaded. */
void hc_print_version(FILE *out);

#endif
