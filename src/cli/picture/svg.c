#include "cli/picture/drawing.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/report/script.h"
#include "op/memory_stream.h"
#include "op/text.h"

/* The colours that the page has variables for: reports/page.html says them in the light first. */
struct colours {
    char name[24][24];
    unsigned light[24];
    int count;
};

static void read_colours(struct colours *c)
{
    const char *at = hc_script("page.html");
    const char *dark = strstr(at, "@media");
    while ((at = strstr(at, "--hc-")) != NULL && at < dark && c->count < 24) {
        at += strlen("--hc-");
        c->count += sscanf(at, "%23[a-z]: #%6x;", c->name[c->count], &c->light[c->count]) == 2;
    }
}

/* Writes the colour that stands at `text`, gnuplot's "rgb( 68,  68,  68)", as a variable, and
   returns what stands behind it; NULL if there is none. `ink` is the colour of the whole picture,
   and a colour that the style lacks stays. */
static const char *put_colour(FILE *out, const char *text, const struct colours *c)
{
    unsigned rgb[3];
    int length = 0;
    int i = 0;
    if (sscanf(text, "rgb(%u,%u,%u)%n", &rgb[0], &rgb[1], &rgb[2], &length) != 3 || length == 0)
        return NULL;
    unsigned colour = rgb[0] << 16 | rgb[1] << 8 | rgb[2];
    while (i < c->count && c->light[i] != colour)
        i++;
    if (i == c->count)
        (void)fprintf(out, "#%06x", colour);
    else if (strcmp(c->name[i], "ink") == 0)
        (void)fputs("currentColor", out);
    else
        (void)fprintf(out, "var(--hc-%s,#%06x)", c->name[i], colour);
    return text + length;
}

/* Texts that become others wherever they stand in a tag; what all groups have stands once, in the
   first tag. %s is the id of the picture. */
static const struct {
    const char *from;
    const char *to;
} changes[] = {
    {"xlink:href='#", "href='#%s-"},
    {"id='", "id='%s-"},
    {"color=\"black\"", ""},
    {"color=\"white\"", ""},
    {"color=\"gray\"", ""},
    {"fill=\"black\"", "fill=\"currentColor\""},
    {"fill=\"none\"", ""},
    {"class=\"gridline\"", ""},
    {"font-family=\"sans\"", ""},
    {"stroke-width=\"1.00\"", ""},
    {"stroke-linecap=\"butt\"", ""},
    {"stroke-linejoin=\"miter\"", ""},
    {"</tspan>", ""},
};

/* gnuplot gives the groups of several frames the same ids, which nothing uses. */
static const char *after_group_id(const char *text)
{
    const char *end = strncmp(text, "id=\"gnuplot_", 12) == 0 ? strchr(text + 4, '"') : NULL;
    return end ? end + 1 : NULL;
}

/* The same for one place; returns what stands behind it, or NULL. */
static const char *put_change(FILE *out, const char *text, const char *id)
{
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        size_t length = strlen(changes[i].from);
        if (strncmp(text, changes[i].from, length) != 0)
            continue;
        for (const char *at = changes[i].to; *at; at++)
            if (at[0] == '%' && at[1] == 's') {
                (void)fputs(id, out);
                at++;
            } else {
                (void)fputc(*at, out);
            }
        return text + length;
    }
    return NULL;
}

/* The first character behind spaces, titles and empty texts. */
static const char *skip_nothing(const char *text)
{
    for (;;) {
        text += strspn(text, " \t\n");
        bool title = strncmp(text, "<title>", 7) == 0;
        const char *end = title ? strstr(text, "</title>") : NULL;
        if (strncmp(text, "<text><tspan ", 13) == 0) {
            const char *inner = strchr(text + 6, '>');
            if (inner && strncmp(inner + 1, "</tspan></text>", 15) == 0)
                end = inner + 8;
        }
        if (!end)
            return text;
        text = strchr(end, '>') + 1;
        text += title ? 0 : strcspn(text, "\n");
    }
}

/* The end of a group that draws nothing and begins here; NULL if it draws something. */
static const char *after_empty_group(const char *text)
{
    const char *at = strncmp(text, "<g ", 3) == 0 ? strchr(text, '>') : NULL;
    if (!at)
        return NULL;
    at = skip_nothing(at + 1);
    return strncmp(at, "</g>", 4) == 0 ? at + 4 : NULL;
}

/* The parts of gnuplot's head that are left out: its own title, which is empty or its name. */
static const char *after_head(const char *text)
{
    static const char *const parts[][2] = {{"<title>", "</title>"},
                                           {"<desc>", "</desc>"},
                                           {"<filter ", "</filter>"},
                                           {"<tspan ", ">"}};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (strncmp(text, parts[i][0], strlen(parts[i][0])) == 0) {
            const char *end = strstr(text, parts[i][1]);
            return end ? end + strlen(parts[i][1]) : NULL;
        }
    return NULL;
}

/* The second decimal of a coordinate that begins at the point of "12.34"; NULL if this is none. A
   tenth of a pixel is enough. */
static const char *put_decimal(FILE *out, const char *text)
{
    if (text[0] != '.' || !isdigit((unsigned char)text[1]) || !isdigit((unsigned char)text[2]) ||
        isdigit((unsigned char)text[3]))
        return NULL;
    if (text[1] != '0')
        (void)fprintf(out, ".%c", text[1]);
    return text + 3;
}

static void put_body(FILE *out, const char *text, const char *id)
{
    struct colours colours = {.count = 0};
    bool space = false;
    bool tag = false;
    read_colours(&colours);
    while (*text) {
        const char *next = *text == '<' ? after_empty_group(text) : NULL;
        next = next || *text != '<' ? next : after_head(text);
        if (next) {
            text = next;
            continue;
        }
        if (strchr(" \t\n", *text)) {
            space = true;
            text++;
            continue;
        }
        if (space && *text != '<')
            (void)fputc(' ', out);
        else if (space)
            (void)fputc(tag ? ' ' : '\n', out);
        space = false;
        tag = *text == '<' || (tag && *text != '>');
        next = tag || *text == '<' ? put_colour(out, text, &colours) : NULL;
        next = next || !tag ? next : after_group_id(text);
        next = next || !tag ? next : put_decimal(out, text);
        next = next || !tag ? next : put_change(out, text, id);
        if (next) {
            text = next;
            continue;
        }
        (void)fputc(*text++, out);
    }
}

char *hc_picture_svg(const char *raw, const char *id, const char *alt)
{
    char *svg = NULL;
    size_t size = 0;
    const char *head = strchr(raw, '>');
    FILE *out = head ? hc_memory_stream(&svg, &size) : NULL;
    int width = 0;
    int height = 0;
    const char *box = strstr(raw, "viewBox=\"0 0 ");
    if (!out)
        return NULL;
    if (box)
        (void)sscanf(box, "viewBox=\"0 0 %d %d\"", &width, &height);
    (void)fprintf(out,
                  "<svg viewBox=\"0 0 %d %d\" width=\"%d\" height=\"%d\" role=\"img\""
                  " aria-labelledby=\"%s-title\" font-family=\"system-ui, sans-serif\""
                  " color=\"var(--hc-ink,#222222)\" fill=\"none\""
                  " xmlns=\"http://www.w3.org/2000/svg\">\n<title id=\"%s-title\">",
                  width, height, width, height, id, id);
    hc_text_markup(out, alt);
    (void)fputs("</title>", out);
    put_body(out, head + 1, id);
    (void)fputc('\n', out);
    if (fclose(out) == 0)
        return svg;
    free(svg);
    return NULL;
}
