/* Programs that halfcheck starts or that start it: gnuplot, Python with the package, a browser. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check/record/environment.h"
#include "cli/doctor/doctor.h"

enum { SECONDS = 10 /* a program may take for its answer */, LINE = 256 };

/* The child: without input, without errors, and ended by SIGALRM if it takes too long. */
static void be(char *const words[], int out)
{
    FILE *null = fopen("/dev/null", "r+");
    if (!null || dup2(fileno(null), STDIN_FILENO) < 0 || dup2(fileno(null), STDERR_FILENO) < 0 ||
        dup2(out, STDOUT_FILENO) < 0)
        _exit(127);
    (void)alarm(SECONDS);
    (void)execvp(words[0], words);
    _exit(127);
}

/* Runs a program from the PATH without a shell. Returns whether it ended with status 0; `line` is
   the first line that it printed. */
static bool ask(char *const words[], char line[LINE])
{
    int ends[2];
    int status = 1;
    line[0] = '\0';
    (void)fflush(stdout);
    if (pipe(ends) != 0)
        return false;
    pid_t child = fork();
    if (child == 0)
        be(words, ends[1]);
    (void)close(ends[1]);
    FILE *out = fdopen(ends[0], "r");
    if (out && !fgets(line, LINE, out))
        line[0] = '\0';
    while (out && fgetc(out) != EOF) {
    }
    if (out)
        (void)fclose(out);
    else
        (void)close(ends[0]);
    line[strcspn(line, "\n")] = '\0';
    return child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) &&
           WEXITSTATUS(status) == 0;
}

static void tell_gnuplot(struct hc_doctor *doctor)
{
    char name[] = "gnuplot";
    char option[] = "--version";
    char *const words[] = {name, option, NULL};
    char line[LINE];
    if (ask(words, line))
        hc_doctor_tell(doctor, HC_HEALTH_OK, "gnuplot", line, NULL, NULL);
    else
        hc_doctor_tell(doctor, HC_HEALTH_MISSING, "gnuplot", "is not on the PATH",
                       "train, compare and report make no pictures that gnuplot draws",
                       "apt-get install gnuplot-nox");
}

/* Versions without importing anything; not of modules that lie in the current folder. */
static char python_text[] = "import sys; sys.path.pop(0)\n"
                            "from importlib import metadata, util\n"
                            "def version(name):\n"
                            "    try: return metadata.version(name)\n"
                            "    except metadata.PackageNotFoundError: return ''\n"
                            "own = util.find_spec('halfcheck') is not None\n"
                            "print('%d.%d.%d' % sys.version_info[:3], int(own), "
                            "'halfcheck=' + version('halfcheck'), "
                            "*[name + '=' + version(name) for name in ('torch', 'jax', 'numpy')])";

/* Puts "torch 1.13, numpy 1.24" for the words "torch=1.13 jax= numpy=1.24". */
static void add_modules(char *found, size_t size, char *words)
{
    for (char *word = strtok(words, " "); word; word = strtok(NULL, " ")) {
        char *sign = strchr(word, '=');
        size_t used = strlen(found);
        if (!sign || !sign[1])
            continue;
        *sign = ' ';
        (void)snprintf(found + used, size - used, ", %s", word);
    }
}

static void tell_python(struct hc_doctor *doctor)
{
    char name[] = "python3";
    char option[] = "-c";
    char *const words[] = {name, option, python_text, NULL};
    char line[LINE];
    char version[32];
    char found[2 * LINE];
    int own = 0;
    int length = 0;
    if (!ask(words, line) || sscanf(line, "%31s %d %n", version, &own, &length) != 2) {
        hc_doctor_tell(doctor, HC_HEALTH_MISSING, "python", "there is no python3 on the PATH",
                       "no kernel in Python can be judged: halfcheck.check, halfcheck.torch",
                       "apt-get install python3-venv, and pip install the checkout");
        return;
    }
    (void)snprintf(found, sizeof found, "%s", version);
    add_modules(found, sizeof found, line + length);
    hc_doctor_tell(doctor, HC_HEALTH_OK, "python", found, NULL, NULL);
    if (own)
        hc_doctor_tell(doctor, HC_HEALTH_OK, "python-package",
                       "python3 finds the package halfcheck", NULL, NULL);
    else
        hc_doctor_tell(doctor, HC_HEALTH_MISSING, "python-package",
                       "python3 finds no package halfcheck",
                       "no kernel in Python can be judged: halfcheck.check, halfcheck.torch",
                       "pip install . in the checkout (in a virtual environment)");
}

static void tell_browser(struct hc_doctor *doctor)
{
    static char names[][32] = {"chromium-headless-shell", "chromium", "chromium-browser",
                               "google-chrome", "google-chrome-stable"};
    char option[] = "--version";
    char line[LINE];
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char *const words[] = {names[i], option, NULL};
        if (!ask(words, line))
            continue;
        hc_doctor_tell(doctor, HC_HEALTH_OK, "browser", line[0] ? line : names[i], NULL, NULL);
        return;
    }
    hc_doctor_tell(doctor, HC_HEALTH_MISSING, "browser", "no Chromium is on the PATH",
                   "report cannot write its page as PDF; HTML needs none",
                   "apt-get install chromium");
}

void hc_doctor_tools(struct hc_doctor *doctor)
{
    tell_gnuplot(doctor);
    tell_python(doctor);
    tell_browser(doctor);
}
