/* A pseudo-terminal in tests of functions that print. */
#ifndef HC_CLI_TESTING_TERMINAL_H
#define HC_CLI_TESTING_TERMINAL_H

#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/ioctl.h>

/* Returns the side that reads what is printed. The other side is opened by its name. */
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

#endif
