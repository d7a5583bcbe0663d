/* Running the built program on a pseudo-terminal in tests. */
#ifndef HC_CLI_TESTING_TERMINAL_H
#define HC_CLI_TESTING_TERMINAL_H

#include <fcntl.h>
#include <sys/ioctl.h>

#include "cli/testing.h"

/* What a terminal got. */
struct shown {
    int status;
    int widest;     /* the columns of the widest line that was ever drawn */
    size_t resized; /* how much it had got when it was resized */
    char bytes[1 << 17];
    size_t length;
};

static inline int open_terminal(int columns, char *name, size_t size)
{
    int terminal = open("/dev/ptmx", O_RDWR | O_NOCTTY);
    struct winsize window = {.ws_col = (unsigned short)columns, .ws_row = 24};
    int locked = 0;
    int number = 0;
    cr_assert_geq(terminal, 0);
    cr_assert_eq(ioctl(terminal, TIOCSPTLCK, &locked), 0);
    cr_assert_eq(ioctl(terminal, TIOCGPTN, &number), 0);
    (void)snprintf(name, size, "/dev/pts/%d", number);
    cr_assert_eq(ioctl(terminal, TIOCSWINSZ, &window), 0);
    return terminal;
}

/* The widest line, where \r and \n begin a new one and escape sequences are not counted. UTF-8 is
   counted by its first bytes. */
static inline int widest_line(const char *bytes)
{
    int widest = 0;
    int column = 0;
    for (; *bytes; bytes++) {
        if (*bytes == '\033') {
            bytes += strcspn(bytes, "mKJhlA");
            if (!*bytes)
                break;
        } else if (*bytes == '\r' || *bytes == '\n') {
            column = 0;
        } else if (((unsigned char)*bytes & 0xc0) != 0x80) {
            column++;
        }
        widest = column > widest ? column : widest;
    }
    return widest;
}

/* Runs a line of shell, in which $hc is the program, with its three streams on a terminal, which
   gets another width once something was printed. */
static inline const struct shown *run_on_resized_terminal(int columns, int later, const char *line)
{
    static struct shown shown;
    char name[128];
    int terminal = open_terminal(columns, name, sizeof name);
    cr_assert_eq(setenv("hc", HC_PROGRAM, 1), 0);
    pid_t child = fork();
    cr_assert_geq(child, 0);
    if (child == 0) {
        (void)setsid();
        int side = open(name, O_RDWR);
        if (side < 0 || dup2(side, 0) < 0 || dup2(side, 1) < 0 || dup2(side, 2) < 0)
            _exit(99);
        (void)close(side);
        (void)close(terminal);
        (void)execl("/bin/sh", "sh", "-c", line, (char *)NULL);
        _exit(99);
    }
    struct winsize window = {.ws_col = (unsigned short)later, .ws_row = 24};
    shown.length = shown.resized = 0;
    ssize_t got;
    while ((got = read(terminal, shown.bytes + shown.length,
                       sizeof shown.bytes - 1 - shown.length)) > 0) {
        shown.length += (size_t)got;
        if (later == columns || shown.resized)
            continue;
        cr_assert_eq(ioctl(terminal, TIOCSWINSZ, &window), 0);
        shown.resized = shown.length;
    }
    shown.bytes[shown.length] = '\0';
    (void)close(terminal);
    int status;
    cr_assert_eq(waitpid(child, &status, 0), child);
    shown.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    shown.widest = widest_line(shown.bytes);
    return &shown;
}

static inline const struct shown *run_on_terminal(int columns, const char *line)
{
    return run_on_resized_terminal(columns, columns, line);
}

#endif
