/* Where in the source an instruction comes from, by addr2line (binutils). Where that is not
   installed, a finding has no line. */
#include <elf.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kernels/cuda/shadow/inner.h"

extern char **environ;
extern const char __executable_start[];

/* Runs addr2line with its output in `out`. */
static void ask(char *program, char *address, FILE *out)
{
    char *words[] = {"addr2line", "-i", "-e", program, address, NULL};
    posix_spawn_file_actions_t actions;
    pid_t child;
    int how;
    if (posix_spawn_file_actions_init(&actions) != 0)
        return;
    (void)posix_spawn_file_actions_adddup2(&actions, fileno(out), STDOUT_FILENO);
    (void)posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", 1, 0);
    if (posix_spawnp(&child, words[0], &actions, NULL, words, environ) == 0)
        (void)waitpid(child, &how, 0);
    (void)posix_spawn_file_actions_destroy(&actions);
}

const char *hc_shadow_source(const void *from, char *text, size_t size)
{
    const Elf64_Ehdr *header = (const void *)__executable_start;
    uintptr_t base = header->e_type == ET_DYN ? (uintptr_t)header : 0;
    char program[40];
    char address[24];
    char line[1024];
    size_t length = 0;
    FILE *out = from ? tmpfile() : NULL;
    text[0] = '\0';
    if (!out)
        return text;
    (void)snprintf(program, sizeof program, "/proc/%d/exe", (int)getpid());
    (void)snprintf(address, sizeof address, "0x%zx", (size_t)((uintptr_t)from - 1 - base));
    ask(program, address, out);
    rewind(out);
    while (fgets(line, sizeof line, out) && line[0] != '?') {
        const char *name = strrchr(line, '/') ? strrchr(line, '/') + 1 : line;
        size_t end = strcspn(name, " \n");
        int n = snprintf(text + length, size - length, "%s%.*s", length == 0 ? " (" : " < ",
                         (int)end, name);
        if (n < 0 || (size_t)n >= size - length - 2)
            break;
        length += (size_t)n;
    }
    (void)fclose(out);
    (void)snprintf(text + length, size - length, "%s", length > 0 ? ")" : "");
    return text;
}
