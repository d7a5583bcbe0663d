/* A program, the functions that it may call, and how an error in its text is shown. */
#include "formula/program.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "formula/parser.h"
#include "op/text.h"

const struct hc_function_info hc_functions[HC_FUNCTION_COUNT] = {
#define HC_FUNCTION(name, spelling, kind, word, least, most)                                       \
    {#name, spelling, HC_FUNCTION_##kind, HC_FUNCTION_##word, least, most},
#include "formula/functions.def"
#undef HC_FUNCTION
};

/* A program and its memory. Its words are in parser.c, its grammar is in parse.c. */

/* Memory is freed in the reverse order, so that a failed parse takes back what it got. */
struct hc_allocation {
    struct hc_allocation *before;
    max_align_t bytes[];
};

void *hc_program_allocate(struct hc_program *program, size_t size)
{
    struct hc_allocation *made = calloc(1, sizeof *made + size);
    if (!made)
        return NULL;
    made->before = program->memory;
    program->memory = made;
    return made->bytes;
}

static void free_until(struct hc_program *program, const struct hc_allocation *kept)
{
    while (program->memory != kept) {
        struct hc_allocation *last = program->memory;
        program->memory = last->before;
        free(last);
    }
}

struct hc_program *hc_program_new(void)
{
    return calloc(1, sizeof(struct hc_program));
}

void hc_program_free(struct hc_program *program)
{
    if (program)
        free_until(program, NULL);
    free(program);
}

void hc_formula_plain(char *text)
{
    static const char *const signs[] = {"\u2212", "\u2013", "\u2010", "\u2011"};
    char *to = text;
    while (*text) {
        size_t length = 0;
        for (size_t i = 0; i < sizeof signs / sizeof *signs && !length; i++)
            length = strncmp(text, signs[i], strlen(signs[i])) == 0 ? strlen(signs[i]) : 0;
        *to++ = length ? '-' : *text;
        text += length ? length : 1;
    }
    *to = '\0';
}

const struct hc_block *hc_program_parse(struct hc_program *program, const char *text,
                                        bool expressions, struct hc_formula_error *error)
{
    struct hc_program before = *program;
    size_t length = strlen(text);
    *error = (struct hc_formula_error){.text = text, .length = 1};
    if (length > HC_LONGEST_FORMULA) {
        error->at = HC_LONGEST_FORMULA;
        (void)snprintf(error->what, sizeof error->what, "a text has at most %d characters",
                       HC_LONGEST_FORMULA);
        return NULL;
    }
    struct hc_block *block = hc_program_allocate(program, sizeof *block);
    char *copy = block ? hc_program_allocate(program, length + 1) : NULL;
    if (copy) {
        memcpy(copy, text, length + 1);
        block->text = copy;
        if (hc_parse(program, block, expressions, error))
            return block;
    }
    if (error->what[0] == '\0') {
        error->length = 0;
        (void)snprintf(error->what, sizeof error->what, "there is no memory for the formula");
    }
    free_until(program, before.memory);
    *program = before;
    return NULL;
}

int hc_program_names(const struct hc_program *program)
{
    return program->names;
}

const char *hc_program_name(const struct hc_program *program, int name)
{
    assert(name >= 0 && name < program->names);
    return program->name[name].text;
}

int hc_program_nodes(const struct hc_program *program)
{
    return program->nodes;
}

bool hc_node_reads_step(const struct hc_node *node)
{
    bool reads = node->kind == HC_NODE_STEP;
    for (int i = 0; i < node->operands && !reads; i++)
        reads = hc_node_reads_step(node->operand[i]);
    return reads;
}

/* An error for a terminal. What stands in the text may be anything; what is printed is one line of
   it, in characters of one column each, cut where it is too long for the terminal. */

enum { COLUMNS = 79, INDENT = 2, ROOM = COLUMNS - INDENT };

/* The output: `used` bytes of `size`. */
struct output {
    char *buffer;
    size_t size;
    size_t used;
};

#if defined(__GNUC__)
__attribute__((format(printf, 2, 3)))
#endif
static void
print(struct output *out, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int n = vsnprintf(out->buffer + out->used, out->size - out->used, format, arguments);
    va_end(arguments);
    out->used = out->used + (size_t)n < out->size ? out->used + (size_t)n : out->size - 1;
}

/* The sentence, as many words on a line as fit. */
static void print_words(struct output *out, const char *text)
{
    for (int column = 0; *text;) {
        int n = (int)strcspn(text + 1, " ") + 1;
        if (column > 0 && column + n > COLUMNS) {
            print(out, "\n ");
            column = 1;
        }
        print(out, "%.*s", n, text);
        column += n;
        text += n;
    }
    print(out, "\n");
}

/* The next character as one column. */
static const char *column(const char *at, char character[5])
{
    char was = *at;
    (void)hc_text_next(&at, character);
    if (character[0] == ' ' && was != ' ' && was != '\t')
        character[0] = '?';
    return at;
}

static int columns(const char *from, const char *to)
{
    char character[5];
    int n = 0;
    for (; from < to; n++)
        from = column(from, character);
    return n;
}

void hc_formula_error_text(const struct hc_formula_error *error, char *buffer, size_t size)
{
    struct output out = {.size = size};
    const char *place = error->text + error->at;
    const char *line = place;
    const char *end = place + strcspn(place, "\n");
    const char *marked = place + error->length < end ? place + error->length : end;
    char character[5];
    while (line > error->text && line[-1] != '\n')
        line--;
    int at = columns(line, place);
    int all = columns(line, end);
    int width = columns(place, marked);
    /* Columns first to last - 1 are printed, with dots where the line goes on. */
    int first = all <= ROOM || at < ROOM / 2 ? 0 : at - ROOM / 2;
    if (first > 0 && all - first < ROOM)
        first = all - ROOM;
    int last = all - first > ROOM ? first + ROOM : all;
    if (size == 0)
        return;
    out.buffer = buffer;
    print_words(&out, error->what);
    print(&out, "%*s", INDENT, "");
    for (int n = 0; n < last; n++) {
        line = column(line, character);
        bool dots = (first > 0 && n < first + 3) || (last < all && n >= last - 3);
        if (n >= first)
            print(&out, "%s", dots ? "." : character);
    }
    print(&out, "\n%*s^", INDENT + at - first, "");
    for (int n = at + 1; n < at + width && n < last; n++)
        print(&out, "~");
}
