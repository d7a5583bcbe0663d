/* The reader of definitions, line by line. Names are known when they are read: an equation reads
   inputs and what equations above it have assigned.

     definition = "op" NAME "(" input { "," input } [ ";" option { "," option } ] ")" { line }
     input      = NAME [ "[" AXIS { "," AXIS } "]" ] [ ":" ( "index" [ AXIS ] | "gradient" ) ]
     option     = NAME "=" ( "true" | "false" | expression )
     line       = "axis" AXIS "=" expression
                | [ "scan" AXIS ":" ] NAME [ "[" AXIS { "," AXIS } "]" ] "="
                      [ "shift" | "store" [ "?" ] ] expression [ "where" truth ]
                | NAME "[" ... "-" "1" ... "]" "=" expression                what a scan starts from
                | "return" NAME [ ":" FORMAT ] { "," NAME [ ":" FORMAT ] } */
#include <assert.h>
#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "define/pieces.h"
#include "define/reader.h"
#include "define/value.h"

/* Tokens. */

static void skip_lines(struct hc_reader *r)
{
    while (hc_reader_is(r, "\n") && (r->brackets > 0 || hc_line_goes_on(&r->token)))
        r->token = hc_token_at(r->token.at + r->token.length);
}

void hc_reader_next(struct hc_reader *r)
{
    r->end = r->token.at + r->token.length;
    r->token = hc_token_at(r->end);
    skip_lines(r);
}

bool hc_reader_is(const struct hc_reader *r, const char *text)
{
    return r->token.kind != HC_TOKEN_END && hc_token_is(&r->token, text);
}

bool hc_reader_take(struct hc_reader *r, const char *text)
{
    bool here = hc_reader_is(r, text);
    if (here)
        hc_reader_next(r);
    return here;
}

bool hc_reader_ends(const struct hc_reader *r)
{
    return r->token.kind == HC_TOKEN_END || hc_reader_is(r, "\n");
}

bool hc_reader_wrong(struct hc_reader *r, const char *at, long length, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(r->error->what, sizeof r->error->what, format, arguments);
    va_end(arguments);
    /* The error is told in the caller's text, of which ours is a copy. */
    r->error->at = (int)(at - r->definition->text);
    r->error->length = length > 0 ? (int)length : 1;
    return false;
}

bool hc_reader_missing(struct hc_reader *r, const char *what)
{
    const struct hc_token *t = &r->token;
    if (t->kind == HC_TOKEN_MALFORMED)
        return hc_reader_wrong(r, t->at, t->length, "%s is neither a number nor a name",
                               hc_parser_quote(t->at, t->length).text);
    if (t->kind == HC_TOKEN_STRAY)
        return hc_reader_wrong(r, t->at, t->length, "%s means nothing in a definition",
                               hc_parser_quote(t->at, t->length).text);
    if (hc_reader_ends(r))
        return hc_reader_wrong(r, r->end, 1, "%s is missing", what);
    return hc_reader_wrong(r, t->at, t->length, "%s is missing before %s", what,
                           hc_parser_quote(t->at, t->length).text);
}

bool hc_reader_expect(struct hc_reader *r, const char *sign, const char *what)
{
    return hc_reader_take(r, sign) || hc_reader_missing(r, what);
}

/* Names. */

int hc_definition_tensor(const struct hc_definition *definition, const char *name)
{
    for (int i = 0; i < definition->tensors; i++)
        if (strcmp(definition->tensor[i].name, name) == 0)
            return i;
    return -1;
}

int hc_definition_axis(const struct hc_definition *definition, const char *name)
{
    for (int i = 0; i < definition->axes; i++)
        if (strcmp(definition->axis[i].name, name) == 0)
            return i;
    return -1;
}

int hc_definition_option(const struct hc_definition *definition, const char *name)
{
    for (int i = 0; i < definition->options; i++)
        if (strcmp(definition->option[i].name, name) == 0)
            return i;
    return -1;
}

static const char *const words[] = {"op",    "axis",  "scan",    "shift",   "store", "return",
                                    "where", "index", "not",     "either",  "and",   "or",
                                    "mod",   "true",  "false",   "inf",     "nan",   "pi",
                                    "use",   "let",   "variant", "backward"};

/* What the word means already, or NULL. */
static const char *meaning(const struct hc_definition *d, const char *name)
{
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (strcmp(words[i], name) == 0)
            return "a word of the language";
    for (int k = 0; k < HC_REDUCTIONS; k++)
        if (strcmp(hc_reduction_names[k], name) == 0)
            return "a sum or its like";
    if (hc_definition_tensor(d, name) >= 0)
        return "a tensor";
    if (hc_definition_option(d, name) >= 0)
        return "an option";
    if (hc_definition_axis(d, name) >= 0)
        return "an axis";
    for (int i = 0; i < d->axes; i++) {
        const char *a = d->axis[i].name;
        const char *b = name;
        while (*a && toupper((unsigned char)*a) == *b && isupper((unsigned char)*b)) {
            a++;
            b++;
        }
        if (*a == '\0' && *b == '\0')
            return "the extent of an axis";
    }
    return NULL;
}

/* The name of the next token as text; false if it is none, or too long, or has a meaning already.
   `what` is what it is to name. */
static bool read_new_name(struct hc_reader *r, const char *what,
                          char name[HC_LONGEST_DEFINED_NAME + 1])
{
    struct hc_token token = r->token;
    if (token.kind != HC_TOKEN_NAME)
        return hc_reader_missing(r, what);
    if (token.length > HC_LONGEST_DEFINED_NAME)
        return hc_reader_wrong(r, token.at, token.length, "a name has at most %d characters",
                               HC_LONGEST_DEFINED_NAME);
    (void)snprintf(name, HC_LONGEST_DEFINED_NAME + 1, "%.*s", token.length, token.at);
    const char *means = meaning(r->definition, name);
    if (means)
        return hc_reader_wrong(r, token.at, token.length, "%s is %s and can be no name of %s",
                               hc_parser_quote(token.at, token.length).text, means, what);
    hc_reader_next(r);
    return true;
}

bool hc_read_axis(struct hc_reader *r, int *axis)
{
    char name[HC_LONGEST_DEFINED_NAME + 1] = "";
    struct hc_token token = r->token;
    if (token.kind != HC_TOKEN_NAME)
        return hc_reader_missing(r, "an axis");
    if (token.length <= HC_LONGEST_DEFINED_NAME)
        (void)snprintf(name, sizeof name, "%.*s", token.length, token.at);
    *axis = hc_definition_axis(r->definition, name);
    if (*axis < 0)
        return hc_reader_wrong(r, token.at, token.length,
                               "%s is no axis: no input has it, and no line 'axis %s = ...'",
                               hc_parser_quote(token.at, token.length).text, name);
    hc_reader_next(r);
    return true;
}

/* Adds an axis; its name is in small letters. */
static bool add_axis(struct hc_reader *r, int *axis)
{
    struct hc_definition *d = r->definition;
    struct hc_token token = r->token;
    char name[HC_LONGEST_DEFINED_NAME + 1] = "";
    char extent[HC_LONGEST_DEFINED_NAME + 1];
    if (!read_new_name(r, "an axis", name))
        return false;
    for (size_t i = 0; i <= strlen(name); i++) {
        if (isupper((unsigned char)name[i]))
            return hc_reader_wrong(r, token.at, token.length,
                                   "an axis has a name in small letters; capitals are its extent");
        extent[i] = (char)toupper((unsigned char)name[i]);
    }
    const char *means = meaning(d, extent);
    if (means && strcmp(extent, name) != 0)
        return hc_reader_wrong(r, token.at, token.length,
                               "%s would be the extent of this axis, and is %s", extent, means);
    if (d->axes == HC_MAX_AXES)
        return hc_reader_wrong(r, token.at, token.length, "there are more than %d axes",
                               HC_MAX_AXES);
    *axis = d->axes++;
    (void)snprintf(d->axis[*axis].name, sizeof d->axis[*axis].name, "%s", name);
    return true;
}

/* The head: inputs and options. */

/* Reads the axes of an input between brackets; new ones are added. */
static bool read_axes(struct hc_reader *r, struct hc_defined_tensor *t)
{
    struct hc_definition *d = r->definition;
    if (!hc_reader_take(r, "["))
        return true;
    r->brackets++;
    do {
        char name[HC_LONGEST_DEFINED_NAME + 1] = "";
        if (t->rank == HC_MAX_RANK)
            return hc_reader_wrong(r, r->token.at, r->token.length, "a tensor has at most %d axes",
                                   HC_MAX_RANK);
        if (r->token.kind == HC_TOKEN_NAME && r->token.length <= HC_LONGEST_DEFINED_NAME)
            (void)snprintf(name, sizeof name, "%.*s", r->token.length, r->token.at);
        int axis = hc_definition_axis(d, name);
        if (axis >= 0)
            hc_reader_next(r);
        else if (!add_axis(r, &axis))
            return false;
        d->axis[axis].inputs++;
        t->axis[t->rank++] = axis;
    } while (hc_reader_take(r, ","));
    r->brackets--;
    return hc_reader_expect(r, "]", "']' or ','");
}

static bool add_tensor(struct hc_reader *r, const char *at, struct hc_defined_tensor **t)
{
    struct hc_definition *d = r->definition;
    if (d->tensors == HC_MAX_DEFINED_TENSORS)
        return hc_reader_wrong(r, at, 1, "there are more than %d tensors", HC_MAX_DEFINED_TENSORS);
    *t = &d->tensor[d->tensors];
    **t = (struct hc_defined_tensor){
        .index_axis = -1, .format = HC_FORMAT_COUNT, .scan = -1, .at = at};
    return true;
}

static bool read_input(struct hc_reader *r)
{
    struct hc_defined_tensor *t = NULL;
    char name[HC_LONGEST_DEFINED_NAME + 1];
    if (!add_tensor(r, r->token.at, &t) || !read_new_name(r, "an input", name))
        return false;
    assert(t);
    (void)snprintf(t->name, sizeof t->name, "%s", name);
    t->input = true;
    /* Its own name is known before its axes are read, so that none of them is the same. */
    r->definition->tensors++;
    r->definition->inputs++;
    if (!read_axes(r, t))
        return false;
    if (!hc_reader_take(r, ":"))
        return true;
    t->gradient = hc_reader_take(r, "gradient");
    if (t->gradient)
        return true;
    if (!hc_reader_take(r, "index"))
        return hc_reader_missing(r, "'index' or 'gradient'");
    t->index = true;
    if (r->token.kind == HC_TOKEN_NAME)
        return hc_read_axis(r, &t->index_axis);
    return true;
}

static bool read_option(struct hc_reader *r)
{
    struct hc_definition *d = r->definition;
    struct hc_expression *value = NULL;
    char name[HC_LONGEST_DEFINED_NAME + 1];
    struct hc_token token = r->token;
    if (!read_new_name(r, "an option", name) || !hc_reader_expect(r, "=", "'='"))
        return false;
    if (d->options == HC_MAX_DEFINED_OPTIONS)
        return hc_reader_wrong(r, token.at, token.length, "there are more than %d options",
                               HC_MAX_DEFINED_OPTIONS);
    bool truth = hc_reader_is(r, "true") || hc_reader_is(r, "false");
    if (!hc_read_expression(r, truth ? HC_TYPE_TRUTH : HC_TYPE_REAL, &value))
        return false;
    struct hc_defined_option *option = &d->option[d->options++];
    (void)snprintf(option->name, sizeof option->name, "%s", name);
    option->value = value;
    option->type = value->type == HC_TYPE_TRUTH     ? HC_OPTION_TRUTH
                   : value->type == HC_TYPE_INTEGER ? HC_OPTION_INTEGER
                                                    : HC_OPTION_REAL;
    return true;
}

static bool read_head(struct hc_reader *r)
{
    while (hc_reader_take(r, "\n"))
        ;
    if (!hc_reader_expect(r, "op", "'op', with which a definition begins,") ||
        !read_new_name(r, "an op", r->definition->name))
        return false;
    r->brackets++;
    if (!hc_reader_expect(r, "(", "'('"))
        return false;
    do {
        if (!read_input(r))
            return false;
    } while (hc_reader_take(r, ","));
    if (hc_reader_take(r, ";"))
        do {
            if (!read_option(r))
                return false;
        } while (hc_reader_take(r, ","));
    r->brackets--;
    return hc_reader_expect(r, ")", "')', ',' or ';'") &&
           (hc_reader_ends(r) || hc_reader_missing(r, "the end of the line"));
}

/* Equations. */

/* The left side's axes: those that exist, each once; or -1 in the place of a scan's axis, *start.
 */
static bool read_left(struct hc_reader *r, struct hc_defined_tensor *t, int *start)
{
    *start = -1;
    if (!hc_reader_take(r, "["))
        return true;
    r->brackets++;
    do {
        struct hc_token token = r->token;
        int axis = -1;
        if (t->rank == HC_MAX_RANK)
            return hc_reader_wrong(r, token.at, token.length, "a tensor has at most %d axes",
                                   HC_MAX_RANK);
        if (hc_reader_take(r, "-")) {
            if (!hc_reader_take(r, "1") || *start >= 0)
                return hc_reader_wrong(r, token.at, 1,
                                       "the left side has axes, and -1 once, from where a scan "
                                       "starts");
            *start = t->rank;
        } else if (!hc_read_axis(r, &axis)) {
            return false;
        } else if (r->bound[axis]) {
            return hc_reader_wrong(r, token.at, token.length,
                                   "axis %s stands here twice; only inputs may have one twice",
                                   r->definition->axis[axis].name);
        }
        if (axis >= 0)
            r->bound[axis]++;
        t->axis[t->rank++] = axis;
    } while (hc_reader_take(r, ","));
    r->brackets--;
    return hc_reader_expect(r, "]", "']' or ','");
}

/* What a scan starts from: h[c, -1] = ..., kept until the scan's own equation names its axis. */
static bool read_start(struct hc_reader *r, struct hc_defined_tensor *t)
{
    struct hc_expression *before = NULL;
    if (r->scan >= 0)
        return hc_reader_wrong(r, t->at, t->length, "a scan assigns the elements from 0 on");
    if (!hc_read_expression(r, HC_TYPE_REAL, &before))
        return false;
    t->before = before;
    t->length = (int)(r->end - t->at);
    r->definition->tensors++;
    return true;
}

/* Joins a scan's equation with the line above it that says from what it starts. */
static bool join_start(struct hc_reader *r, struct hc_defined_tensor *t,
                       const struct hc_defined_tensor *start)
{
    bool same = start->rank == t->rank;
    for (int i = 0; same && i < t->rank; i++)
        same = start->axis[i] == t->axis[i] || (start->axis[i] < 0 && t->axis[i] == r->scan);
    if (!same)
        return hc_reader_wrong(r, t->at, r->token.at - t->at,
                               "%s starts with other axes than it goes on with", t->name);
    t->before = start->before;
    t->at = start->at; /* its text begins there */
    return true;
}

static bool read_right(struct hc_reader *r, struct hc_defined_tensor *t)
{
    struct hc_expression *value = NULL;
    struct hc_expression *where = NULL;
    t->shift = hc_reader_take(r, "shift");
    struct hc_token word = r->token;
    struct hc_token after = hc_token_at(word.at + word.length);
    bool store = !t->shift && hc_reader_is(r, "store") && !hc_token_is(&after, "(");
    bool optional = false;
    if (store) {
        hc_reader_next(r);
        optional = r->token.kind == HC_TOKEN_STRAY && hc_reader_take(r, "?");
    }
    if (!hc_read_expression(r, HC_TYPE_REAL, &value))
        return false;
    struct hc_expression rounding = {.kind = HC_EXPRESSION_STORE,
                                     .type = HC_TYPE_REAL,
                                     .format = HC_FORMAT_COUNT,
                                     .optional = optional,
                                     .operands = 1,
                                     .operand = {value}};
    if (store && !hc_expression_make(r, rounding, word.at, &value))
        return false;
    if (hc_reader_take(r, "where") && !hc_read_expression(r, HC_TYPE_TRUTH, &where))
        return false;
    t->value = value;
    t->where = where;
    return true;
}

static bool read_equation(struct hc_reader *r)
{
    struct hc_definition *d = r->definition;
    struct hc_token name = r->token;
    struct hc_defined_tensor *t = NULL;
    struct hc_defined_tensor start = {.before = NULL};
    char text[HC_LONGEST_DEFINED_NAME + 1] = "";
    int from = -1;
    if (name.kind == HC_TOKEN_NAME && name.length <= HC_LONGEST_DEFINED_NAME)
        (void)snprintf(text, sizeof text, "%.*s", name.length, name.at);
    int known = hc_definition_tensor(d, text);
    if (known >= 0 && !d->tensor[known].input && !d->tensor[known].value) {
        /* A line above says from what it starts; its place is taken. */
        if (known != d->tensors - 1 || r->scan < 0)
            return hc_reader_wrong(r, name.at, name.length,
                                   "the line behind the start of %s is 'scan AXIS: %s[...] = ...'",
                                   text, text);
        start = d->tensor[known];
        d->tensors--;
    }
    if (!add_tensor(r, name.at, &t) || !read_new_name(r, "a tensor", text))
        return false;
    (void)snprintf(t->name, sizeof t->name, "%s", text);
    memset(r->bound, 0, sizeof r->bound);
    if (!read_left(r, t, &from))
        return false;
    t->length = (int)(r->end - t->at);
    if (!hc_reader_expect(r, "=", "'='"))
        return false;
    if (from >= 0)
        return read_start(r, t);
    if (r->scan >= 0 && !r->bound[r->scan])
        return hc_reader_wrong(r, t->at, t->length, "a scan over %s assigns along %s",
                               d->axis[r->scan].name, d->axis[r->scan].name);
    t->scan = r->scan;
    if (start.before && !join_start(r, t, &start))
        return false;
    if (r->scan >= 0 && !start.before)
        return hc_reader_wrong(r, t->at, t->length,
                               "a scan starts from a line above it, such as '%s[-1] = 0'", t->name);
    /* A scan reads itself, and so its name is known on its right side. */
    r->assigned = d->tensors;
    d->tensors += r->scan >= 0;
    bool read = read_right(r, t);
    d->tensors += read && r->scan < 0;
    t->length = (int)(r->end - t->at);
    r->assigned = -1;
    return read;
}

static bool read_declared_axis(struct hc_reader *r)
{
    struct hc_expression *extent = NULL;
    int axis = 0;
    memset(r->bound, 0, sizeof r->bound);
    if (!add_axis(r, &axis) || !hc_reader_expect(r, "=", "'='") ||
        !hc_read_expression(r, HC_TYPE_INTEGER, &extent))
        return false;
    r->definition->axis[axis].extent = extent;
    return true;
}

static bool read_return(struct hc_reader *r)
{
    struct hc_definition *d = r->definition;
    do {
        struct hc_token token = r->token;
        char name[HC_LONGEST_DEFINED_NAME + 1] = "";
        if (token.kind != HC_TOKEN_NAME)
            return hc_reader_missing(r, "the name of a tensor");
        if (token.length <= HC_LONGEST_DEFINED_NAME)
            (void)snprintf(name, sizeof name, "%.*s", token.length, token.at);
        int t = hc_definition_tensor(d, name);
        if (t < 0 || d->tensor[t].input)
            return hc_reader_wrong(r, token.at, token.length, "%s is assigned by no equation",
                                   hc_parser_quote(token.at, token.length).text);
        if (d->tensor[t].returned || d->tensor[t].shift)
            return hc_reader_wrong(r, token.at, token.length,
                                   d->tensor[t].shift ? "a shift is no result"
                                                      : "this is returned already");
        d->tensor[t].returned = true;
        d->result[d->results++] = t;
        hc_reader_next(r);
        if (!hc_reader_take(r, ":"))
            continue;
        char format[HC_LONGEST_DEFINED_NAME + 1] = "";
        if (r->token.kind == HC_TOKEN_NAME && r->token.length <= HC_LONGEST_DEFINED_NAME)
            (void)snprintf(format, sizeof format, "%.*s", r->token.length, r->token.at);
        d->tensor[t].format = hc_format_by_name(format);
        if (d->tensor[t].format == HC_FORMAT_COUNT)
            return hc_reader_missing(r, "a format, such as fp32,");
        hc_reader_next(r);
    } while (hc_reader_take(r, ","));
    return true;
}

static bool read_lines(struct hc_reader *r)
{
    while (r->token.kind != HC_TOKEN_END) {
        if (hc_reader_take(r, "\n"))
            continue;
        if (r->definition->results)
            return hc_reader_wrong(r, r->token.at, r->token.length,
                                   "'return' is the last line of a definition");
        bool read;
        r->scan = -1;
        if (hc_reader_take(r, "axis"))
            read = read_declared_axis(r);
        else if (hc_reader_take(r, "return"))
            read = read_return(r);
        else if (hc_reader_take(r, "scan"))
            read = hc_read_axis(r, &r->scan) && hc_reader_expect(r, ":", "':'") && read_equation(r);
        else
            read = read_equation(r);
        if (!read || (!hc_reader_ends(r) && !hc_reader_missing(r, "an operator or the line's end")))
            return false;
    }
    return r->definition->results || hc_reader_missing(r, "'return' with the results");
}

/* Whether an input that is not read gives an axis its extent. */
static bool gives_extent(const struct hc_definition *d, const bool *used, int input)
{
    for (int i = 0; i < d->tensor[input].rank; i++) {
        int axis = d->tensor[input].axis[i];
        bool elsewhere = false;
        for (int k = 0; k < d->inputs; k++)
            for (int j = 0; j < d->tensor[k].rank && used[k]; j++)
                elsewhere = elsewhere || d->tensor[k].axis[j] == axis;
        if (!elsewhere)
            return true;
    }
    return false;
}

/* Every input is read, or gives an axis its extent, and every equation's tensor is read or
   returned: otherwise a name is misspelt. */
static bool all_used(struct hc_reader *r)
{
    struct hc_definition *d = r->definition;
    bool used[HC_MAX_DEFINED_TENSORS] = {false};
    for (int i = 0; i < d->expressions; i++)
        if (d->expression[i]->kind == HC_EXPRESSION_READ)
            used[d->expression[i]->tensor] = true;
    for (int i = 0; i < d->tensors; i++) {
        const struct hc_defined_tensor *t = &d->tensor[i];
        long length = t->input ? (long)strlen(t->name) : t->length;
        if (!t->input && !t->value)
            return hc_reader_wrong(r, t->at, length, "no scan goes on from here");
        if (!used[i] && !t->returned && !(t->input && gives_extent(d, used, i)))
            return hc_reader_wrong(r, t->at, length, "%s is not used", t->name);
    }
    return true;
}

struct hc_definition *hc_read_equations(const char *text, bool made, struct hc_formula_error *error)
{
    struct hc_definition *d = calloc(1, sizeof *d);
    if (!d || !(d->text = strdup(text))) {
        free(d);
        return NULL;
    }
    struct hc_reader r = {.definition = d,
                          .error = error,
                          .text = d->text,
                          .assigned = -1,
                          .scan = -1,
                          .made = made,
                          .end = d->text};
    r.token = hc_token_at(d->text);
    if (!read_head(&r) || !read_lines(&r) ||
        (!made && (!all_used(&r) || !hc_instance_possible(d, error)))) {
        hc_definition_free(d);
        return NULL;
    }
    hc_definition_find_moments(d);
    return d;
}
