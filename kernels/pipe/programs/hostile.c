/* A program for the tests of kernels/pipe: hostile MODE [CALL]. It calls itself MODE, has add in
   fp32, and does right but for call CALL (1; 0: all calls), in which it misbehaves as MODE says. */
#define _GNU_SOURCE

#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static char line[1 << 16];
static float x[1 << 20];
static float y[1 << 20];

static long number(const char *key)
{
    const char *at = strstr(line, key);
    return at ? strtol(at + strlen(key), NULL, 10) : 0;
}

static void say(const char *text)
{
    (void)fputs(text, stdout);
    (void)fflush(stdout);
}

static void hang(void)
{
    for (;;)
        (void)pause();
}

/* Everything that a hostile program can do to shared memory. */
static void attack(int file, long size)
{
    unsigned char *memory = mmap(NULL, (size_t)size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    bool shrinks = ftruncate(file, 0) == 0 || ftruncate(file, size - 4096) == 0;
    bool seals =
        fcntl(file, F_ADD_SEALS, F_SEAL_GROW) == 0 || fcntl(file, F_ADD_SEALS, F_SEAL_WRITE) == 0;
    (void)fallocate(file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, size);
    memset(memory, 0xff, (size_t)size);
    say(shrinks || seals ? "error it yields\n" : "ok\n");
    for (int i = 0; i < 100; i++)
        memset(memory, i, (size_t)size);
}

/* Misbehaves before the call's bytes are read. */
static void before(const char *mode)
{
    if (strcmp(mode, "early") == 0)
        say("no, not that\nand not that either\n");
    if (strcmp(mode, "early") == 0 || strcmp(mode, "deaf") == 0)
        hang();
    if (strcmp(mode, "dies-deaf") == 0)
        exit(4);
}

/* Misbehaves in place of the answer; false if it shall answer after all. */
static bool misbehave(const char *mode, size_t bytes)
{
    static char much[1 << 17];
    memset(much, 'a', sizeof much - 1);
    if (strcmp(mode, "signal") == 0)
        (void)raise(SIGSEGV);
    if (strcmp(mode, "exit") == 0)
        exit(3);
    if (strcmp(mode, "close") == 0)
        (void)fclose(stdout);
    if (strcmp(mode, "hang") == 0 || strcmp(mode, "close") == 0)
        hang();
    if (strcmp(mode, "print") == 0)
        say("debug: here I am\n");
    if (strcmp(mode, "binary") == 0)
        (void)fwrite("\xff\x00\x01\xfe\n\x00ok\n", 1, 9, stdout);
    if (strcmp(mode, "zero") == 0)
        (void)fwrite("ok\0and more\n", 1, 12, stdout);
    if (strcmp(mode, "long-line") == 0)
        say(much);
    if (strcmp(mode, "error") == 0)
        say("error the device is on \033[31mfire\n");
    if (strcmp(mode, "no") == 0)
        say("no such luck\n");
    if (strcmp(mode, "half-line") == 0)
        say("o");
    if (strcmp(mode, "short") == 0) {
        say("ok\n");
        (void)fwrite(x, 1, bytes - 2, stdout);
    }
    if (strcmp(mode, "short-exit") == 0) {
        say("ok\n");
        (void)fwrite(x, 1, bytes - 2, stdout);
        exit(0);
    }
    if (strcmp(mode, "nan") == 0) {
        memset(x, 0xff, bytes);
        return false;
    }
    return strcmp(mode, "good") != 0 && strcmp(mode, "more") != 0 && strcmp(mode, "fuzz") != 0;
}

/* The right answer with something changed, by numbers that follow from the seed and the call. */
static void mutate(unsigned long seed, size_t bytes)
{
    static unsigned char answer[1 << 17];
    unsigned long r = (seed + 1) * 0x9e3779b97f4a7c15u;
    static const char ok[] = {'o', 'k', '\n'};
    size_t length = sizeof ok + bytes;
    memcpy(answer, ok, sizeof ok);
    memcpy(answer + sizeof ok, x, bytes);
    for (int i = 0; i < 2; i++) {
        r ^= r << 13;
        r ^= r >> 7;
        r ^= r << 17;
        size_t at = (r >> 8) % (length < 64 || r >> 60 ? length : 64);
        size_t more = (r >> 40) % 4000;
        switch (r % 9) {
        case 0: /* a bit is another */
            answer[at] ^= (unsigned char)(1u << (r >> 50 & 7));
            break;
        case 1: /* the end is missing */
            length = at + 1;
            break;
        case 2: /* there is more */
            memset(answer + length, (int)(r >> 20), more);
            length += more;
            break;
        case 3: /* a part is twice there */
            memmove(answer + at + more, answer + at, length - at);
            length += more;
            break;
        default:
            break;
        }
    }
    (void)fwrite(answer, 1, length, stdout);
    (void)fflush(stdout);
}

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "good";
    long bad = argc > 2 ? strtol(argv[2], NULL, 10) : 1;
    if (!fgets(line, sizeof line, stdin))
        return 1;
    int file = (int)number("\"shared\": ");
    printf("{\"pipe\": 1, \"name\": \"%s\", \"ops\": {\"add\": {\"formats\": [\"fp32\"]}}, "
           "\"parallel\": true, \"shared\": %s}\n",
           mode, strcmp(mode, "attack") == 0 ? "true" : "false");
    (void)fflush(stdout);
    while (fgets(line, sizeof line, stdin)) {
        size_t bytes = (size_t)number("\"bytes\": ");
        long shared = number("\"shared\": ");
        bool now = number("\"call\": ") == bad || bad == 0;
        if (shared) {
            attack(file, shared);
            continue;
        }
        if (now)
            before(mode);
        if (bytes > sizeof x || fread(x, 1, bytes, stdin) + fread(y, 1, bytes, stdin) < 2 * bytes)
            return 1;
        if (now && misbehave(mode, bytes)) {
            (void)fflush(stdout);
            continue;
        }
        for (size_t i = 0; i < bytes / 4; i++)
            x[i] += y[i];
        if (strcmp(mode, "fuzz") == 0) {
            mutate((unsigned long)number("\"call\": ") + 1000 * (unsigned long)bad, bytes);
            continue;
        }
        say("ok\n");
        (void)fwrite(x, 1, bytes, stdout);
        if (now && strcmp(mode, "more") == 0)
            (void)fwrite("!!", 1, 2, stdout);
        (void)fflush(stdout);
    }
    return 0;
}
