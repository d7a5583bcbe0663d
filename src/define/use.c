#include "define/unfold.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "define/library.h"
#include "op/typed.h"

typedef char name_text[HC_LONGEST_DEFINED_NAME + 1];

/* A tensor with its axes, as it is written. */
struct written {
    const char *at;
    int length;
    name_text name;
    int rank;
    name_text axis[HC_MAX_RANK];
};

/* A part of the text; NULL: none. */
struct part {
    const char *at;
    int length;
};

struct use {
    const char *text;
    struct hc_formula_error *error;
    struct part statement;
    struct part called; /* its name */
    const struct hc_definition *callee;
    int results;
    struct written result[HC_MAX_DEFINED_TENSORS];
    int arguments;
    struct written argument[HC_MAX_DEFINED_TENSORS];
    struct part option[HC_MAX_DEFINED_OPTIONS]; /* what is given for it */
    name_text axis[HC_MAX_AXES];                /* what an axis of the callee is called here; "" */
    int batch;                                  /* axes before the callee's, */
    name_text batch_axis[HC_MAX_RANK];
    bool batched[HC_MAX_DEFINED_TENSORS]; /* of its tensors: they have these axes */
    struct hc_pieces *out;
};

#if defined(__GNUC__)
__attribute__((format(printf, 4, 5)))
#endif
static bool
wrong(struct use *u, const char *at, int length, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(u->error->what, sizeof u->error->what, format, arguments);
    va_end(arguments);
    u->error->at = (int)(at - u->text);
    u->error->length = length > 0 ? length : 1;
    return false;
}

/* Reads words of the statement. */

static bool take(const char **at, const char *sign)
{
    struct hc_token token = hc_token_at(*at);
    if (token.kind == HC_TOKEN_END || !hc_token_is(&token, sign))
        return false;
    *at = token.at + token.length;
    return true;
}

/* Newlines mean nothing between brackets. */
static void skip_lines(const char **at)
{
    while (take(at, "\n"))
        ;
}

static bool expect(struct use *u, const char **at, const char *sign)
{
    skip_lines(at);
    struct hc_token token = hc_token_at(*at);
    return take(at, sign) || wrong(u, token.at, token.length, "'%s' is missing in this use", sign);
}

static bool read_name(struct use *u, const char **at, const char *what, name_text name)
{
    skip_lines(at);
    struct hc_token token = hc_token_at(*at);
    if (token.kind != HC_TOKEN_NAME || token.length > HC_LONGEST_DEFINED_NAME)
        return wrong(u, token.at, token.length, "%s is missing in this use", what);
    (void)snprintf(name, sizeof(name_text), "%.*s", token.length, token.at);
    *at = token.at + token.length;
    return true;
}

/* NAME [ "[" AXIS { "," AXIS } "]" ] */
static bool read_written(struct use *u, const char **at, struct written *w)
{
    skip_lines(at);
    w->at = hc_token_at(*at).at;
    w->rank = 0;
    if (!read_name(u, at, "a tensor with its axes, such as s[t, u],", w->name))
        return false;
    if (take(at, "["))
        do {
            if (w->rank == HC_MAX_RANK)
                return wrong(u, w->at, (int)(*at - w->at), "a tensor has at most %d axes",
                             HC_MAX_RANK);
            if (!read_name(u, at, "an axis", w->axis[w->rank]))
                return false;
            w->rank++;
        } while (take(at, ","));
    if (w->rank && !expect(u, at, "]"))
        return false;
    w->length = (int)(*at - w->at);
    return true;
}

/* An option's value ends before the comma or bracket that is not inside of it. */
static bool read_option(struct use *u, const char **at)
{
    name_text name;
    struct hc_token token = hc_token_at(*at);
    int depth = 0;
    if (!read_name(u, at, "an option", name))
        return false;
    int option = hc_definition_option(u->callee, name);
    if (option < 0)
        return wrong(u, token.at, token.length, "%s has no option %s", u->callee->name, name);
    if (!expect(u, at, "="))
        return false;
    struct part *value = &u->option[option];
    value->at = hc_token_at(*at).at;
    for (;;) {
        token = hc_token_at(*at);
        bool closes = hc_token_is(&token, ")") || hc_token_is(&token, "]");
        if (token.kind == HC_TOKEN_END)
            return wrong(u, value->at, 1, "this use has no end");
        if (depth == 0 && (closes || hc_token_is(&token, ",")))
            break;
        depth += hc_token_is(&token, "(") || hc_token_is(&token, "[");
        depth -= closes;
        *at = token.at + token.length;
        value->length = (int)(*at - value->at);
    }
    return value->length > 0 || wrong(u, token.at, 1, "the option %s has no value", name);
}

/* RESULT { "," RESULT } "=" "use" NAME */
static bool read_left(struct use *u, const char **at)
{
    do {
        if (u->results == HC_MAX_DEFINED_TENSORS || !read_written(u, at, &u->result[u->results]))
            return u->results < HC_MAX_DEFINED_TENSORS
                       ? false
                       : wrong(u, *at, 1, "there are more than %d results", HC_MAX_DEFINED_TENSORS);
        u->results++;
    } while (take(at, ","));
    (void)take(at, "=");
    (void)take(at, "use");
    struct hc_token name = hc_token_at(*at);
    u->called = (struct part){name.at, name.length};
    name_text text;
    return read_name(u, at, "the name of a definition", text);
}

static bool read_right(struct use *u, const char **at)
{
    if (!expect(u, at, "("))
        return false;
    do {
        if (u->arguments == HC_MAX_DEFINED_TENSORS)
            return wrong(u, *at, 1, "there are more than %d arguments", HC_MAX_DEFINED_TENSORS);
        if (!read_written(u, at, &u->argument[u->arguments]))
            return false;
        u->arguments++;
        skip_lines(at);
    } while (take(at, ","));
    if (take(at, ";"))
        do {
            skip_lines(at);
            if (!read_option(u, at))
                return false;
        } while (take(at, ","));
    if (!expect(u, at, ")"))
        return false;
    struct hc_token end = hc_token_at(*at);
    return end.kind == HC_TOKEN_END || hc_token_is(&end, "\n") ||
           wrong(u, end.at, end.length, "a use takes its whole line");
}

/* Which axis here is which there. */

static bool map_axis(struct use *u, const struct written *w, int axis, const char *name)
{
    const struct hc_definition *d = u->callee;
    if (u->axis[axis][0] && strcmp(u->axis[axis], name) != 0)
        return wrong(u, w->at, w->length, "%s's axis %s would be %s and %s", d->name,
                     d->axis[axis].name, u->axis[axis], name);
    for (int i = 0; i < d->axes; i++)
        if (i != axis && strcmp(u->axis[i], name) == 0)
            return wrong(u, w->at, w->length, "%s's axes %s and %s would both be %s", d->name,
                         d->axis[i].name, d->axis[axis].name, name);
    for (int i = 0; i < u->batch; i++)
        if (strcmp(u->batch_axis[i], name) == 0)
            return wrong(u, w->at, w->length, "axis %s stands before %s's axes, and among them",
                         name, d->name);
    (void)snprintf(u->axis[axis], sizeof u->axis[axis], "%s", name);
    return true;
}

/* The axes that stand before the callee's are the same in all arguments that have some. */
static bool take_batch(struct use *u, const struct written *w, int more)
{
    bool first = u->batch == 0;
    bool same = first || more == u->batch;
    for (int i = 0; i < more && same; i++) {
        if (first)
            (void)snprintf(u->batch_axis[i], sizeof u->batch_axis[i], "%s", w->axis[i]);
        same = strcmp(u->batch_axis[i], w->axis[i]) == 0;
    }
    u->batch = same ? more : u->batch;
    return same ||
           wrong(u, w->at, w->length, "arguments of %s have different axes before those of its own",
                 u->callee->name);
}

static bool map_tensor(struct use *u, const struct written *w, int tensor, bool argument)
{
    const struct hc_defined_tensor *t = &u->callee->tensor[tensor];
    int more = w->rank - t->rank;
    if (more < 0 || (!argument && more != u->batch))
        return wrong(u, w->at, w->length, "%s's %s has %d axes of its own, and not %d",
                     u->callee->name, t->name, t->rank, w->rank - (argument ? 0 : u->batch));
    if (argument && more > 0 && !take_batch(u, w, more))
        return false;
    if (!argument)
        for (int i = 0; i < u->batch; i++)
            if (strcmp(u->batch_axis[i], w->axis[i]) != 0)
                return wrong(u, w->at, w->length, "the first axes here are those of the arguments");
    u->batched[tensor] = more > 0;
    for (int i = 0; i < t->rank; i++)
        if (!map_axis(u, w, t->axis[i], w->axis[more + i]))
            return false;
    return true;
}

static bool map_all(struct use *u)
{
    const struct hc_definition *d = u->callee;
    if (u->arguments != d->inputs)
        return wrong(u, u->called.at, u->called.length, "%s takes %d tensor%s, and not %d", d->name,
                     d->inputs, d->inputs == 1 ? "" : "s", u->arguments);
    if (u->results > d->results)
        return wrong(u, u->result[d->results].at, u->result[d->results].length,
                     "%s has %d result%s", d->name, d->results, d->results == 1 ? "" : "s");
    for (int i = 0; i < d->inputs; i++)
        if (!map_tensor(u, &u->argument[i], i, true))
            return false;
    for (int t = d->inputs; t < d->tensors; t++)
        u->batched[t] = u->batch > 0;
    for (int i = 0; i < u->results; i++)
        if (!map_tensor(u, &u->result[i], d->result[i], false))
            return false;
    return true;
}

/* Writes the callee's equations. */

static void put(struct use *u, const char *text)
{
    hc_pieces_put(u->out, text, (int)strlen(text));
}

static void put_in_capitals(struct use *u, const char *name, bool capitals)
{
    for (; *name; name++) {
        char c = (char)(capitals ? toupper((unsigned char)*name) : tolower((unsigned char)*name));
        hc_pieces_put(u->out, &c, 1);
    }
}

/* What an axis is called here: by what is written, or else after the first result. */
static void put_axis(struct use *u, int axis, bool extent)
{
    if (!u->axis[axis][0]) {
        put_in_capitals(u, u->result[0].name, extent);
        put(u, "_");
        put_in_capitals(u, u->callee->axis[axis].name, extent);
    } else {
        put_in_capitals(u, u->axis[axis], extent);
    }
}

static void put_tensor(struct use *u, int tensor)
{
    const struct hc_definition *d = u->callee;
    for (int i = 0; i < u->results; i++)
        if (d->result[i] == tensor) {
            put(u, u->result[i].name);
            return;
        }
    if (tensor < d->inputs) {
        put(u, u->argument[tensor].name);
        return;
    }
    put(u, u->result[0].name);
    put(u, "_");
    put(u, d->tensor[tensor].name);
}

static void put_part(struct use *u, const char *at, int length);

static void put_option(struct use *u, int option)
{
    const struct hc_expression *value = u->callee->option[option].value;
    put(u, "(");
    if (u->option[option].at)
        hc_pieces_put(u->out, u->option[option].at, u->option[option].length);
    else
        put_part(u, value->at, value->length);
    put(u, ")");
}

/* The axis whose extent it is, or -1. */
static int extent_of(const struct hc_definition *d, const char *name)
{
    name_text small;
    size_t i = 0;
    for (; name[i]; i++) {
        if (islower((unsigned char)name[i]))
            return -1;
        small[i] = (char)tolower((unsigned char)name[i]);
    }
    small[i] = '\0';
    return hc_definition_axis(d, small);
}

static void put_batch(struct use *u)
{
    for (int i = 0; i < u->batch; i++) {
        put(u, i ? ", " : "");
        put(u, u->batch_axis[i]);
    }
}

/* One word of the callee; returns what follows it. */
static const char *put_word(struct use *u, const struct hc_token *token)
{
    const struct hc_definition *d = u->callee;
    const char *end = token->at + token->length;
    name_text name;
    (void)snprintf(name, sizeof name, "%.*s", token->length, token->at);
    int tensor = hc_definition_tensor(d, name);
    int axis = hc_definition_axis(d, name);
    int option = hc_definition_option(d, name);
    if (tensor >= 0) {
        put_tensor(u, tensor);
        bool indices = d->tensor[tensor].rank > 0 && take(&end, "[");
        if (u->batched[tensor]) {
            put(u, "[");
            put_batch(u);
            put(u, indices ? ", " : "]");
        } else if (indices) {
            put(u, "[");
        }
    } else if (axis >= 0) {
        put_axis(u, axis, false);
    } else if (option >= 0) {
        put_option(u, option);
    } else if (extent_of(d, name) >= 0) {
        put_axis(u, extent_of(d, name), true);
    } else {
        hc_pieces_put(u->out, token->at, token->length);
    }
    return end;
}

static void put_part(struct use *u, const char *at, int length)
{
    const char *end = at + length;
    while (at < end) {
        struct hc_token token = hc_token_at(at);
        if (token.at >= end)
            break;
        hc_pieces_put(u->out, at, (int)(token.at - at));
        if (token.kind == HC_TOKEN_NAME && token.length <= HC_LONGEST_DEFINED_NAME) {
            at = put_word(u, &token);
            continue;
        }
        at = token.at + token.length;
        hc_pieces_put(u->out, token.at, token.length);
    }
}

static void put_all(struct use *u)
{
    const struct hc_definition *d = u->callee;
    hc_pieces_stand_for(u->out, (int)(u->statement.at - u->text), u->statement.length);
    for (int i = 0; i < d->axes; i++)
        if (d->axis[i].extent) {
            put(u, "axis ");
            put_axis(u, i, false);
            put(u, " = ");
            put_part(u, d->axis[i].extent->at, d->axis[i].extent->length);
            put(u, "\n");
        }
    for (int t = d->inputs; t < d->tensors; t++) {
        put_part(u, d->tensor[t].at, d->tensor[t].length);
        put(u, "\n");
    }
}

/* The callee's text is read anew for each use. */
static bool expand(struct use *u)
{
    static _Thread_local int depth; /* of uses in uses */
    const char *at = u->statement.at;
    name_text name;
    if (!read_left(u, &at))
        return false;
    (void)snprintf(name, sizeof name, "%.*s", u->called.length, u->called.at);
    const char *text = hc_library_find(name);
    struct hc_definition *read = NULL;
    if (text && depth < HC_DEEPEST_USE) {
        struct hc_formula_error error;
        depth++;
        u->callee = read = hc_definition_read(text, &error);
        depth--;
    }
    if (!u->callee) {
        struct hc_nearest nearest = hc_nearest_to(name, strlen(name));
        for (const struct hc_library_text *row = hc_library; row->name; row++)
            hc_nearest_try(&nearest, row->name);
        return wrong(u, u->called.at, u->called.length, "the library has no definition %s%s", name,
                     hc_nearest_hint(&nearest));
    }
    bool good = read_right(u, &at) && map_all(u);
    if (good)
        put_all(u);
    hc_definition_free(read);
    return good;
}

/* Whether the statement has "= use NAME". */
static bool is_use(const char *at, const char *end)
{
    bool equals = false;
    while (at < end) {
        struct hc_token token = hc_token_at(at);
        struct hc_token next = hc_token_at(token.at + token.length);
        if (token.kind == HC_TOKEN_END)
            return false;
        if (equals && hc_token_is(&token, "use") && next.kind == HC_TOKEN_NAME)
            return true;
        equals = hc_token_is(&token, "=");
        at = token.at + token.length;
    }
    return false;
}

bool hc_use_expand(const char *text, struct hc_pieces *expanded, struct hc_formula_error *error)
{
    bool good = true;
    hc_pieces_put(expanded, "", 0); /* also of an empty text */
    for (const char *at = text; *at && good;) {
        const char *end = hc_statement_end(at);
        const char *start = hc_token_at(at).at;
        if (is_use(at, end)) {
            struct use u = {.text = text, .error = error, .out = expanded};
            int length = (int)(end - start);
            while (length > 0 && start[length - 1] == '\n')
                length--;
            u.statement = (struct part){start, length};
            good = expand(&u);
        } else {
            hc_pieces_copy(expanded, text, (int)(at - text), (int)(end - at));
        }
        at = end;
    }
    if (good && expanded->failed) {
        (void)snprintf(error->what, sizeof error->what, "there is no memory");
        error->length = 0;
    }
    return good && !expanded->failed;
}
