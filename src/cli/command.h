/* What a subcommand is, and how it reads its options. A subcommand is one file,
   src/cli/commands/<name>.c, which exports `const struct hc_command hc_command_<name>`. */
#ifndef HC_CLI_COMMAND_H
#define HC_CLI_COMMAND_H

#include <stdbool.h>
#include <stdint.h>

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
    const char *text;    /* the help's paragraphs (cli/wrap.h); or NULL */

    /* argv[0] is the command's name. Returns one of enum hc_exit. */
    int (*run)(int argc, char **argv);
};

/* The values of an option that may be given more than once, in their order. */
enum { HC_MAX_WORDS = 32 };
struct hc_words {
    int count;
    const char *word[HC_MAX_WORDS];
};

/* One option. Exactly one of the destinations is set; its value beforehand is the default. */
struct hc_option {
    const char *name;  /* without the dashes */
    const char *value; /* what stands for its value in the help; NULL for a flag */
    const char *help;  /* the default named where there is one */

    bool *flag;
    const char **text;
    const char **list; /* elements between commas; given again, they are added to those before */
    struct hc_words *words;
    uint64_t *seed;             /* decimal, or 0x... */
    int *count;                 /* within least..most */
    double *real;               /* within least..most */
    int *choice;                /* index into choices */
    const char *const *choices; /* ends with NULL */
    double least;
    double most;
};

/* Only lists and words may be given more than once; flags, too, to no effect. No command has more
   options than this. */
enum { HC_MAX_OPTIONS = 40 };

/* Reads argv[1..argc-1] by `options`, a list that ends with a NULL name. Options are written --name
   VALUE or --name=VALUE and may stand anywhere; "--" ends them. The other words are moved to
   argv[1..*words], with argv[*words + 1] = NULL. True: go on. False: leave with *status, everything
   having been said (--help, or one line on stderr). */
bool hc_read_options(const struct hc_command *command, const struct hc_option *options, int argc,
                     char **argv, int *words, int *status);

/* Keeps the command line as it was typed, before its words are moved; and gives it back:
   "halfcheck" and the words behind it, ending with NULL. */
void hc_keep_command_line(char **argv);
const char *const *hc_command_line(void);

/* Says one line on stderr and returns HC_WRONG. hc_complain_message says hc_message(). */
#if defined(__GNUC__)
__attribute__((format(printf, 1, 2)))
#endif
int hc_complain(const char *format, ...);
int hc_complain_message(void);

/* All subcommands, by name; the count in *n. */
const struct hc_command *const *hc_commands(int *n);

#endif
