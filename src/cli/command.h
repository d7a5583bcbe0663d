/* Commands and their options. The command `halfcheck NAME` is the file src/cli/NAME/command.c, or
   src/cli/commands/NAME.c, which exports `const struct hc_command hc_command_NAME`. */
#ifndef HC_CLI_COMMAND_H
#define HC_CLI_COMMAND_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* The program's exit status. */
enum hc_exit {
    HC_AS_CLAIMED = 0,
    HC_CLAIM_FAILED = 1,
    HC_WRONG = 2 /* the command or the environment */
};

struct hc_command {
    const char *name;
    const char *usage;   /* what follows the name: "[PATTERN...] [options]" */
    const char *summary; /* one line, no full stop */
    const char *text;    /* the paragraphs of its help (op/wrap.h), or NULL */
    bool hidden;         /* for building halfcheck, not for its users: no overview names it */
    bool on_ranks;       /* all ranks of a job run it (cli/ranks/ranks.h); else rank 0 alone does */

    /* argv[0] is the command's name. Returns one of enum hc_exit. */
    int (*run)(int argc, char **argv);
};

/* The values of an option that may be given more than once, in their order. */
enum { HC_MAX_WORDS = 32 };
struct hc_words {
    int count;
    const char *word[HC_MAX_WORDS];
};

/* One option. Exactly one of the destinations is set, and holds the default value. A row that
   includes another table stands for all of its rows; it has nothing else. */
struct hc_option {
    const struct hc_option *include; /* ends with a NULL name, and includes none */
    const char *name;                /* without the dashes */
    const char *value;               /* what the help calls its value; NULL for a flag */
    const char *help;                /* names the default, if there is one */

    bool *flag;
    const char **text;
    const char **list; /* elements with commas between; a repeated option adds to them */
    struct hc_words *words;
    int (*take)(const char *value); /* may be repeated; returns one of enum hc_exit */
    uint64_t *seed;                 /* decimal, or 0x... */
    int *count;                     /* within least..most */
    double *real;                   /* within least..most */
    int *choice;                    /* index into choices */
    const char *const *choices;     /* ends with NULL */
    double least;
    double most;
};

/* Lists, words and what is taken may be given more than once; and flags, to no effect. No command
   has more options than this. */
enum { HC_MAX_OPTIONS = 40 };

/* Reads argv[1..argc-1]. `table` ends with a NULL name that includes nothing. Options are written
   --name VALUE or --name=VALUE, in any place; "--" ends them. The other words are moved to
   argv[1..*words], and argv[*words + 1] = NULL. Returns false if the command is to end with
   *status: --help was printed, or one line on stderr. */
bool hc_read_options(const struct hc_command *command, const struct hc_option *table, int argc,
                     char **argv, int *words, int *status);

/* Whether that option, and beside it nothing but --color, is what hc_read_options read last. */
bool hc_option_alone(const char *name);

/* Keeps the command line as it was typed, before hc_read_options moves its words; and returns it:
   "halfcheck", the other words, NULL. False without memory. */
bool hc_keep_command_line(char **argv);
const char *const *hc_command_line(void);

/* Prints one line on stderr and returns HC_WRONG. hc_complain_message prints hc_message(). */
#if defined(__GNUC__)
__attribute__((format(printf, 1, 2)))
#endif
int hc_complain(const char *format, ...);
int hc_complain_message(void);

/* From now on hc_complain keeps its first line instead of printing it, because another rank may say
   the same (cli/ranks/ranks.h); and that line, or "". */
void hc_complain_silently(void);
const char *hc_complaint_kept(void);

/* All commands, sorted by name; *n is their number. */
const struct hc_command *const *hc_commands(int *n);

/* The help of a command, and the parts of it that its manual page has, too (src/cli/manual). */

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

#endif
