/* The built program, run on small trainings in a folder of the test's own. */
#ifndef HC_CLI_TRAINING_TESTING_H
#define HC_CLI_TRAINING_TESTING_H

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Too small to learn from: whether it does is no part of these tests. */
#define SMALL "--network darknet-tiny --classes dog,ship --images 16 --batch 16 --epochs 2 "
#define QUICK "train --recipe amp " SMALL

/* A shell function: `await FILE PROCESS` waits until the file is there. After a minute or more it
   kills the process and ends the script with status 9. */
#define AWAIT                                                                                      \
    "await() { i=0; while [ ! -e \"$1\" ]; do i=$((i + 1)); "                                      \
    "[ $i -lt 6000 ] || { kill -KILL $2; exit 9; }; sleep 0.01; done; }\n"

static char folder[] = "/tmp/halfcheck-training-XXXXXX";

static inline int shell(const char *command)
{
    int status = system(command); /* NOLINT(cert-env33-c): the tests' own commands */
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* Makes the folder and goes there; removes it. */
static inline void make(void)
{
    cr_assert_not_null(mkdtemp(folder));
    cr_assert_eq(chdir(folder), 0);
}

static inline void unmake(void)
{
    char command[128];
    (void)snprintf(command, sizeof command, "rm -rf '%s'", folder);
    (void)chdir("/");
    (void)shell(command);
}

/* Runs halfcheck in the test's folder; stdout and stderr go to the files stdout and stderr. */
static inline int run(const char *before, const char *arguments)
{
    char command[1024];
    (void)snprintf(command, sizeof command, "%s '%s' %s >stdout 2>stderr </dev/null", before,
                   HC_PROGRAM, arguments);
    return shell(command);
}

static inline const char *content(const char *name)
{
    static char text[16384];
    FILE *f = fopen(name, "r");
    size_t length = f == NULL ? 0 : fread(text, 1, sizeof text - 1, f);
    if (f != NULL)
        (void)fclose(f);
    text[length] = '\0';
    return text;
}

/* One line on stderr, with this in it, and status 2. */
static inline void refuse_with(const char *before, const char *arguments, const char *fact)
{
    int status = run(before, arguments);
    const char *said = content("stderr");
    const char *newline = strchr(said, '\n');
    cr_assert_eq(status, 2, "%s: status %d, %s", arguments, status, said);
    cr_assert_eq(strncmp(said, "halfcheck: ", 11), 0, "%s", said);
    cr_assert_not_null(strstr(said, fact), "%s: %s", arguments, said);
    cr_assert(newline != NULL && newline[1] == '\0', "%s: %s", arguments, said);
}

static inline void refuse(const char *arguments, const char *fact)
{
    refuse_with("", arguments, fact);
}

/* It trains to the end, whether or not it learns. */
static inline void ends(const char *before, const char *arguments)
{
    int status = run(before, arguments);
    cr_assert(status == 0 || status == 1, "%s: status %d, %s", arguments, status,
              content("stderr"));
}

#endif
