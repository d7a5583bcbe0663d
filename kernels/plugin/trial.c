/* A constructor or an entry that crashes would end the program without a word. Here it ends a child
   alone, and the program can say whose fault it was. */
#include "kernels/plugin/trial.h"

#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kernels/plugin/load.h"

/* The child's exit status after the trial. One that a plug-in ends with is hardly the same. */
enum { CAME_BACK = 113 };

static _Noreturn void load(const char *path)
{
    static const int crashes[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
    for (size_t i = 0; i < sizeof crashes / sizeof crashes[0]; i++)
        (void)signal(crashes[i], SIG_DFL); /* a sanitizer would print a page */
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (library && hc_plugin_symbol(library, "hc_plugin"))
        (void)hc_plugin_backends(library, path, NULL);
    _exit(CAME_BACK);
}

enum hc_status hc_plugin_trial(const char *path)
{
    int status = 0;
    const char *file = hc_plugin_file(path);
    pid_t child = fork();
    if (child == 0)
        load(path);
    if (child < 0)
        return hc_fail(HC_DEVICE, "%s: no process to load it in: %s", file, strerror(errno));
    while (waitpid(child, &status, 0) < 0)
        if (errno != EINTR)
            return hc_fail(HC_DEVICE, "%s: cannot wait for its trial: %s", file, strerror(errno));
    if (WIFSIGNALED(status))
        return hc_fail(HC_INVALID, "%s crashes when it is loaded (signal %d)", file,
                       WTERMSIG(status));
    return WEXITSTATUS(status) == CAME_BACK
               ? HC_OK
               : hc_fail(HC_INVALID, "%s ends the process that loads it", file);
}
