#include "formula/parser.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "op/text.h"

void hc_parser_next(struct hc_parser *p)
{
    p->end = p->token.at + p->token.length;
    p->token = hc_token_at(p->end);
}

bool hc_parser_is(const struct hc_parser *p, const char *sign)
{
    return p->token.kind == HC_TOKEN_SIGN && hc_token_is(&p->token, sign);
}

bool hc_parser_take(struct hc_parser *p, const char *sign)
{
    bool here = hc_parser_is(p, sign);
    if (here)
        hc_parser_next(p);
    return here;
}

bool hc_parser_ends(const struct hc_parser *p)
{
    return p->token.kind == HC_TOKEN_END || hc_parser_is(p, ";") || hc_parser_is(p, "\n");
}

bool hc_parser_wrong(struct hc_parser *p, const char *at, long length, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(p->error->what, sizeof p->error->what, format, arguments);
    va_end(arguments);
    p->error->at = (int)(at - p->text);
    p->error->length = length > 0 ? (int)length : 1;
    return false;
}

struct hc_quoted hc_parser_quote(const char *at, int length)
{
    struct hc_quoted q = {"'"};
    size_t used = 1;
    char character[5];
    const char *end = at + length;
    while (at < end && used < sizeof q.text - 12)
        used += (size_t)snprintf(q.text + used, sizeof q.text - used, "%.*s",
                                 (int)hc_text_next(&at, character), character);
    (void)snprintf(q.text + used, sizeof q.text - used, "%s'", at < end ? "..." : "");
    return q;
}

bool hc_parser_unexpected(struct hc_parser *p, const char *missing)
{
    static const struct {
        const char *sign;
        const char *what;
    } hints[] = {
        {"=", "'=' assigns; '==' compares"},
        {":=", "':=' stands behind the name of a constant, at the start of a statement"},
        {"**", "'**' is no sign here: write ^ between constants, x*x between values"},
        {"//", "'//' is no sign here: write floor(a / b)"},
        {"&&", "'&&' is no sign here: truths are 0 or 1, write a * b"},
        {"||", "'||' is no sign here: truths are 0 or 1, write max(a, b)"},
        {"%", "'%' is no sign here: write a - b*floor(a / b)"},
        {"!", "'!' is no sign here: write a == 0"},
        {".", "'.' is no sign here: write half(x), not x.half(), and sqrt(x), not torch.sqrt(x)"},
    };
    const struct hc_token *t = &p->token;
    for (size_t i = 0; i < sizeof hints / sizeof hints[0]; i++)
        if (hc_token_is(t, hints[i].sign))
            return hc_parser_wrong(p, t->at, t->length, "%s", hints[i].what);
    if (t->kind == HC_TOKEN_MALFORMED)
        return hc_parser_wrong(p, t->at, t->length, "%s is neither a number nor a name",
                               hc_parser_quote(t->at, t->length).text);
    if (t->kind == HC_TOKEN_STRAY)
        return hc_parser_wrong(p, t->at, t->length, "%s means nothing in a formula",
                               hc_parser_quote(t->at, t->length).text);
    if (hc_parser_ends(p))
        return hc_parser_wrong(p, p->end, 1, "%s is missing%s", missing,
                               hc_parser_is(p, "\n") ? ": a formula ends with its line" : "");
    return hc_parser_wrong(p, t->at, t->length, "%s is missing before %s", missing,
                           hc_parser_quote(t->at, t->length).text);
}

bool hc_parser_too_deep(struct hc_parser *p, const char *at, long length)
{
    return hc_parser_wrong(p, at, length, "more than %d operands are nested here",
                           HC_DEEPEST_FORMULA);
}

/* Whether an expression of this function, or of none, is constant if its operands are. */
static bool keeps_constants(const struct hc_node *node)
{
    if (node->kind != HC_NODE_APPLY && node->kind != HC_NODE_OVER)
        return true;
    return node->function != HC_FN_cast && node->function != HC_FN_quantize &&
           node->function != HC_FN_fake_quantize &&
           (hc_functions[node->function].kind != HC_FUNCTION_LIST || node->function == HC_FN_list);
}

bool hc_parser_reduce(struct hc_parser *p, struct hc_node node, const char *start, int operands)
{
    struct hc_node *made = hc_program_allocate(p->program, sizeof *made);
    if (operands)
        node.operand = hc_program_allocate(p->program, (size_t)operands * sizeof made);
    if (p->count == p->room) {
        int room = 2 * p->room + 64;
        struct hc_node **stack = realloc(p->stack, (size_t)room * sizeof *stack);
        if (!stack)
            return false;
        p->stack = stack;
        p->room = room;
    }
    if (!made || (operands && !node.operand))
        return false;
    p->count -= operands;
    node.constant = operands ? keeps_constants(&node) : node.constant;
    for (int i = 0; i < operands; i++) {
        node.operand[i] = p->stack[p->count + i];
        node.constant = node.constant && node.operand[i]->constant;
        node.depth = node.operand[i]->depth > node.depth ? node.operand[i]->depth : node.depth;
    }
    node.constant = node.constant || (node.kind == HC_NODE_APPLY && node.function == HC_FN_len);
    node.id = p->program->nodes++;
    node.at = start;
    node.length = (int)(p->end - start);
    node.operands = operands;
    if (++node.depth > HC_DEEPEST_FORMULA)
        return hc_parser_too_deep(p, start, node.length);
    *made = node;
    p->stack[p->count++] = made;
    return true;
}

const struct hc_node *hc_parser_top(const struct hc_parser *p)
{
    return p->stack[p->count - 1];
}

bool hc_parser_constant(struct hc_parser *p, const char *rule)
{
    const struct hc_node *node = hc_parser_top(p);
    if (node->constant)
        return true;
    for (int i = 0; i < node->operands && keeps_constants(node); i++)
        if (!node->operand[i]->constant) {
            node = node->operand[i];
            i = -1;
        }
    return hc_parser_wrong(p, node->at, node->length, "%s, and %s is a value", rule,
                           hc_parser_quote(node->at, node->length).text);
}
