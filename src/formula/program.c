/* A program and its memory. Its words are in names.c, its grammar is in parse.c. */
#include "formula/program_inner.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
