/* The names, words and memory of a program. The grammar is in parse.c. */
#include "formula/program_inner.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "op/typed.h"

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

/* Words of a fixed meaning that are no functions, and PyTorch's names of formats. */
static const struct {
    const char *text;
    enum hc_word_kind kind;
    enum hc_format format;
} words[] = {
    {"inf", HC_WORD_NUMBER, HC_FORMAT_COUNT}, {"nan", HC_WORD_NUMBER, HC_FORMAT_COUNT},
    {"pi", HC_WORD_NUMBER, HC_FORMAT_COUNT},  {"step", HC_WORD_STEP, HC_FORMAT_COUNT},
    {"double", HC_WORD_CAST, HC_FP64},        {"float64", HC_WORD_CAST, HC_FP64},
    {"float", HC_WORD_CAST, HC_FP32},         {"float32", HC_WORD_CAST, HC_FP32},
    {"half", HC_WORD_CAST, HC_FP16},          {"float16", HC_WORD_CAST, HC_FP16},
    {"bfloat16", HC_WORD_CAST, HC_BF16},
};
enum { WORDS = sizeof words / sizeof words[0] };

static bool is_callable(enum hc_function f)
{
    return strchr("+-*/<>=!^", *hc_functions[f].spelling) == NULL && f != HC_FN_cast;
}

static bool is_cast(const struct hc_program *program, const char *text, struct hc_node *node)
{
    enum hc_format format = hc_format_by_name(text);
    for (int i = 0; i < WORDS; i++)
        if (words[i].kind == HC_WORD_CAST && strcmp(words[i].text, text) == 0)
            format = words[i].format;
    node->function = HC_FN_cast;
    node->format = format;
    if (format != HC_FORMAT_COUNT)
        return !hc_is_integer(&hc_formats[format]);
    for (int i = 0; i < program->casts; i++)
        if (strcmp(program->cast[i], text) == 0) {
            (void)snprintf(node->cast_name, sizeof node->cast_name, "%s", text);
            return true;
        }
    return false;
}

/* A cast may end in the direction of its rounding. */
static bool is_directed_cast(const struct hc_program *program, char *text, struct hc_node *node)
{
    static const char *const endings[HC_DIRECTION_COUNT] = {
        [HC_TOWARD_ZERO] = "_rz", [HC_UPWARD] = "_ru", [HC_DOWNWARD] = "_rd"};
    if (is_cast(program, text, node))
        return true;
    char *ending = strrchr(text, '_');
    for (int d = 0; ending && d < HC_DIRECTION_COUNT; d++)
        if (endings[d] && strcmp(ending, endings[d]) == 0) {
            *ending = '\0';
            node->direction = (enum hc_direction)d;
            return is_cast(program, text, node);
        }
    return false;
}

struct hc_word hc_program_word(const struct hc_program *program, const struct hc_token *token)
{
    struct hc_word word = {.kind = HC_WORD_FREE,
                           .node = {.kind = HC_NODE_APPLY, .format = HC_FORMAT_COUNT}};
    char text[HC_LONGEST_NAME_IN_FORMULA + 1];
    if (token->length > HC_LONGEST_NAME_IN_FORMULA)
        return word;
    (void)snprintf(text, sizeof text, "%.*s", token->length, token->at);
    for (int i = 0; i < WORDS; i++)
        if (words[i].kind != HC_WORD_CAST && strcmp(words[i].text, text) == 0)
            word.kind = words[i].kind;
    for (int f = 0; f < HC_FUNCTION_COUNT; f++)
        if (is_callable((enum hc_function)f) && strcmp(hc_functions[f].spelling, text) == 0) {
            word.kind = HC_WORD_FUNCTION;
            word.node.function = (enum hc_function)f;
        }
    if (word.kind == HC_WORD_FREE && is_directed_cast(program, text, &word.node))
        word.kind = HC_WORD_CAST;
    return word;
}

void hc_program_hint(const struct hc_program *program, const struct hc_token *token, bool function,
                     char *hint, size_t size)
{
    struct hc_nearest nearest = hc_nearest_to(token->at, (size_t)token->length);
    for (int i = 0; !function && i < program->names; i++)
        if (program->name[i].kind != HC_NAME_UNUSED)
            hc_nearest_try(&nearest, program->name[i].text);
    for (int i = 0; i < WORDS; i++)
        if ((words[i].kind == HC_WORD_CAST) == function)
            hc_nearest_try(&nearest, words[i].text);
    for (int i = 0; function && i < program->casts; i++)
        hc_nearest_try(&nearest, program->cast[i]);
    for (int i = 0; function && i < HC_FORMAT_COUNT; i++)
        if (!hc_is_integer(&hc_formats[i]))
            hc_nearest_try(&nearest, hc_formats[i].name);
    for (int f = 0; function && f < HC_FUNCTION_COUNT; f++)
        if (is_callable((enum hc_function)f))
            hc_nearest_try(&nearest, hc_functions[f].spelling);
    (void)snprintf(hint, size, "%s", hc_nearest_hint(&nearest));
}

bool hc_program_add_cast(struct hc_program *program, const char *name)
{
    struct hc_token token = hc_token_at(name);
    if (token.kind != HC_TOKEN_NAME || !hc_token_is(&token, name) || token.length > HC_LONGEST_CAST)
        return false;
    for (int i = 0; i < program->casts; i++)
        if (strcmp(program->cast[i], name) == 0)
            return true;
    for (int i = 0; i < program->names; i++)
        if (strcmp(program->name[i].text, name) == 0)
            return false;
    if (hc_program_word(program, &token).kind != HC_WORD_FREE || program->casts == HC_MAX_CASTS)
        return false;
    (void)snprintf(program->cast[program->casts++], HC_LONGEST_CAST + 1, "%s", name);
    return true;
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
    if (error->what[0] == '\0')
        (void)snprintf(error->what, sizeof error->what, "there is no memory for the formula");
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
