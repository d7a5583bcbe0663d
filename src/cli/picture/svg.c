#include "cli/picture/svg.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/report/page_picture.h"
#include "op/text.h"

/* The colours of reports/style.gp, for light, and what they are in the dark. The palette is
   Okabe and Ito's; its black is `ink`. */
static const struct {
    const char *name;
    int light;
    const char *dark;
} colours[] = {
#define HC_COLOUR(name, light, dark) {#name, 0x##light, "#" #dark},
#include "cli/picture/colours.def"
#undef HC_COLOUR
};

const char *const hc_page_picture_colours = ":root {"
#define HC_COLOUR(name, light, dark) " --hc-" #name ": #" #light ";"
#include "cli/picture/colours.def"
#undef HC_COLOUR
                                            " }\n@media (prefers-color-scheme: dark) { :root {"
#define HC_COLOUR(name, light, dark) " --hc-" #name ": #" #dark ";"
#include "cli/picture/colours.def"
#undef HC_COLOUR
                                            " } }\n@media print { :root {"
#define HC_COLOUR(name, light, dark) " --hc-" #name ": #" #light ";"
#include "cli/picture/colours.def"
#undef HC_COLOUR
                                            " } }\n";

/* Writes the colour that stands at `text`, gnuplot's "rgb( 68,  68,  68)" or a word, as a variable,
   and returns what stands behind it; NULL if there is none. A colour that the style lacks stays. */
static const char *put_colour(FILE *out, const char *text)
{
    int r;
    int g;
    int b;
    int length = 0;
    if (sscanf(text, "rgb(%d,%d,%d)%n", &r, &g, &b, &length) != 3 || length == 0)
        return NULL;
    for (size_t i = 0; i < sizeof colours / sizeof *colours; i++)
        if (colours[i].light == (r << 16 | g << 8 | b)) {
            (void)fprintf(out, "var(--hc-%s,#%06x)", colours[i].name, (unsigned)colours[i].light);
            return text + length;
        }
    (void)fprintf(out, "#%06x", (unsigned)(r << 16 | g << 8 | b));
    return text + length;
}

/* Texts that become others wherever they stand in a tag. %s is the id of the picture. */
static const struct {
    const char *from;
    const char *to;
} changes[] = {
    {"xlink:href='#", "href='#%s-"},
    {"id='", "id='%s-"},
    {"id=\"", "id=\"%s-"},
    {"stroke=\"currentColor\"", "stroke=\"currentColor\""},
    {"=\"black\"", "=\"var(--hc-ink,#222222)\""},
    {"='black'", "='var(--hc-ink,#222222)'"},
    {"=\"gray\"", "=\"var(--hc-grid,#dddddd)\""},
    {"=\"white\"", "=\"var(--hc-paper,#ffffff)\""},
    {" font-family=\"sans\"", ""},
    {" xmlns:xlink=\"http://www.w3.org/1999/xlink\"", ""},
    {"<tspan>", ""},
    {"</tspan>", ""},
};

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

/* The end of a group that draws nothing and begins here; NULL if it draws something. */
static const char *after_empty_group(const char *text)
{
    if (strncmp(text, "<g ", 3) != 0)
        return NULL;
    const char *at = strchr(text, '>');
    if (!at)
        return NULL;
    at++;
    at += strspn(at, " \t\n");
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

static void put_body(FILE *out, const char *text, const char *id)
{
    bool space = false;
    bool tag = false;
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
        next = tag || *text == '<' ? put_colour(out, text) : NULL;
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
    FILE *out = head ? open_memstream(&svg, &size) : NULL;
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
