/* The option --plugin FILE. */
#ifndef HC_CLI_PLUGIN_OPTION_H
#define HC_CLI_PLUGIN_OPTION_H

#include "cli/command.h"

/* Its table, for a command's table to include. Each file is loaded when its option is read: its
   backends and cases are then there like all others. */
extern const struct hc_option hc_plugin_option[2];

#endif
