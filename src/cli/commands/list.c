#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cases/registry.h"
#include "cases/reports.h"
#include "check/record/json.h"
#include "cli/colour.h"
#include "cli/command.h"
#include "cli/lists.h"
#include "cli/backend_options.h"
#include "cli/calc/number.h"
#include "cli/lines.h"
#include "op/typed.h"
#include "op/wrap.h"

const struct hc_command hc_command_list;

/* How real numbers are written. */
enum numbers { IN_HEX, IN_DECIMAL, IN_FIVE_DIGITS };

/* A value in a column. Real numbers are in hex for programs (--json), and in decimal here: the
   shortest that is read back, or for a terminal five digits. */
static const char *text_of(const json_t *value, enum numbers numbers, char number[HC_NUMBER_TEXT])
{
    const char *text = json_string_value(value);
    char *end = NULL;
    if (json_is_integer(value))
        (void)snprintf(number, HC_NUMBER_TEXT, "%lld", (long long)json_integer_value(value));
    else if (!text)
        return "-";
    else if (numbers == IN_HEX || strncmp(text, "0x", 2) != 0 || !strchr(text, 'p'))
        return text;
    else {
        double real = strtod(text, &end);
        if (*end)
            return text;
        if (numbers == IN_FIVE_DIGITS)
            (void)snprintf(number, HC_NUMBER_TEXT, "%.5g", real);
        else
            hc_number_text(number, HC_FP64, real, 0);
    }
    return number;
}

/* The first array or object ends the columns. */
static bool is_column(const json_t *value)
{
    return !json_is_object(value) && !json_is_array(value);
}

static void print_text(const json_t *rows, enum numbers numbers)
{
    char number[HC_NUMBER_TEXT];
    for (size_t i = 0; i < json_array_size(rows); i++) {
        json_t *o = json_array_get(rows, i);
        for (void *at = json_object_iter(o); at; at = json_object_iter_next(o, at)) {
            const json_t *value = json_object_iter_value(at);
            if (!is_column(value))
                break;
            if (at != json_object_iter(o))
                (void)putchar('\t');
            (void)fputs(text_of(value, numbers, number), stdout);
        }
        (void)putchar('\n');
    }
}

/* For people at a terminal: a table of the short columns, with a heading, as many as it is wide;
   the others below, each on lines of its own behind its name. No name is cut. */
enum { MOST_COLUMNS = 24, LONGEST_SHORT = 24, LONGEST_KEY = 16, BESIDE = 2, BELOW = 4 };

struct column {
    const char *key;
    int width;   /* of the longest */
    bool number; /* of all rows */
    bool beside; /* in the table */
};

static int find_columns(const json_t *rows, enum numbers numbers, struct column *column)
{
    const char *key;
    json_t *value;
    char number[HC_NUMBER_TEXT];
    int count = 0;
    json_object_foreach(json_array_get(rows, 0), key, value)
    {
        if (!is_column(value) || count == MOST_COLUMNS)
            break;
        column[count++] = (struct column){.key = key, .width = (int)strlen(key), .number = true};
    }
    for (size_t i = 0; i < json_array_size(rows); i++)
        for (int c = 0; c < count; c++) {
            value = json_object_get(json_array_get(rows, i), column[c].key);
            int width = (int)strlen(text_of(value, numbers, number));
            column[c].width = width > column[c].width ? width : column[c].width;
            column[c].number &= !json_is_string(value) || *json_string_value(value) == '0';
        }
    return count;
}

/* Marks the columns that stand beside each other, and returns the width of the others' names. */
static int lay_out(struct column *column, int count)
{
    int columns = hc_terminal_columns(stdout, HC_COLUMNS);
    int room = (columns < HC_COLUMNS ? columns : HC_COLUMNS) - 1;
    int label = 0;
    for (int c = 0; c < count; c++) {
        int length = (int)strlen(column[c].key);
        column[c].beside = c == 0 || (column[c].width <= LONGEST_SHORT && column[c].width <= room);
        if (column[c].beside)
            room -= column[c].width + BESIDE;
        else if (length > label && length <= LONGEST_KEY)
            label = length;
    }
    return label;
}

/* Prints the columns that stand beside each other; without a row, what they are called. */
static void print_beside(const struct column *column, int count, enum numbers numbers,
                         const json_t *row)
{
    char number[HC_NUMBER_TEXT];
    int blanks = 0;
    for (int c = 0; c < count; c++) {
        if (!column[c].beside)
            continue;
        const char *text =
            row ? text_of(json_object_get(row, column[c].key), numbers, number) : column[c].key;
        int rest = column[c].width - (int)strlen(text);
        printf("%*s", blanks + (column[c].number ? rest : 0), "");
        if (row)
            (void)fputs(text, stdout);
        else
            (void)hc_colour_word(stdout, HC_COLOUR_STRONG, 0, text);
        blanks = BESIDE + (column[c].number ? 0 : rest);
    }
    (void)putchar('\n');
}

/* A list of names without blanks is broken behind its commas. */
static const char *breakable(const char *text, char spaced[1024])
{
    size_t used = 0;
    if (strchr(text, ' ') || strlen(text) < 40 || strlen(text) > 500)
        return text;
    for (const char *at = text; *at; at++) {
        spaced[used++] = *at;
        if (*at == ',')
            spaced[used++] = ' ';
    }
    spaced[used] = '\0';
    return spaced;
}

static void print_table(const json_t *rows, enum numbers numbers)
{
    struct column column[MOST_COLUMNS];
    char number[HC_NUMBER_TEXT];
    char spaced[1024];
    int count = find_columns(rows, numbers, column);
    int label = lay_out(column, count);
    print_beside(column, count, numbers, NULL);
    for (size_t i = 0; i < json_array_size(rows); i++) {
        const json_t *row = json_array_get(rows, i);
        print_beside(column, count, numbers, row);
        for (int c = 0; c < count; c++) {
            const char *text = text_of(json_object_get(row, column[c].key), numbers, number);
            if (!column[c].beside && strcmp(text, "-") != 0)
                hc_print_wrapped(stdout, printf("%*s%-*s  ", BELOW, "", label, column[c].key),
                                 BELOW + label + BESIDE, breakable(text, spaced));
        }
    }
}

enum { INDENT = 14 };

/* The columns are sentences: each is on lines of its own, behind its name. */
static void print_wrapped(const json_t *rows)
{
    for (size_t i = 0; i < json_array_size(rows); i++) {
        const char *key;
        json_t *value;
        json_object_foreach(json_array_get(rows, i), key, value)
        {
            const char *text = json_string_value(value);
            if (text && strcmp(key, "name") == 0)
                printf("%s\n", text);
            else if (text)
                hc_print_wrapped(stdout, printf("  %-*s", INDENT - 2, key), INDENT, text);
        }
    }
}

static int print_list(const struct hc_list *list, bool json)
{
    json_t *rows = json_array();
    list->add(rows);
    enum hc_status status = json ? hc_json_print(stdout, rows) : hc_json_status();
    if (status == HC_OK && !json && list->wrapped)
        print_wrapped(rows);
    else if (status == HC_OK && !json && hc_terminal_columns(stdout, 0) > 0)
        print_table(rows, list->exact ? IN_HEX : IN_FIVE_DIGITS);
    else if (status == HC_OK && !json)
        print_text(rows, list->exact ? IN_HEX : IN_DECIMAL);
    json_decref(rows);
    return status == HC_OK ? HC_AS_CLAIMED : hc_complain_message();
}

static int refuse_list(const char *subject)
{
    char known[256] = "";
    struct hc_nearest nearest = hc_nearest_to(subject, strlen(subject));
    for (const struct hc_list *list = hc_lists; list->name; list++) {
        hc_append(known, sizeof known, "%s%s", known[0] ? ", " : "", list->name);
        hc_nearest_try(&nearest, list->name);
    }
    const char *hint = hc_nearest_hint(&nearest);
    return hc_complain("list: unknown '%s'%s there are: %s", subject, hint[0] ? hint : ";", known);
}

static int run_list(int argc, char **argv)
{
    bool json = false;
    const struct hc_option options[] = {
        {.name = "json",
         .flag = &json,
         .help = "print a JSON array of objects instead; without SUBJECT, of the cases"},
        {.include = hc_plugin_option},
        {0},
    };
    int words;
    int status;
    if (!hc_read_options(&hc_command_list, options, argc, argv, &words, &status))
        return status;
    int count;
    if (!hc_all_cases(&count) || !hc_reports(&count))
        return hc_complain_message();
    if (words == 0 && !json)
        return hc_print_everything(stdout) == HC_OK ? HC_AS_CLAIMED : hc_complain_message();
    const char *subject = words ? argv[1] : "cases";
    for (const struct hc_list *list = hc_lists; list->name && words <= 1; list++)
        if (strcmp(list->name, subject) == 0)
            return print_list(list, json);
    return words > 1 ? hc_complain("list takes one SUBJECT, not also '%s'", argv[2])
                     : refuse_list(subject);
}

const struct hc_command hc_command_list = {
    .name = "list",
    .usage = "[SUBJECT] [options]",
    .summary = "list cases, ops, backends, recipes, faults, units, reports and more",
    .text =
        "Without SUBJECT, list shows the components and their cases, the backends, and what to "
        "type\n"
        "next. With SUBJECT it prints one row a line: the name first, columns separated by tabs,\n"
        "'-' for an empty column. On a terminal it prints a table with a heading instead, and "
        "puts\n"
        "long columns below each row. Real numbers are the shortest decimals that are read back "
        "as\n"
        "the number; with --json, and in scale-differences, they are in hex. The columns are:\n\n"
        "  components\n"
        "            name, number of cases, what they claim\n"
        "  cases     name, level, once or on each backend, claim, source\n"
        "  ops       name, inputs, outputs, title, backends that have it; with --json\n"
        "            every input and output (halfcheck explain op/NAME shows them)\n"
        "  backends  name, available, ops, title, why not available, the\n"
        "            plug-in that it comes from\n"
        "  recipes   name, title, source, known defects; with --json also all fields\n"
        "  scalers   name, first scale, clean steps before growth (0: never), what\n"
        "            becomes of a step in which it finds an infinity, how it finds one,\n"
        "            title, source, known defects\n"
        "  scales    name of a rule for the scales of e4m3 and smaller formats, what it\n"
        "            scales, title, source, known defects, the scales of 0, inf and NaN\n"
        "  scale-differences\n"
        "            rule, the rule it is compared with, format of the codes, number of\n"
        "            amaxes, how many get another scale, how many only other codes, the\n"
        "            first such amax in bits, the scales there (or the elements' factors)\n"
        "            of the second and the first rule, and the worst loss of a largest\n"
        "            element by saturation\n"
        "  wrappers  name, which gradients share a bucket, algorithm of the all-reduce,\n"
        "            format of its sums, where it divides, title, source, known defects\n"
        "  faults    name, ops, defect, the cases that catch it, its class, where it is\n"
        "            planted\n"
        "  formats   name, bits of precision, emin, emax, bytes, largest finite value,\n"
        "            smallest subnormal, unit roundoff, bits, what overflow becomes\n"
        "  units     name (NAME@VERSION is an older published model), a*b+c=d, rule,\n"
        "            products of an instruction, products that meet C at once, fraction\n"
        "            bits kept in the sum, rounding of d, bits of its fraction, exponent\n"
        "            of a zero, certainty (measured, published, disputed or text), and\n"
        "            source; with --json also the rest of the description\n"
        "  reports   slug of a report from the field, the case that shows it, source,\n"
        "            why it is left out\n"
        "  mechanisms\n"
        "            mechanism of reports, how many cases show it, planted faults of it\n"
        "  corrections\n"
        "            where a text's figure is wrong: the case, and on lines of their own\n"
        "            the source and what is true; with --json also the numbers of a text\n"
        "            that is quoted",
    .run = run_list,
};
