/* Completion: what may stand in place of the last word of a command line. */
#ifndef HC_CLI_MANUAL_COMPLETE_H
#define HC_CLI_MANUAL_COMPLETE_H

/* The words follow "halfcheck"; the last one may be empty. Prints a candidate on each line, some
   with a tab and what it is. The last line says what the shell shall add: names (nothing), files or
   folders. completion.bash and completion.zsh read that. */
void hc_complete(int count, char **words);

#endif
