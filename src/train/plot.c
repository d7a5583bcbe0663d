#include "train/plot.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { NO_GNUPLOT = 127, NO_FOLDER = 126 };

static void become_gnuplot(const char *script, const char *definitions, const char *folder,
                           int errors)
{
    if (chdir(folder) != 0)
        _exit(NO_FOLDER);
    (void)dup2(errors, STDERR_FILENO);
    (void)dup2(errors, STDOUT_FILENO);
    (void)execlp("gnuplot", "gnuplot", "-e", definitions, script, (char *)NULL);
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

enum hc_status hc_plot(const char *script, const char *definitions, const char *folder)
{
    int pipe_ends[2];
    int outcome = 0;
    char said[256] = "no reason given";
    if (pipe(pipe_ends) != 0)
        return hc_fail(HC_IO, "cannot start gnuplot: %s", strerror(errno));
    (void)fflush(NULL);
    pid_t child = fork();
    if (child == 0)
        become_gnuplot(script, definitions, folder, pipe_ends[1]);
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
