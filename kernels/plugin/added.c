/* The plug-ins that somebody adds, first loaded on trial. A constructor or an entry that crashes
   would end the program without a word. Here it ends a child alone, and the program can say whose
   fault it was. */
#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kernels/plugin/load.h"
#include "kernels/plugin/added.h"
#include "kernels/plugin/plugins.h"
#include "op/text.h"
#include "op/status.h"

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

/* Loads the shared object in a process of its own, and asks it for its backends. HC_INVALID, with a
   line, if that process crashes or ends; what the loader refuses is not looked at here. */
static enum hc_status hc_plugin_trial(const char *path)
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

static const struct hc_backend *backends[HC_MAX_ADDED];
static const char *files[HC_MAX_ADDED]; /* by backend */
static int count;

static void *last; /* the shared object that was added last */
static char *options;

const struct hc_backend *const *hc_backends_added(int *n)
{
    *n = count;
    return backends;
}

const char *hc_plugins_file_of(const char *backend)
{
    for (int i = 0; i < count; i++)
        if (strcmp(backends[i]->name, backend) == 0)
            return files[i];
    return NULL;
}

const void *hc_plugins_symbol(const char *name)
{
    return last ? hc_plugin_symbol(last, name) : NULL;
}

const char *hc_plugins_options(void)
{
    return options ? options : "";
}

/* These names are kept for halfcheck-cuda.so, which is loaded only where it is needed. */
static bool is_kept(const char *name)
{
    return strcmp(name, "cuda") == 0 || strncmp(name, "cuda-", 5) == 0;
}

static enum hc_status add_backends(void *library, const char *path)
{
    const struct hc_plugin *plugin = hc_plugin_backends(library, path, NULL);
    if (!plugin)
        return HC_INVALID;
    for (int i = 0; i < plugin->count; i++)
        if (is_kept(plugin->backends[i]->name))
            return hc_fail(HC_INVALID,
                           "%s: its backend %d has a name that belongs to halfcheck-cuda.so",
                           hc_plugin_file(path), i + 1);
    if (count + plugin->count > HC_MAX_ADDED)
        return hc_fail(HC_INVALID, "%s: more than %d backends from plug-ins", hc_plugin_file(path),
                       HC_MAX_ADDED);
    for (int i = 0; i < plugin->count; i++) {
        files[count] = path;
        backends[count++] = plugin->backends[i];
    }
    return HC_OK;
}

/* A name alone is a file in the current folder; the loader would look for it elsewhere. */
static char *with_folder(const char *path)
{
    size_t size = strlen(path) + sizeof "./";
    char *copy = malloc(size);
    if (copy)
        (void)snprintf(copy, size, "%s%s", strchr(path, '/') ? "" : "./", path);
    return copy;
}

static enum hc_status add_option(const char *path)
{
    static const char option[] = " --plugin ";
    size_t used = options ? strlen(options) : 0;
    size_t size = used + sizeof option + 4 * strlen(path) + 3; /* a quote becomes four characters */
    char *longer = realloc(options, size);
    if (!longer)
        return hc_fail(HC_NO_MEMORY, "no memory for the name of a plug-in");
    options = longer;
    memcpy(options + used, option, sizeof option);
    (void)hc_text_shell(options + used + sizeof option - 1, size - used - sizeof option + 1, path);
    return HC_OK;
}

static enum hc_status add_from(const char *from)
{
    /* An incomplete file is found before anything is loaded, also by the trial. */
    enum hc_status status = hc_plugin_is_readable(from);
    if (status == HC_OK)
        status = hc_plugin_trial(from);
    last = status == HC_OK ? hc_plugin_load(from) : NULL;
    if (!last)
        return HC_INVALID;
    if (hc_plugin_symbol(last, "hc_plugin"))
        return add_backends(last, from);
    if (hc_plugin_symbol(last, "hc_plugin_cases"))
        return HC_OK;
    return hc_fail(HC_INVALID,
                   "%s is no plug-in of halfcheck: it exports neither hc_plugin nor "
                   "hc_plugin_cases",
                   hc_plugin_file(from));
}

enum hc_status hc_plugins_add(const char *path)
{
    char *from = with_folder(path);
    if (!from)
        return hc_fail(HC_NO_MEMORY, "no memory for the name of a plug-in");
    enum hc_status status = add_from(from);
    if (!count || files[count - 1] != from)
        free(from); /* no backend comes from it */
    return status == HC_OK ? add_option(path) : status;
}
