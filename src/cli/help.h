/* The help of a command, and the parts of it that its manual page has, too (src/cli/manual). */
#ifndef HC_CLI_HELP_H
#define HC_CLI_HELP_H

#include <stdio.h>

#include "cli/command.h"

/* `options` is a whole table: it ends with a NULL name and includes none. */
void hc_help_print(FILE *out, const struct hc_command *command, const struct hc_option *options);

extern const char hc_help_of_halfcheck[]; /* what the program does, as a part of a sentence */
extern const char hc_help_in_short[];     /* the same in a few sentences */
extern const char hc_help_of_help[];      /* what --help does */
extern const char hc_help_of_status[];    /* what the exit status says */

/* What is said of options that take lists; or NULL if the table has none. */
const char *hc_help_of_lists(const struct hc_option *options);

/* A command's table of options is made when the command runs. This runs it only as far as to that
   table, and calls `tell` with the whole of it. */
typedef void hc_options_reader(void *context, const struct hc_command *command,
                               const struct hc_option *options);
void hc_help_options(const struct hc_command *command, hc_options_reader *tell, void *context);

/* For hc_read_options: tells the table to whom hc_help_options is to tell it. Returns false if
   nobody asked for it, and the command is to go on. */
bool hc_help_wants_options(const struct hc_command *command, const struct hc_option *options);

#endif
