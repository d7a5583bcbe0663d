#include "cli/manual/roff.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

/* What stands for characters that are instructions at some place, or that are printed as other
   characters: quotes that curl, hyphens that no search finds. */
static const char *escape(char c)
{
    switch (c) {
    case '\\':
        return "\\e";
    case '-':
        return "\\-";
    case '\'':
        return "\\(aq";
    case '`':
        return "\\(ga";
    case '^':
        return "\\(ha";
    case '~':
        return "\\(ti";
    default:
        return NULL;
    }
}

static void put(FILE *out, const char *text, int length)
{
    for (int i = 0; i < length; i++) {
        const char *other = escape(text[i]);
        if (other)
            (void)fputs(other, out);
        else
            (void)fputc(text[i], out);
    }
}

/* How many bytes that is. */
static int width(const char *text, int length)
{
    int bytes = length;
    for (int i = 0; i < length; i++)
        bytes += escape(text[i]) ? (int)strlen(escape(text[i])) - 1 : 0;
    return bytes;
}

void hc_roff_line(FILE *out, const char *line)
{
    if (line[0] == '.')
        (void)fputs("\\&", out);
    put(out, line, (int)strlen(line));
}

/* How many letters at the beginning belong to a name that stands for something else. */
static int capitals(const char *text)
{
    int n = 0;
    while (isupper((unsigned char)text[n]))
        n++;
    return islower((unsigned char)text[n]) ? 0 : n;
}

static int option(const char *text)
{
    return strncmp(text, "--", 2) == 0 ? 2 + (int)strspn(text + 2, "abcdefghijklmnopqrstuvwxyz-")
                                       : 0;
}

void hc_roff_usage(FILE *out, const char *usage)
{
    while (*usage) {
        int bold = option(usage);
        int italic = bold ? 0 : capitals(usage);
        int length = bold + italic ? bold + italic : 1;
        (void)fputs(bold ? "\\fB" : italic ? "\\fI" : "", out);
        put(out, usage, length);
        (void)fputs(bold + italic ? "\\fR" : "", out);
        usage += length;
    }
}

/* Prints the words of a line, and returns the column. The lines of the source are short, because
   tools for manuals warn of longer ones. */
static int fill(FILE *out, int column, const char *line, int length)
{
    enum { LONGEST = 78 };
    while (length > 0) {
        int blanks = (int)strspn(line, " ");
        int n = (int)strcspn(line + blanks, " \n");
        int bytes = width(line + blanks, n);
        bool breaks = column + 1 + bytes > LONGEST;
        if (column)
            (void)fputc(breaks ? '\n' : ' ', out);
        column = breaks || !column ? 0 : column + 1;
        if (column == 0 && line[blanks] == '.')
            column += fprintf(out, "\\&");
        put(out, line + blanks, n);
        column += bytes;
        line += blanks + n;
        length -= blanks + n;
    }
    return column;
}

void hc_roff_name(FILE *out, const char *name, const char *summary)
{
    put(out, name, (int)strlen(name));
    (void)fputs(" \\-", out);
    (void)fill(out, width(name, (int)strlen(name)) + 3, summary, (int)strlen(summary));
    (void)fputc('\n', out);
}

void hc_roff_text(FILE *out, const char *text)
{
    int column = 0;
    bool as_it_is = false;
    for (int length = 0; *text; text += length + (text[length] == '\n')) {
        length = (int)strcspn(text, "\n");
        bool stays = *text == ' ';
        if (column && (stays || as_it_is || length == 0)) {
            (void)fputc('\n', out);
            column = 0;
        }
        if (stays != as_it_is && (stays || length > 0 || text[1] != ' ')) {
            (void)fputs(stays ? ".nf\n" : ".fi\n", out);
            as_it_is = stays;
        }
        if (stays) {
            put(out, text, length);
            (void)fputc('\n', out);
        } else if (length == 0) {
            (void)fputs(as_it_is ? "\n" : ".PP\n", out);
        } else {
            column = fill(out, column, text, length);
        }
    }
    if (column)
        (void)fputc('\n', out);
    if (as_it_is)
        (void)fputs(".fi\n", out);
}
