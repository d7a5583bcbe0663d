/* Running the built program in tests. */
#ifndef HC_CLI_TESTING_H
#define HC_CLI_TESTING_H

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* The exit status of a command, and the first part of what it printed. */
struct ran {
    int status;
    char out[1 << 16];
    char err[1 << 12];
};

/* Makes a folder for this test, and makes it the current one. */
static inline void enter_folder(void)
{
    char folder[] = "/tmp/halfcheck-test-XXXXXX";
    cr_assert_not_null(mkdtemp(folder));
    cr_assert_eq(chdir(folder), 0);
}

static inline void read_text(const char *path, char *text, size_t size)
{
    FILE *file = fopen(path, "r");
    cr_assert_not_null(file, "%s", path);
    size_t length = fread(text, 1, size - 1, file);
    text[length] = '\0';
    (void)fclose(file);
}

static inline void write_text(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    cr_assert_not_null(file, "%s", path);
    cr_assert_geq(fputs(text, file), 0);
    cr_assert_eq(fclose(file), 0);
}

/* Runs a line of shell, in which $hc is the program, in the current folder. Words are split only at
   newlines, so that $hc is one word in whatever folder the program lies. */
static inline const struct ran *run_shell(const char *line)
{
    static struct ran ran;
    char command[4096];
    int length =
        snprintf(command, sizeof command,
                 "unset CLICOLOR_FORCE FORCE_COLOR; IFS='\n'; { %s; } >.stdout 2>.stderr", line);
    cr_assert_lt(length, (int)sizeof command, "%s", line);
    cr_assert_eq(setenv("hc", HC_PROGRAM, 1), 0);
    int status = system(command);
    cr_assert(WIFEXITED(status), "%s", line);
    ran.status = WEXITSTATUS(status);
    read_text(".stdout", ran.out, sizeof ran.out);
    read_text(".stderr", ran.err, sizeof ran.err);
    return &ran;
}

static inline int lines_of(const char *text)
{
    int lines = 0;
    for (; *text; text++)
        lines += *text == '\n';
    return lines;
}

/* Expects that the command prints one line on stderr, which contains `word`, and ends with
   status 2. */
static inline void expect_refusal(const char *line, const char *word)
{
    const struct ran *ran = run_shell(line);
    cr_expect_eq(ran->status, 2, "%s: status %d", line, ran->status);
    cr_expect_eq(lines_of(ran->err), 1, "%s: %s", line, ran->err);
    cr_expect(strncmp(ran->err, "halfcheck: ", 11) == 0, "%s: %s", line, ran->err);
    cr_expect_not_null(strstr(ran->err, word), "%s: no '%s' in: %s", line, word, ran->err);
}

#endif
