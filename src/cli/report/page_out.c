#include "cli/report/page_out.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "op/text.h"

/* How a block begins and ends: its tag in HTML, and what Markdown has in its place. */
static const struct {
    const char *tag;
    const char *begin;
    const char *end;
} blocks[HC_BLOCK_COUNT] = {
    [HC_BLOCK_PARAGRAPH] = {"p", "", "\n\n"}, [HC_BLOCK_LIST] = {"ul", "", "\n"},
    [HC_BLOCK_ITEM] = {"li", "- ", "\n"},     [HC_BLOCK_ROW] = {"tr", "|", "\n"},
    [HC_BLOCK_CELL] = {"td", " ", " |"},
};

/* The title of the next cell's column, which a narrow screen shows before the cell. */
static void put_label(struct hc_page_out *out)
{
    const char *title = out->titles ? out->titles[out->column++] : "";
    title += *title == '#';
    if (!*title)
        return;
    (void)fputs(" data-label=\"", out->file);
    hc_text_markup(out->file, title);
    (void)fputc('"', out->file);
}

void hc_page_begin(struct hc_page_out *out, enum hc_page_block block, const char *class)
{
    if (out->markdown) {
        (void)fputs(blocks[block].begin, out->file);
        return;
    }
    (void)fprintf(out->file, "<%s", blocks[block].tag);
    if (class)
        (void)fprintf(out->file, " class=\"%s\"", class);
    if (block == HC_BLOCK_CELL)
        put_label(out);
    out->column = block == HC_BLOCK_ROW ? 0 : out->column;
    (void)fputc('>', out->file);
}

void hc_page_end(struct hc_page_out *out, enum hc_page_block block)
{
    if (out->markdown)
        (void)fputs(blocks[block].end, out->file);
    else
        (void)fprintf(out->file, "</%s>%s", blocks[block].tag, block == HC_BLOCK_CELL ? "" : "\n");
}

void hc_page_open(struct hc_page_out *out, const char *tag, const char *class)
{
    if (!out->markdown && class)
        (void)fprintf(out->file, "<%s class=\"%s\">\n", tag, class);
    else if (!out->markdown)
        (void)fprintf(out->file, "<%s>\n", tag);
}

void hc_page_close(struct hc_page_out *out, const char *tag)
{
    if (!out->markdown)
        (void)fprintf(out->file, "</%s>\n", tag);
}

void hc_page_heading(struct hc_page_out *out, int level, const char *id)
{
    if (out->markdown)
        (void)fprintf(out->file, "\n%.*s ", level, "######");
    else if (id)
        (void)fprintf(out->file, "<h%d id=\"%s\">", level, id);
    else
        (void)fprintf(out->file, "<h%d>", level);
}

void hc_page_heading_end(struct hc_page_out *out, int level)
{
    if (out->markdown)
        (void)fputs("\n\n", out->file);
    else
        (void)fprintf(out->file, "</h%d>\n", level);
}

/* Every character that could mean something to Markdown gets a backslash before it. The three that
   begin HTML become entities. */
static void put_markdown(FILE *file, const char *text)
{
    char character[5];
    while (hc_text_next(&text, character) > 0)
        if (strchr("<>&", *character))
            hc_text_markup(file, character);
        else
            (void)fprintf(file, "%s%s", strchr("\\`*_{}[]#|~@$", *character) ? "\\" : "",
                          character);
}

void hc_page_text(struct hc_page_out *out, const char *text)
{
    if (out->markdown)
        put_markdown(out->file, text);
    else
        hc_text_markup(out->file, text);
}

void hc_page_print(struct hc_page_out *out, const char *format, ...)
{
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    (void)hc_text_format(text, sizeof text, format, arguments);
    va_end(arguments);
    hc_page_text(out, text);
}

/* The longest run of backquotes in a text: the marks around code must be longer. */
static int longest_run(const char *text)
{
    int longest = 0;
    for (size_t n; *text; text += n + (n == 0)) {
        n = strspn(text, "`");
        longest = (int)n > longest ? (int)n : longest;
    }
    return longest;
}

static void repeat(FILE *file, char character, int times)
{
    while (times-- > 0)
        (void)fputc(character, file);
}

void hc_page_code(struct hc_page_out *out, const char *text)
{
    char character[5];
    if (!out->markdown) {
        (void)fputs("<code>", out->file);
        hc_text_markup(out->file, text);
        (void)fputs("</code>", out->file);
        return;
    }
    int marks = longest_run(text) + 1;
    const char *space = marks > 1 || !*text ? " " : "";
    repeat(out->file, '`', marks);
    (void)fputs(space, out->file);
    while (hc_text_next(&text, character) > 0)
        (void)fprintf(out->file, "%s%s", out->titles && *character == '|' ? "\\" : "", character);
    (void)fputs(space, out->file);
    repeat(out->file, '`', marks);
}

void hc_page_verdict(struct hc_page_out *out, const char *word)
{
    (void)fprintf(out->file, out->markdown ? "**%s**" : "<b class=\"%s\">", word);
    if (!out->markdown)
        (void)fprintf(out->file, "%s</b>", word);
}

void hc_page_break(struct hc_page_out *out)
{
    (void)fputs(out->titles || !out->markdown ? "<br/>" : "\\\n  ", out->file);
}

/* Lines stay lines, and tabs stay tabs: a reader copies columns. */
static void put_lines(struct hc_page_out *out, const char *text)
{
    char character[5];
    while (*text) {
        size_t length = strcspn(text, "\t\n");
        char *piece = strndup(text, length);
        const char *at = piece ? piece : "";
        if (!out->markdown)
            hc_text_markup(out->file, at);
        while (out->markdown && hc_text_next(&at, character) > 0)
            (void)fputs(character, out->file);
        text += length;
        if (!*text || *text == '\n')
            (void)fputc('\n', out->file);
        else
            (void)fputc('\t', out->file);
        text += *text != '\0';
        free(piece);
    }
}

void hc_page_pre(struct hc_page_out *out, const char *text)
{
    int marks = longest_run(text) + 1;
    marks = marks < 3 ? 3 : marks;
    if (out->markdown) {
        repeat(out->file, '`', marks);
        (void)fputs("text\n", out->file);
    } else {
        (void)fputs("<pre tabindex=\"0\">", out->file);
    }
    put_lines(out, text);
    repeat(out->file, '`', out->markdown ? marks : 0);
    (void)fputs(out->markdown ? "\n\n" : "</pre>\n", out->file);
}

void hc_page_fold(struct hc_page_out *out, bool open)
{
    if (!out->markdown)
        (void)fputs(open ? "<details open=\"open\"><summary>" : "<details><summary>", out->file);
}

void hc_page_fold_body(struct hc_page_out *out)
{
    (void)fputs(out->markdown ? ":\n\n" : "</summary>\n", out->file);
}

void hc_page_fold_end(struct hc_page_out *out)
{
    (void)fputs(out->markdown ? "\n" : "</details>\n", out->file);
}

void hc_page_terms(struct hc_page_out *out)
{
    (void)fputs(out->markdown ? "" : "<dl>\n", out->file);
}

void hc_page_term(struct hc_page_out *out, const char *title)
{
    (void)fprintf(out->file, out->markdown ? "- **%s**: " : "<div><dt>%s</dt><dd>", title);
}

void hc_page_term_end(struct hc_page_out *out)
{
    (void)fputs(out->markdown ? "\n" : "</dd></div>\n", out->file);
}

void hc_page_terms_end(struct hc_page_out *out)
{
    (void)fputs(out->markdown ? "\n" : "</dl>\n", out->file);
}
