#include "cli/command.h"

#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/colour.h"
#include "cli/lines.h"
#include "hc_command_list.h"
#include "op/status.h"
#include "op/text.h"
#include "op/typed.h"
#include "op/wrap.h"

static const struct hc_command *const all[] = {HC_LIST};

const struct hc_command *const *hc_commands(int *n)
{
    *n = (int)(sizeof all / sizeof all[0]) - 1;
    return all;
}

static const char **command_line;

bool hc_keep_command_line(char **argv)
{
    int words = 0;
    while (argv[words])
        words++;
    command_line = calloc((size_t)words + 2, sizeof *command_line);
    for (int i = 0; command_line && i < words; i++)
        command_line[i] = i ? argv[i] : "halfcheck";
    return command_line != NULL;
}

const char *const *hc_command_line(void)
{
    return command_line;
}

static bool silent;
static char complaint[4096];

void hc_complain_silently(void)
{
    silent = true;
}

const char *hc_complaint_kept(void)
{
    return complaint;
}

int hc_complain(const char *format, ...)
{
    char line[4096];
    va_list arguments;
    va_start(arguments, format);
    (void)hc_text_format(line, sizeof line, format, arguments);
    va_end(arguments);
    if (silent) {
        if (!complaint[0])
            (void)snprintf(complaint, sizeof complaint, "%s", line);
        return HC_WRONG;
    }
    /* It is written in one piece, so that processes that complain at once have a line each. */
    char plain[4 * sizeof line];
    (void)fflush(stdout);
    hc_text_plain(plain, sizeof plain, line);
    enum hc_colour colour = hc_terminal_draws(stderr) ? HC_COLOUR_FAIL : HC_PLAIN;
    (void)fprintf(stderr, "%shalfcheck:%s %s\n", hc_colour_begin(stderr, colour),
                  hc_colour_end(stderr, colour), plain);
    return HC_WRONG;
}

int hc_complain_message(void)
{
    return hc_complain("%s", hc_message());
}

const char hc_help_of_halfcheck[] =
    "checks whether mixed-precision training is numerically right here";
const char hc_help_in_short[] =
    "halfcheck checks the numerical components of mixed-precision training (fp16, bf16) against\n"
    "exact mathematics, on every backend that can run on this machine: its own kernels, programs\n"
    "behind a pipe, and plug-ins. Each result is compared with a correctly rounded reference,\n"
    "within a bound that is derived from the operation.\n\n"
    "halfcheck run checks everything. halfcheck explain shows one case with its numbers.\n"
    "halfcheck gate compares a record with an earlier one, and halfcheck report makes a page of\n"
    "it.";
const char hc_help_of_help[] = "print this help";
const char hc_help_of_status[] = "0 if everything is as claimed, 1 if a claim failed, 2 if the\n"
                                 "command or the environment is wrong";

const char *hc_help_of_lists(const struct hc_option *options)
{
    for (const struct hc_option *o = options; o->name; o++)
        if (o->list || o->words)
            return "An option that takes a list (A,B) may be repeated, and adds to the list.\n"
                   "Any other may be given once.";
    return NULL;
}

enum { COLUMN = 24 };

static void print_option(FILE *out, const struct hc_option *option)
{
    char left[64];
    (void)snprintf(left, sizeof left, "  --%s%s%s", option->name, option->value ? " " : "",
                   option->value ? option->value : "");
    (void)fprintf(out, "%-*s", COLUMN, left);
    if (strlen(left) >= COLUMN)
        (void)fprintf(out, "\n%*s", COLUMN, "");
    hc_print_wrapped(out, COLUMN, COLUMN, option->help);
}

void hc_help_print(FILE *out, const struct hc_command *command, const struct hc_option *options)
{
    const struct hc_option help = {.name = "help", .help = hc_help_of_help};
    int column = fprintf(out, "halfcheck %s - ", command->name);
    hc_print_wrapped(out, column, 4, command->summary);
    column = fprintf(out, "\nusage: halfcheck %s ", command->name);
    hc_print_wrapped(out, column, 4, command->usage);
    (void)fputc('\n', out);
    hc_print_wrapped(out, 0, 0, command->text ? command->text : "");
    (void)fputs("\noptions:\n", out);
    for (const struct hc_option *o = options; o->name; o++)
        print_option(out, o);
    print_option(out, &help);
    const char *lists = hc_help_of_lists(options);
    if (lists)
        (void)fprintf(out, "\n%s\n", lists);
    (void)fprintf(out, "\nexit status: %s\n", hc_help_of_status);
}

static hc_options_reader *reader;
static void *reader_context;

void hc_help_options(const struct hc_command *command, hc_options_reader *tell, void *context)
{
    char name[32];
    char *words[] = {name, NULL};
    (void)snprintf(name, sizeof name, "%s", command->name);
    reader = tell;
    reader_context = context;
    (void)command->run(1, words);
    reader = NULL;
}

bool hc_help_wants_options(const struct hc_command *command, const struct hc_option *options)
{
    if (!reader)
        return false;
    reader(reader_context, command, options);
    return true;
}

/* Reading the options of a command. */

static int refuse_value(const struct hc_command *command, const struct hc_option *option,
                        const char *value, const char *wanted)
{
    return hc_complain("%s: --%s takes %s, not '%s'", command->name, option->name, wanted, value);
}

static int set_choice(const struct hc_command *command, const struct hc_option *option,
                      const char *value)
{
    char wanted[160] = "";
    struct hc_nearest nearest = hc_nearest_to(value, strlen(value));
    for (int i = 0; option->choices[i]; i++) {
        hc_nearest_try(&nearest, option->choices[i]);
        if (strcmp(option->choices[i], value) == 0) {
            *option->choice = i;
            return HC_AS_CLAIMED;
        }
        hc_append(wanted, sizeof wanted, "%s%s", i ? ", " : "one of ", option->choices[i]);
    }
    return hc_complain("%s: --%s takes %s, not '%s'%s", command->name, option->name, wanted, value,
                       hc_nearest_hint(&nearest));
}

static int set_seed(const struct hc_command *command, const struct hc_option *option,
                    const char *value)
{
    char *end;
    bool hexadecimal = strncmp(value, "0x", 2) == 0;
    bool digit = value[0] >= '0' && value[0] <= '9';
    errno = 0;
    unsigned long long seed = strtoull(value, &end, hexadecimal ? 16 : 10);
    if (!digit || *end || errno)
        return refuse_value(command, option, value, "a number from 0 to 2^64 - 1");
    *option->seed = seed;
    return HC_AS_CLAIMED;
}

static int set_number(const struct hc_command *command, const struct hc_option *option,
                      const char *value)
{
    char *end;
    char wanted[80];
    double number = strtod(value, &end);
    bool whole = option->count && floor(number) == number;
    bool inside = number >= option->least && number <= option->most;
    (void)snprintf(wanted, sizeof wanted, "a %snumber from %.10g to %.10g",
                   option->count ? "whole " : "", option->least, option->most);
    if (end == value || *end || !inside || (option->count && !whole))
        return refuse_value(command, option, value, wanted);
    if (option->count)
        *option->count = (int)number;
    else
        *option->real = number;
    return HC_AS_CLAIMED;
}

/* The joined list is never freed. */
static int add_to_list(const struct hc_command *command, const struct hc_option *option,
                       const char *value, bool again)
{
    static char *joined[HC_MAX_OPTIONS];
    int own = 0;
    if (!again) {
        *option->list = value;
        return HC_AS_CLAIMED;
    }
    while (joined[own] && joined[own] != *option->list)
        own++;
    size_t length = strlen(*option->list);
    char *list = realloc(joined[own], length + strlen(value) + 2);
    if (!list)
        return hc_complain("%s: no memory for --%s", command->name, option->name);
    if (!joined[own])
        memcpy(list, *option->list, length);
    list[length] = ',';
    memcpy(list + length + 1, value, strlen(value) + 1);
    joined[own] = list;
    *option->list = list;
    return HC_AS_CLAIMED;
}

static int set(const struct hc_command *command, const struct hc_option *option, const char *value,
               bool again)
{
    if (option->list)
        return add_to_list(command, option, value, again);
    if (option->take)
        return value[0] ? option->take(value) : refuse_value(command, option, value, option->value);
    if (again && !option->words)
        return hc_complain("%s: --%s is given twice", command->name, option->name);
    if (option->choice)
        return set_choice(command, option, value);
    if (option->seed)
        return set_seed(command, option, value);
    if (option->words) {
        if (option->words->count == HC_MAX_WORDS)
            return hc_complain("%s: --%s is given more than %d times", command->name, option->name,
                               HC_MAX_WORDS);
        option->words->word[option->words->count++] = value;
        return HC_AS_CLAIMED;
    }
    if (option->text) {
        *option->text = value;
        return value[0] ? HC_AS_CLAIMED : refuse_value(command, option, value, option->value);
    }
    return set_number(command, option, value);
}

/* The option that a word "--name" or "--name=value" names, or NULL. */
static const struct hc_option *find_option(const struct hc_option *options, const char *word)
{
    size_t length = strcspn(word + 2, "=");
    for (const struct hc_option *o = options; o->name; o++)
        if (strlen(o->name) == length && strncmp(o->name, word + 2, length) == 0)
            return o;
    return NULL;
}

static int refuse_option(const struct hc_command *command, const struct hc_option *options,
                         const char *word)
{
    int length = (int)strcspn(word, "=");
    struct hc_nearest nearest = hc_nearest_to(word, (size_t)length);
    for (const struct hc_option *o = options; o->name; o++) {
        char name[64];
        (void)snprintf(name, sizeof name, "--%s", o->name);
        hc_nearest_try(&nearest, name);
    }
    return hc_complain("%s: unknown option %.*s%s; see: halfcheck %s --help", command->name, length,
                       word, hc_nearest_hint(&nearest), command->name);
}

/* Reads the option at argv[*i] and its value, which may be the next word. given[] says for each
   option whether it has been read before. */
static int read_option(const struct hc_command *command, const struct hc_option *options, int argc,
                       char **argv, int *i, bool given[HC_MAX_OPTIONS])
{
    const char *word = argv[*i];
    const char *value = strchr(word, '=');
    const struct hc_option *option = word[1] == '-' ? find_option(options, word) : NULL;
    if (!option)
        return refuse_option(command, options, word);
    bool again = given[option - options];
    given[option - options] = true;
    if (option->flag) {
        if (value)
            return hc_complain("%s: --%s takes no value", command->name, option->name);
        *option->flag = true;
        return HC_AS_CLAIMED;
    }
    if (value)
        return set(command, option, value + 1, again);
    if (*i + 1 >= argc)
        return hc_complain("%s: --%s needs %s", command->name, option->name, option->value);
    *i += 1;
    return set(command, option, argv[*i], again);
}

/* A lone dash is a file name, and "-1/3" or "-(x)" a formula. */
static bool is_option(const char *word)
{
    return word[0] == '-' && word[1] != '\0' && !strchr("0123456789.(", word[1]);
}

static void append(struct hc_option flat[HC_MAX_OPTIONS + 1], int *n,
                   const struct hc_option *options)
{
    for (; options->name; options++) {
        assert(*n < HC_MAX_OPTIONS);
        flat[(*n)++] = *options;
    }
}

/* Copies a table, with the tables that it includes in their places, and what every command has. The
   number of the command's own. */
static int flatten(const struct hc_option *options, struct hc_option flat[HC_MAX_OPTIONS + 1])
{
    int n = 0;
    for (const struct hc_option *o = options; o->name || o->include; o++) {
        const struct hc_option one[] = {*o, {0}};
        append(flat, &n, o->include ? o->include : one);
    }
    int own = n;
    append(flat, &n, hc_colour_option);
    flat[n] = (struct hc_option){0};
    return own;
}

static const char *lone_option;

/* Keeps the name of the one of n options that was read, if no word was and no other one. */
static void note_lone(const struct hc_option *options, int n, const bool *given, int words)
{
    int count = words;
    for (int i = 0; i < n; i++) {
        lone_option = given[i] ? options[i].name : lone_option;
        count += given[i];
    }
    lone_option = count == 1 && !words ? lone_option : NULL;
}

bool hc_option_alone(const char *name)
{
    return lone_option && strcmp(lone_option, name) == 0;
}

bool hc_read_options(const struct hc_command *command, const struct hc_option *table, int argc,
                     char **argv, int *words, int *status)
{
    struct hc_option options[HC_MAX_OPTIONS + 1];
    int own = flatten(table, options);
    bool given[HC_MAX_OPTIONS] = {false};
    int kept = 0;
    int i = 1;
    *status = HC_AS_CLAIMED;
    if (hc_help_wants_options(command, options))
        return false;
    for (; i < argc && strcmp(argv[i], "--") != 0; i++) {
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
            hc_help_print(stdout, command, options);
            return false;
        }
        if (!is_option(argv[i])) {
            argv[++kept] = argv[i];
            continue;
        }
        *status = read_option(command, options, argc, argv, &i, given);
        if (*status != HC_AS_CLAIMED)
            return false;
    }
    for (i++; i < argc; i++)
        argv[++kept] = argv[i];
    argv[kept + 1] = NULL;
    note_lone(options, own, given, kept);
    *words = kept;
    return true;
}
