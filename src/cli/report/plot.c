/* Texts come from records and command lines, and gnuplot would run a part of what it reads: it
   knows backslashes, backquotes and macros in texts, formats in labels of tics, and a '<' or a '|'
   before the name of a file. So nothing reaches it as a command:
   - It is started by execlp, without a shell. It reads the variables as assignments, and the script
     behind them, from a temporary file without a name, through /dev/fd.
   - Every byte of a text but letters, digits and spaces is written as a backslash and four octal
     digits between double quotes.
   - Scripts show texts by `noenhanced` alone, and never as a format (hc_plot_tic). They open no
     file whose name was read without "./" before it.

   gnuplot writes a picture bit by bit and follows symbolic links. So it draws into a scratch
   folder, and what it drew whole takes the place of the old picture in one step. */
#include "cli/report/plot.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/report/script.h"
#include "op/output.h"
#include "op/text.h"

enum { NO_GNUPLOT = 127, NO_FOLDER = 126 };

struct hc_plot_values {
    FILE *file;
};

struct hc_plot_values *hc_plot_values(void)
{
    struct hc_plot_values *values = calloc(1, sizeof *values);
    FILE *file = values ? tmpfile() : NULL;
    if (!file) {
        (void)hc_fail(HC_IO, "cannot make a temporary file: %s", strerror(errno));
        free(values);
        return NULL;
    }
    values->file = file;
    return values;
}

void hc_plot_free(struct hc_plot_values *values)
{
    if (values)
        (void)fclose(values->file);
    free(values);
}

void hc_plot_array(struct hc_plot_values *values, const char *name, int size)
{
    if (values)
        (void)fprintf(values->file, "array %s[%d]\n", name, size > 0 ? size : 1);
}

static void assign(struct hc_plot_values *values, const char *name, int index)
{
    if (index > 0)
        (void)fprintf(values->file, "%s[%d] = ", name, index);
    else
        (void)fprintf(values->file, "%s = ", name);
}

void hc_plot_integer(struct hc_plot_values *values, const char *name, int index, long long value)
{
    if (!values)
        return;
    assign(values, name, index);
    (void)fprintf(values->file, "%lld\n", value);
}

void hc_plot_real(struct hc_plot_values *values, const char *name, int index, double value)
{
    if (!values)
        return;
    assign(values, name, index);
    if (isfinite(value))
        (void)fprintf(values->file, "%.16e\n", value);
    else
        (void)fputs("NaN\n", values->file);
}

static void put_character(FILE *file, const char *character)
{
    static const char plain[] = " 0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
    for (; *character; character++)
        if (strchr(plain, *character))
            (void)fputc(*character, file);
        else
            (void)fprintf(file, "\\0%03o", (unsigned)(unsigned char)*character);
}

/* Where lines begin, and which characters are left out for an ellipsis. */
struct layout {
    int count; /* of characters in the text */
    int from;  /* the first that is left out, */
    int to;    /* and the first that is not, behind it */
    int columns;
    int lines;
};

/* The text without its middle, if it has more than `room` characters. */
static void leave_out(struct layout *l, int room)
{
    l->from = l->count <= room ? l->count : room / 2;
    l->to = l->count <= room ? l->count : l->count - (room - room / 2 - 1);
}

static bool ends_word(char c)
{
    return strchr(" /_-:,+=|", c) != NULL;
}

/* Characters of the next line: up to the last end of a word in its second half, or all that fit. */
static int next_line(const struct layout *l, const char *text, int done)
{
    char character[5];
    int shown = l->count - (l->to - l->from) + (l->from < l->to);
    int best = 0;
    for (int i = 0, at = 0; hc_text_next(&text, character) > 0; i++) {
        if (i > l->from && i < l->to)
            continue;
        if (at >= done && at < done + l->columns && i != l->from && ends_word(*character))
            best = at + 1 - done;
        at++;
    }
    if (shown - done <= l->columns)
        return shown - done;
    return 2 * best > l->columns ? best : l->columns;
}

static int count_lines(const struct layout *l, const char *text)
{
    int shown = l->count - (l->to - l->from) + (l->from < l->to);
    int lines = 0;
    for (int done = 0; done < shown; lines++)
        done += next_line(l, text, done);
    return lines > 0 ? lines : 1;
}

static struct layout lay_out(const char *text, int columns, int most)
{
    struct layout l = {.columns = columns};
    char character[5];
    for (const char *at = text; hc_text_next(&at, character) > 0;)
        l.count++;
    for (int room = columns * most; l.lines == 0 || l.lines > most; room--) {
        leave_out(&l, room);
        l.lines = count_lines(&l, text);
    }
    return l;
}

/* Writes a text, with `percent` in place of each percent sign. */
static void put_text(FILE *file, const char *text, const struct layout *l, const char *percent)
{
    const char *all = text;
    char character[5];
    int end = next_line(l, all, 0);
    for (int i = 0, at = 0; hc_text_next(&text, character) > 0; i++) {
        if (i > l->from && i < l->to)
            continue;
        if (at == end) {
            put_character(file, "\n");
            end += next_line(l, all, end);
        }
        put_character(file, i == l->from        ? "\xe2\x80\xa6"
                            : *character == '%' ? percent
                                                : character);
        at++;
    }
}

static int assign_text(struct hc_plot_values *values, const char *name, int index, const char *text,
                       int columns, int most, const char *percent)
{
    struct layout l = lay_out(text, columns, most);
    if (!values)
        return l.lines;
    assign(values, name, index);
    (void)fputc('"', values->file);
    put_text(values->file, text, &l, percent);
    (void)fputs("\"\n", values->file);
    return l.lines;
}

void hc_plot_text(struct hc_plot_values *values, const char *name, int index, const char *text,
                  int most)
{
    (void)assign_text(values, name, index, text, most, 1, "%");
}

void hc_plot_tic(struct hc_plot_values *values, const char *name, int index, const char *text,
                 int most)
{
    (void)assign_text(values, name, index, text, most, 1, "%%");
}

int hc_plot_folded(struct hc_plot_values *values, const char *name, int index, const char *text,
                   int columns, int most)
{
    return assign_text(values, name, index, text, columns, most, "%");
}

int hc_plot_folded_tic(struct hc_plot_values *values, const char *name, int index, const char *text,
                       int columns, int most)
{
    return assign_text(values, name, index, text, columns, most, "%%");
}

static void become_gnuplot(int program, const char *folder, int errors)
{
    char load[64];
    (void)snprintf(load, sizeof load, "load '/dev/fd/%d'", program);
    if (chdir(folder) != 0)
        _exit(NO_FOLDER);
    (void)dup2(errors, STDERR_FILENO);
    (void)dup2(errors, STDOUT_FILENO);
    (void)execlp("gnuplot", "gnuplot", "-d", "-e", "set encoding utf8", "-e", load, (char *)NULL);
    _exit(NO_GNUPLOT);
}

/* Keeps the last line that is not blank. */
static void read_errors(int from, char *last, size_t bytes)
{
    char line[256];
    FILE *stream = fdopen(from, "r");
    while (stream != NULL && fgets(line, sizeof line, stream) != NULL) {
        line[strcspn(line, "\n")] = '\0';
        if (line[strspn(line, " \t^")] != '\0')
            (void)snprintf(last, bytes, "%s", line);
    }
    if (stream != NULL)
        (void)fclose(stream);
}

static enum hc_status run_gnuplot(int program, const char *folder)
{
    int pipe_ends[2];
    int outcome = 0;
    char said[256] = "no reason given";
    if (pipe(pipe_ends) != 0)
        return hc_fail(HC_IO, "cannot start gnuplot: %s", strerror(errno));
    (void)fflush(NULL);
    pid_t child = fork();
    if (child == 0)
        become_gnuplot(program, folder, pipe_ends[1]);
    int error = errno;
    (void)close(pipe_ends[1]);
    read_errors(pipe_ends[0], said, sizeof said);
    if (child < 0)
        return hc_fail(HC_IO, "cannot start gnuplot: %s", strerror(error));
    while (waitpid(child, &outcome, 0) < 0 && errno == EINTR)
        continue;
    if (WIFEXITED(outcome) && WEXITSTATUS(outcome) == 0)
        return HC_OK;
    if (WIFEXITED(outcome) && WEXITSTATUS(outcome) == NO_GNUPLOT)
        return hc_fail(HC_UNSUPPORTED, "gnuplot is not installed");
    return hc_fail(HC_IO, "gnuplot failed: %s", said);
}

/* Moves the files of the scratch folder into the folder if `good`, otherwise removes them.
   Removes the scratch folder. Returns false, with errno, if a file could not be moved. */
static bool end_scratch(const char *scratch, const char *folder, bool good)
{
    char from[HC_MAX_PATH + NAME_MAX + 2];
    char to[HC_MAX_PATH + NAME_MAX + 2];
    int error = 0;
    const struct dirent *entry;
    DIR *files = opendir(scratch);
    while (files && (entry = readdir(files)) != NULL) {
        if (entry->d_name[0] == '.')
            continue;
        (void)snprintf(from, sizeof from, "%s/%s", scratch, entry->d_name);
        (void)snprintf(to, sizeof to, "%s/%s", folder, entry->d_name);
        if (good && rename(from, to) != 0)
            error = errno;
        if (!good || error)
            (void)unlink(from);
    }
    if (files)
        (void)closedir(files);
    (void)rmdir(scratch);
    errno = error;
    return error == 0;
}

enum hc_status hc_plot(const char *script, struct hc_plot_values *values, const char *folder)
{
    char scratch[HC_MAX_PATH];
    if (!values)
        return HC_IO;
    (void)snprintf(scratch, sizeof scratch, "%s/.drawing-XXXXXX", folder);
    if (!mkdtemp(scratch)) {
        hc_plot_free(values);
        return hc_fail(HC_IO, "cannot draw in %s: %s", folder, strerror(errno));
    }
    const char *name = strrchr(scratch, '/') + 1;
    (void)fprintf(values->file, "drawing = \"./%s/\"\n", name);
    bool written = fputs(hc_script("style.gp"), values->file) >= 0 &&
                   fputs(script, values->file) >= 0 && fflush(values->file) == 0;
    enum hc_status status = written && !ferror(values->file)
                                ? run_gnuplot(fileno(values->file), folder)
                                : hc_fail(HC_IO, "cannot write a temporary file");
    if (!end_scratch(scratch, folder, status == HC_OK))
        status = hc_fail(HC_IO, "cannot write a picture into %s: %s", folder, strerror(errno));
    hc_plot_free(values);
    return status;
}

char *hc_plot_read_svg(const char *path)
{
    FILE *file = fopen(path, "r");
    char *text = NULL;
    size_t size = 0;
    bool found = false;
    if (file && getdelim(&text, &size, '\0', file) > 0) {
        const char *start = strstr(text, "<svg");
        found = start != NULL;
        if (found)
            memmove(text, start, strlen(start) + 1);
    }
    if (file)
        (void)fclose(file);
    if (found)
        return text;
    free(text);
    return NULL;
}
