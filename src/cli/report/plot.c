/* gnuplot is started by execvp, without a shell. It gets the variables as assignments, and behind
   them the script, in a temporary file without a name that it reads through /dev/fd. Texts stand
   there between double quotes, in which gnuplot knows backslashes, backquotes and macros: so every
   byte but letters, digits and spaces is written as a backslash and four octal digits, and what
   gnuplot reads holds nothing that it could take for its own. Scripts in turn show texts by
   `noenhanced` alone, never as a format (labels of tics are formats: hc_plot_tic), and open no file
   whose name was read without "./" before it (gnuplot runs what follows a '<' or a '|'). */
#include "cli/report/plot.h"

#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

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

/* The text, `percent` for each percent sign. */
static void put_text(FILE *file, const char *text, int most, const char *percent)
{
    char character[5];
    int count = 0;
    for (const char *at = text; hc_text_next(&at, character) > 0;)
        count++;
    for (int i = 0; hc_text_next(&text, character) > 0; i++) {
        if (count <= most || i < most / 2 || i >= count - (most - most / 2 - 1))
            put_character(file, *character == '%' ? percent : character);
        else if (i == most / 2)
            put_character(file, "\xe2\x80\xa6");
    }
}

static void assign_text(struct hc_plot_values *values, const char *name, int index,
                        const char *text, int most, const char *percent)
{
    if (!values)
        return;
    assign(values, name, index);
    (void)fputc('"', values->file);
    put_text(values->file, text, most, percent);
    (void)fputs("\"\n", values->file);
}

void hc_plot_text(struct hc_plot_values *values, const char *name, int index, const char *text,
                  int most)
{
    assign_text(values, name, index, text, most, "%");
}

void hc_plot_tic(struct hc_plot_values *values, const char *name, int index, const char *text,
                 int most)
{
    assign_text(values, name, index, text, most, "%%");
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

/* Keeps the last line that says something. */
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

static enum hc_status draw(int program, const char *folder)
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

enum hc_status hc_plot(const char *script, struct hc_plot_values *values, const char *folder)
{
    if (!values)
        return HC_IO;
    bool written = fputs(script, values->file) >= 0 && fflush(values->file) == 0;
    enum hc_status status = written && !ferror(values->file)
                                ? draw(fileno(values->file), folder)
                                : hc_fail(HC_IO, "cannot write a temporary file");
    hc_plot_free(values);
    return status;
}
