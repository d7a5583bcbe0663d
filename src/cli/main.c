/* How the program starts and ends, and what it does without a command. */
#define _DEFAULT_SOURCE /* syscall */
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

#include "check/record/environment.h"
#include "check/record/json.h"
#include "cli/command.h"
#include "cli/ranks/ranks.h"
#include "op/cpu.h"
#include "op/memory_stream.h"
#include "op/text.h"
#include "op/typed.h"
#include "op/wrap.h"
#include "pipe.h"
#include "reference.h"

static void print_library(FILE *out, const struct hc_library *library)
{
    bool both = library->built[0] && library->loaded[0];
    const char *version = library->loaded[0] ? library->loaded : library->built;
    hc_print(out, "%-10s ", library->name);
    hc_text_line(out, version[0] ? version : "none");
    if (both && strcmp(library->built, library->loaded) != 0)
        hc_print(out, ", built with %s", library->built);
    (void)fputc('\n', out);
}

/* "halfcheck VERSION (COMMIT)" on the first line, and then a line for the compiler and for each
   library: its name, and the version that is loaded. */
static void print_version(FILE *out)
{
    int n;
    const struct hc_library *libraries = hc_libraries(&n);
    json_t *environment = hc_environment();
    hc_print(out, "%s\n", hc_version());
    hc_print(out, "%-10s %s\n", "compiler",
             json_string_value(json_object_get(environment, "compiler")));
    for (int i = 0; i < n; i++)
        print_library(out, &libraries[i]);
    json_decref(environment);
}

#ifdef HC_LOOKS_BEFORE_LIBRARIES
/* oneDNN 3 ends a program by a signal if there is no memory when it is loaded, before main begins.
   What stands in .preinit_array is called before any library begins. Only a limit on the address
   space (ulimit -v) matters here; malloc touches no page of what it is asked for. */
static void look_before_libraries(void)
{
    enum { LIBRARIES = 8 << 20 };
    static const char line[] = "halfcheck: no memory to start\n";
    struct rlimit limit;
    if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
        return;
    void *volatile buffer = malloc(LIBRARIES); /* volatile, so that the compiler keeps it */
    if (!buffer) {
        ssize_t ignored = write(STDERR_FILENO, line, sizeof line - 1);
        (void)ignored;
        _exit(HC_WRONG);
    }
    free(buffer);
}

__attribute__((section(".preinit_array"),
               used)) static void (*const before_libraries)(void) = look_before_libraries;
#endif

static void overview(FILE *out)
{
    int n;
    const struct hc_command *const *commands = hc_commands(&n);
    (void)fprintf(out, "halfcheck - %s\n\nusage: halfcheck COMMAND [ARGUMENTS]\n\n",
                  hc_help_of_halfcheck);
    for (int i = 0; i < n; i++)
        if (!commands[i]->hidden)
            hc_print_wrapped(out, fprintf(out, "  %-12s", commands[i]->name), 14,
                             commands[i]->summary);
    (void)fputc('\n', out);
    hc_print_wrapped(out, 0, 0,
                     "halfcheck help COMMAND explains a command, and halfcheck list shows what "
                     "there is; halfcheck doctor says what this machine lacks, and --version what "
                     "is running.");
}

static const struct hc_command *find_command(const char *name)
{
    int n;
    const struct hc_command *const *commands = hc_commands(&n);
    for (int i = 0; i < n; i++)
        if (strcmp(commands[i]->name, name) == 0)
            return commands[i];
    return NULL;
}

static int refuse_command(const char *name)
{
    static const char *const others[] = {"help", "--help", "--version", "version"};
    int n;
    const struct hc_command *const *commands = hc_commands(&n);
    struct hc_nearest nearest = hc_nearest_to(name, strlen(name));
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        hc_nearest_try(&nearest, others[i]);
    for (int i = 0; i < n; i++)
        if (!commands[i]->hidden)
            hc_nearest_try(&nearest, commands[i]->name);
    return hc_complain("no command '%s'%s; see: halfcheck --help", name, hc_nearest_hint(&nearest));
}

/* "help", "help COMMAND", which is "COMMAND --help". */
static int help(int argc, char **argv)
{
    static char option[] = "--help";
    if (argc < 2) {
        overview(stdout);
        return HC_AS_CLAIMED;
    }
    const struct hc_command *command = find_command(argv[1]);
    if (!command)
        return refuse_command(argv[1]);
    if (argc > 2)
        return hc_complain("help takes one command, not also '%s'", argv[2]);
    char *words[] = {argv[1], option, NULL};
    return command->run(2, words);
}

static int version(int argc, char **argv)
{
    if (argc > 1)
        return hc_complain("%s stands alone, without '%s'", argv[0], argv[1]);
    print_version(stdout);
    return HC_AS_CLAIMED;
}

static int run_command(int argc, char **argv)
{
    static const struct {
        const char *word;
        int (*run)(int argc, char **argv);
    } others[] = {{"--help", help}, {"-h", help},           {"help", help},
                  {"-V", version},  {"--version", version}, {"version", version}};
    const struct hc_command *command = argc < 2 ? NULL : find_command(argv[1]);
    if (!hc_ranks_speaks() && !(command && command->on_ranks))
        return HC_AS_CLAIMED;
    if (argc < 2) {
        overview(stderr);
        return HC_WRONG;
    }
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (strcmp(argv[1], others[i].word) == 0)
            return others[i].run(argc - 1, argv + 1);
    if (!command)
        return refuse_command(argv[1]);
    return command->run(argc - 1, argv + 1);
}

/* Threads that wait for the next parallel loop must sleep. If other programs use the cores, a
   thread that spins takes the core from the thread whose work it waits for: a training of
   darknet-tiny beside other programs on two cores took 30 to 70 s with OpenMP's default policy,
   and 2 to 4 s with this one. OpenMP reads the policy before main, so the program starts once
   more unless it is set; ./hc sets it. If that fails, the program goes on as it is. */
static void let_waiting_threads_sleep(char **argv)
{
    if (!getenv("OMP_WAIT_POLICY") && setenv("OMP_WAIT_POLICY", "passive", 0) == 0)
        (void)execv("/proc/self/exe", argv);
}

/* What HALFCHECK_HIDE hides (op/cpu.h), oneDNN must not use either. It reads its variable when it
   is first called. */
static void hide_from_onednn(void)
{
    const char *most = hc_cpu_onednn_most();
    if (most && !getenv("DNNL_MAX_CPU_ISA"))
        (void)setenv("ONEDNN_MAX_CPU_ISA", most, 0);
}

static pid_t owner; /* of the exit status; a forked process may end as it likes */
static bool done;

/* A kernel, or a library that it uses, may call exit. Its status would then be the program's, and 0
   would say that everything is as claimed, also by cases that have not run. */
static void end_as_wrong(void)
{
    if (done || getpid() != owner)
        return;
    hc_ranks_complain("a kernel or a library called exit before the command was done");
    (void)fflush(stdout);
    _exit(HC_WRONG);
}

/* The same for _exit, which runs no handler. What a library calls by that name is this function,
   since those of the program come before those of libc. Only the system call itself gets by. */
static _Noreturn void end_at_once(int status)
{
    if (status != HC_WRONG)
        end_as_wrong();
    for (;;)
        (void)syscall(SYS_exit_group, status);
}

void hc_end_at_once(int status) __asm__("_exit");
_Noreturn void hc_end_at_once(int status)
{
    end_at_once(status);
}

void hc_end_abruptly(int status) __asm__("_Exit");
_Noreturn void hc_end_abruptly(int status)
{
    end_at_once(status);
}

/* GMP and MPFR cannot return without the memory that they asked for; GMP would abort. No file is
   torn by this end, because files are replaced as a whole. */
static void end_without_memory(void)
{
    hc_ranks_complain("no memory for a number of MPFR");
    hc_pipe_kill_all();
    _exit(HC_WRONG);
}

/* What was printed must have been written, all of it. A command that is wrong has said why. */
static int conclude_command(int status)
{
    bool written = fflush(stdout) == 0 && !ferror(stdout);
    if (status == HC_WRONG)
        return status;
    if (!written)
        return hc_complain("cannot write to standard output: %s", strerror(errno));
    if (hc_memory_lost() || hc_json_status() != HC_OK)
        return hc_complain("no memory for the output");
    return status;
}

/* One exit status for all ranks, and one line of what is wrong with one of them. Rank 0 alone ends
   with it: mpirun kills the others as soon as one ends with another status than 0, and that must
   not be rank 0 while it speaks. */
static int run_on_ranks(int argc, char **argv)
{
    bool say = false;
    enum hc_status begun = hc_ranks_begin(hc_command_line());
    if (begun == HC_OK)
        begun = hc_cpu_check_hidden();
    int status = conclude_command(begun == HC_OK ? run_command(argc, argv) : hc_complain_message());
    status = hc_ranks_end(hc_ranks(), status, hc_complaint_kept(), &say);
    if (say)
        (void)hc_complain_message();
    /* Where all know how the job ends, there is none that could not do its work. */
    hc_comm_end(hc_ranks()->lost ? status : HC_AS_CLAIMED);
    return hc_ranks_speaks() ? status : HC_AS_CLAIMED;
}

/* A case frees what is as large as the next one's tensors. What malloc would give back to the
   system in between comes again page by page, filled with zeros. */
static void keep_freed_memory(void)
{
#ifdef __GLIBC__
    (void)mallopt(M_TRIM_THRESHOLD, 256 << 20);
    (void)mallopt(M_MMAP_THRESHOLD, 32 << 20); /* the most that it takes */
#endif
}

int main(int argc, char **argv)
{
    let_waiting_threads_sleep(argv);
    keep_freed_memory();
    hide_from_onednn();
    /* First, because a rank is a child of the process that was started, which guards it. */
    (void)hc_comm_world();
    owner = getpid();
    if (atexit(end_as_wrong) != 0 || at_quick_exit(end_as_wrong) != 0)
        return hc_complain("cannot register a handler of exit");
    /* A file that grows over the limit is then an error, like a full disk. */
    (void)signal(SIGXFSZ, SIG_IGN);
    hc_json_watch(malloc);
    hc_reference_watch(realloc, end_without_memory);
    int status = hc_keep_command_line(argv) ? run_on_ranks(argc, argv)
                                            : hc_complain("no memory for the command line");
    done = true;
    return status;
}
