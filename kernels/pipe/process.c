/* Starting and ending programs. Each has a process group of its own, so that whatever it starts
   ends with it, and so that ctrl-C at the terminal reaches halfcheck alone, which then decides. */
#define _GNU_SOURCE /* pipe2, F_SETPIPE_SZ */

#include "kernels/pipe/process.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* The groups that run, for hc_process_kill_all: 0 is a free place. A process that this one forks
   has the list, too, but not the right to end them. */
enum { MAX_GROUPS = 64 };
static volatile sig_atomic_t groups[MAX_GROUPS], owner;

static void remember(pid_t pid)
{
    int i = 0;
    owner = getpid();
    while (i < MAX_GROUPS - 1 && groups[i])
        i++;
    groups[i] = pid;
}

static void forget(pid_t pid)
{
    for (int i = 0; i < MAX_GROUPS; i++)
        if (groups[i] == pid)
            groups[i] = 0;
}

void hc_process_kill_all(void)
{
    for (int i = 0; i < MAX_GROUPS && owner == getpid(); i++)
        if (groups[i])
            (void)kill(-(pid_t)groups[i], SIGKILL);
}

static void end_with_us(int number)
{
    hc_process_kill_all();
    (void)signal(number, SIG_DFL);
    (void)raise(number);
}

/* Where nobody else has asked for these signals, they end the programs before they end us. */
static void prepare_signals(void)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
    static bool prepared;
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0] && !prepared; i++) {
        struct sigaction action;
        if (sigaction(numbers[i], NULL, &action) == 0 && action.sa_handler == SIG_DFL)
            (void)signal(numbers[i], end_with_us);
    }
    if (!prepared) {
        (void)signal(SIGPIPE, SIG_IGN);
        (void)atexit(hc_process_kill_all);
    }
    prepared = true;
}

/* Runs /bin/sh -c COMMAND with standard input, output and the shared memory as given; -1: ours, or
   none. Returns an errno. */
static int spawn(pid_t *pid, char *const *arguments, int in, int out, int shared)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t none, usual;
    (void)sigemptyset(&none);
    (void)sigemptyset(&usual);
    (void)sigaddset(&usual, SIGPIPE);
    (void)posix_spawn_file_actions_init(&actions);
    (void)posix_spawnattr_init(&attributes);
    (void)posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF |
                                                    POSIX_SPAWN_SETSIGMASK);
    (void)posix_spawnattr_setpgroup(&attributes, 0);
    (void)posix_spawnattr_setsigdefault(&attributes, &usual);
    (void)posix_spawnattr_setsigmask(&attributes, &none);
    if (in >= 0)
        (void)posix_spawn_file_actions_adddup2(&actions, in, STDIN_FILENO);
    if (out >= 0)
        (void)posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
    if (shared >= 0)
        (void)posix_spawn_file_actions_adddup2(&actions, shared, HC_PROCESS_SHARED);
    int failed = posix_spawn(pid, "/bin/sh", &actions, &attributes, arguments, environ);
    (void)posix_spawn_file_actions_destroy(&actions);
    (void)posix_spawnattr_destroy(&attributes);
    return failed;
}

enum hc_command hc_process_find(const char *command)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "_-+./";
    static const char question[] =
        "case $(command -v -- \"$0\") in */*) exit 0;; '') exit 1;; *) exit 2;; esac";
    char word[1024];
    const char *start = command + strspn(command, " \t");
    const char *rest = start + strspn(start, plain);
    size_t length = (size_t)(rest - start);
    if (length == 0 || length >= sizeof word || !strchr(" \t", *rest))
        return HC_COMMAND_OTHER;
    (void)snprintf(word, sizeof word, "%.*s", (int)length, start);
    char *const arguments[] = {(char[]){"sh"}, (char[]){"-c"}, (char *)question, word, NULL};
    pid_t pid;
    int status = 0;
    if (spawn(&pid, arguments, -1, -1, -1) != 0)
        return HC_COMMAND_OTHER;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        continue;
    if (WIFEXITED(status) && WEXITSTATUS(status) == 1)
        return HC_COMMAND_ABSENT;
    while (*rest && (strchr(plain, *rest) || strchr(" \t=:,@%", *rest)))
        rest++;
    return status == 0 && !*rest ? HC_COMMAND_FILE : HC_COMMAND_OTHER;
}

/* Moves a descriptor above those that the program gets, so that none is overwritten before it is
   copied. */
static int moved(int file)
{
    if (file < 0 || file > HC_PROCESS_SHARED)
        return file;
    int higher = fcntl(file, F_DUPFD_CLOEXEC, HC_PROCESS_SHARED + 1);
    (void)close(file);
    return higher;
}

static bool make_pipe(int ends[2])
{
    if (pipe2(ends, O_CLOEXEC) != 0) {
        ends[0] = ends[1] = -1;
        return false;
    }
    ends[0] = moved(ends[0]);
    ends[1] = moved(ends[1]);
    (void)fcntl(ends[1], F_SETPIPE_SZ,
                1 << 20); /* fewer turns for a large tensor; may be refused */
    return ends[0] >= 0 && ends[1] >= 0;
}

static void close_end(int *file)
{
    if (*file >= 0)
        (void)close(*file);
    *file = -1;
}

enum hc_status hc_process_start(struct hc_process *process, const char *command, int shared)
{
    char *const arguments[] = {(char[]){"sh"}, (char[]){"-c"}, (char *)command, NULL};
    int hears[2], says[2] = {-1, -1};
    int failed = 0;
    prepare_signals();
    if (!make_pipe(hears) || !make_pipe(says))
        failed = errno;
    *process = (struct hc_process){0, says[0], hears[1]};
    if (!failed)
        failed = spawn(&process->pid, arguments, hears[0], says[1], shared);
    close_end(&hears[0]);
    close_end(&says[1]);
    if (!failed) {
        remember(process->pid);
        (void)fcntl(process->in, F_SETFL, O_NONBLOCK);
        (void)fcntl(process->out, F_SETFL, O_NONBLOCK);
        return HC_OK;
    }
    process->pid = 0;
    close_end(&process->in);
    close_end(&process->out);
    return hc_fail(HC_DEVICE, "%s: cannot be started: %s", command, strerror(failed));
}

enum hc_status hc_process_adopt(struct hc_process *process, int in, int out)
{
    int files[] = {in, out};
    *process = (struct hc_process){0, in, out};
    for (int i = 0; i < 2; i++) {
        int flags = fcntl(files[i], F_GETFL);
        bool wrong = (flags & O_ACCMODE) == (i == 0 ? O_WRONLY : O_RDONLY);
        if (flags < 0 || wrong)
            return hc_fail(HC_INVALID, "pipe-fd:%d,%d: descriptor %d cannot be %s", in, out,
                           files[i], i == 0 ? "read" : "written");
        (void)fcntl(files[i], F_SETFL, flags | O_NONBLOCK);
        (void)fcntl(files[i], F_SETFD, FD_CLOEXEC);
    }
    (void)signal(SIGPIPE, SIG_IGN);
    return HC_OK;
}

/* Whether the process ends within so many seconds. It is not reaped: until it is, no other group
   can have its number. */
static bool ends_within(pid_t pid, double seconds)
{
    const double pause = 0.001;
    for (double waited = 0;; waited += pause) {
        siginfo_t info = {.si_pid = 0};
        if (waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT | WNOHANG) != 0 && errno != EINTR)
            return true;
        if (info.si_pid == pid || waited >= seconds)
            return info.si_pid == pid;
        (void)nanosleep(&(struct timespec){.tv_nsec = (long)(pause * 1e9)}, NULL);
    }
}

/* A shell says 128 + N of a command that died by signal N. */
static void describe(int status, char how[HC_ENDED_TEXT])
{
    int code = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
    int number = WIFSIGNALED(status) ? WTERMSIG(status) : code > 128 && code < 160 ? code - 128 : 0;
    if (number)
        (void)snprintf(how, HC_ENDED_TEXT, "died by signal %d", number);
    else
        (void)snprintf(how, HC_ENDED_TEXT, "ended with status %d", code);
}

void hc_process_end(struct hc_process *process, double seconds, char how[HC_ENDED_TEXT])
{
    const double grace = 0.3;
    pid_t pid = process->pid;
    int status = 0;
    how[0] = '\0';
    close_end(&process->out);
    close_end(&process->in);
    process->pid = 0;
    if (!pid)
        return;
    bool by_itself = ends_within(pid, seconds);
    if (!by_itself) {
        (void)kill(-pid, SIGTERM);
        (void)ends_within(pid, grace);
    }
    (void)kill(-pid, SIGKILL);
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
        continue;
    forget(pid);
    if (by_itself)
        describe(status, how);
}
