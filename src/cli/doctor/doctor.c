#include "cli/doctor/doctor.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cases/registry.h"
#include "check/record/environment.h"
#include "check/runner.h"
#include "cli/colour.h"
#include "cli/lines.h"
#include "comm/plugin.h"
#include "num/float_state.h"
#include "op/wrap.h"
#include "plugins.h"
#include "train/data/data.h"

/* The processor, the arithmetic of this process, the terminal, and the folder. */

/* Whether the flags name all that the fast loops of host are compiled for. */
static bool has_vectors(const char *flags)
{
    static const char *const needed[] = {"avx2", "fma", "f16c"};
    char all[512];
    bool has = true;
    (void)snprintf(all, sizeof all, " %s ", flags);
    for (size_t i = 0; i < sizeof needed / sizeof *needed; i++) {
        char word[16];
        (void)snprintf(word, sizeof word, " %s ", needed[i]);
        has = has && strstr(all, word);
    }
    return has;
}

static void find_processor(struct hc_doctor *doctor)
{
    json_t *environment = hc_environment();
    const char *model = json_string_value(json_object_get(environment, "cpu"));
    const char *threads = getenv("OMP_NUM_THREADS");
    const char *flags = json_string_value(json_object_get(environment, "cpu_flags"));
    char found[512];
    (void)snprintf(found, sizeof found, "%.120s, %ld cores%s%.20s; %.256s",
                   model ? model : "a processor without a name", sysconf(_SC_NPROCESSORS_ONLN),
                   threads ? ", OMP_NUM_THREADS=" : "", threads ? threads : "", flags ? flags : "");
    if (has_vectors(flags ? flags : ""))
        hc_doctor_add(doctor, HC_HEALTH_OK, "processor", found, NULL, NULL);
    else
        hc_doctor_add(doctor, HC_HEALTH_MISSING, "processor", found,
                      "host runs its portable loops, which are several times as slow",
                      "use a machine with AVX2, FMA and F16C");
    json_decref(environment);
}

/* A library that was loaded before main may have changed how this process rounds. */
static void find_arithmetic(struct hc_doctor *doctor)
{
    const char *other = hc_float_state_reset();
    if (!other)
        hc_doctor_add(doctor, HC_HEALTH_OK, "arithmetic",
                      "rounds to nearest, and keeps subnormal numbers", NULL, NULL);
    else
        hc_doctor_add(doctor, HC_HEALTH_BROKEN, "arithmetic", other,
                      "a library that is loaded into every program changes it (LD_PRELOAD?)",
                      "env -u LD_PRELOAD halfcheck doctor");
}

static void find_folder(struct hc_doctor *doctor)
{
    char folder[3000];
    char found[3100];
    bool here = getcwd(folder, sizeof folder) != NULL;
    bool writable = here && access(".", W_OK | X_OK) == 0;
    (void)snprintf(found, sizeof found, "%s%s", here ? folder : "the current folder is gone",
                   here && !writable ? " cannot be written" : "");
    if (writable)
        hc_doctor_add(doctor, HC_HEALTH_OK, "folder", found, NULL, NULL);
    else
        hc_doctor_add(doctor, HC_HEALTH_MISSING, "folder", found,
                      "a run of everything cannot leave out/record.json here",
                      "halfcheck run --json FILE writes elsewhere");
}

void hc_doctor_machine(struct hc_doctor *doctor)
{
    find_processor(doctor);
    find_arithmetic(doctor);
    find_folder(doctor);
}

void hc_doctor_terminal(struct hc_doctor *doctor)
{
    static const char *const names[] = {"NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "FORCE_COLOR"};
    char found[256];
    bool draws = hc_terminal_draws(stdout);
    int used =
        draws ? snprintf(found, sizeof found, "%d columns", hc_terminal_columns(stdout, HC_COLUMNS))
              : snprintf(found, sizeof found, "none: no line of progress");
    used += snprintf(found + used, sizeof found - (size_t)used, ", %s",
                     hc_colour_on(stdout) ? "colour" : "no colour");
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (getenv(names[i]))
            used += snprintf(found + used, sizeof found - (size_t)used, ", %s is set", names[i]);
    hc_doctor_add(doctor, HC_HEALTH_OK, "terminal", found, NULL, NULL);
}

/* The libraries that are loaded, beside those that the program was built with. */

/* Whether version a comes before b: 4.1.9 before 4.2. */
static bool is_older(const char *a, const char *b)
{
    while (*a && *b) {
        char *behind_a;
        char *behind_b;
        long x = strtol(a, &behind_a, 10);
        long y = strtol(b, &behind_b, 10);
        if (x != y)
            return x < y;
        if (behind_a == a || behind_b == b)
            return false;
        a = behind_a + (*behind_a == '.');
        b = behind_b + (*behind_b == '.');
    }
    return false;
}

/* A library that is older than its headers may lack what they promise. */
static void add_library(struct hc_doctor *doctor, const struct hc_library *library)
{
    const char *version = library->loaded[0] ? library->loaded : library->built;
    char found[128];
    if (!version[0] && strcmp(library->name, "onednn") == 0) {
        hc_doctor_add(doctor, HC_HEALTH_MISSING, library->name, "not built with it",
                      "host convolves and multiplies in plain loops, several times as slow",
                      "apt-get install libdnnl-dev, and build again");
        return;
    }
    (void)snprintf(found, sizeof found, "%s%s%s", version[0] ? version : "inside the program",
                   library->loaded[0] && library->built[0] ? ", built with " : "",
                   library->loaded[0] ? library->built : "");
    if (library->loaded[0] && library->built[0] && is_older(library->loaded, library->built))
        hc_doctor_add(doctor, HC_HEALTH_BROKEN, library->name, found,
                      "it is older than what the program was built with",
                      "build halfcheck on this machine, or install the newer library");
    else
        hc_doctor_add(doctor, HC_HEALTH_OK, library->name, found, NULL, NULL);
}

void hc_doctor_libraries(struct hc_doctor *doctor)
{
    int n;
    const struct hc_library *libraries = hc_libraries(&n);
    for (int i = 0; i < n; i++)
        add_library(doctor, &libraries[i]);
}

/* Programs that halfcheck starts or that start it: gnuplot, Python with the package, a browser. */

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

static void find_gnuplot(struct hc_doctor *doctor)
{
    char name[] = "gnuplot";
    char option[] = "--version";
    char *const words[] = {name, option, NULL};
    char line[LINE];
    if (ask(words, line))
        hc_doctor_add(doctor, HC_HEALTH_OK, "gnuplot", line, NULL, NULL);
    else
        hc_doctor_add(doctor, HC_HEALTH_MISSING, "gnuplot", "is not on the PATH",
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

static void find_python(struct hc_doctor *doctor)
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
        hc_doctor_add(doctor, HC_HEALTH_MISSING, "python", "there is no python3 on the PATH",
                      "no kernel in Python can be judged: halfcheck.check, halfcheck.torch",
                      "apt-get install python3-venv, and pip install the checkout");
        return;
    }
    (void)snprintf(found, sizeof found, "%s", version);
    add_modules(found, sizeof found, line + length);
    hc_doctor_add(doctor, HC_HEALTH_OK, "python", found, NULL, NULL);
    if (own)
        hc_doctor_add(doctor, HC_HEALTH_OK, "python-package", "python3 finds the package halfcheck",
                      NULL, NULL);
    else
        hc_doctor_add(doctor, HC_HEALTH_MISSING, "python-package",
                      "python3 finds no package halfcheck",
                      "no kernel in Python can be judged: halfcheck.check, halfcheck.torch",
                      "pip install . in the checkout (in a virtual environment)");
}

static void find_browser(struct hc_doctor *doctor)
{
    static char names[][32] = {"chromium-headless-shell", "chromium", "chromium-browser",
                               "google-chrome", "google-chrome-stable"};
    char option[] = "--version";
    char line[LINE];
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char *const words[] = {names[i], option, NULL};
        if (!ask(words, line))
            continue;
        hc_doctor_add(doctor, HC_HEALTH_OK, "browser", line[0] ? line : names[i], NULL, NULL);
        return;
    }
    hc_doctor_add(doctor, HC_HEALTH_MISSING, "browser", "no Chromium is on the PATH",
                  "report cannot write its page as PDF; HTML needs none",
                  "apt-get install chromium");
}

void hc_doctor_tools(struct hc_doctor *doctor)
{
    find_gnuplot(doctor);
    find_python(doctor);
    find_browser(doctor);
}

/* The backends: whether they can run here, and whether they do two small cases right. */

static const char *const tried[] = {"rounding/after-one", "op/add/fp16/257/*"};

struct trial {
    int count[HC_VERDICT_COUNT];
    int all;
};

static bool count_findings(const struct hc_result *result, void *context)
{
    struct trial *trial = context;
    trial->count[result->verdict]++;
    trial->all++;
    return true;
}

static enum hc_status try_it(const struct hc_backend *backend, struct trial *trial)
{
    struct hc_omissions omissions = {0};
    struct hc_run_options run = {.patterns = tried,
                                 .pattern_count = (int)(sizeof tried / sizeof *tried),
                                 .backends = &backend,
                                 .backend_count = 1,
                                 .level = HC_STANDARD,
                                 .report = count_findings,
                                 .omissions = &omissions,
                                 .context = trial};
    run.cases = hc_all_cases(&run.case_count);
    enum hc_status status = run.cases ? hc_run_cases(&run) : HC_NO_MEMORY;
    hc_omissions_free(&omissions);
    return status;
}

static int ops_of(const struct hc_backend *backend)
{
    int ops = 0;
    for (int op = 0; op < HC_OP_COUNT; op++)
        ops += backend->kernel[op] != NULL;
    return ops;
}

/* What several backends lack is told once. */
static void find_absent(struct hc_doctor *doctor, const struct hc_backend *backend, const char *why)
{
    bool cuda = strncmp(backend->name, "cuda", 4) == 0;
    bool as_cuda = cuda && backend->name[4];
    bool driver = access("/proc/driver/nvidia/version", R_OK) == 0;
    hc_doctor_add(doctor, HC_HEALTH_MISSING, backend->name, why,
                  as_cuda ? "as cuda"
                  : cuda  ? "nothing is checked on a GPU; cuda-emulated runs its kernels on the CPU"
                          : "nothing is checked on it",
                  as_cuda  ? "as cuda"
                  : !cuda  ? "use a machine that has it"
                  : driver ? "build with CUDA's toolkit and a driver of its version: docs/gpu.md"
                           : "on a machine with a GPU, install NVIDIA's driver: docs/gpu.md");
}

static void find_present(struct hc_doctor *doctor, const struct hc_backend *backend)
{
    struct trial trial = {.all = 0};
    char found[512];
    char repair[256];
    (void)snprintf(found, sizeof found, "%.100s, %d of %d ops", backend->title, ops_of(backend),
                   (int)HC_OP_COUNT);
    if (backend->on_request || backend->default_cases) {
        hc_append(found, sizeof found, ", runs%s%s only if it is named",
                  backend->on_request ? "" : " more than ",
                  backend->on_request ? "" : backend->default_cases);
        hc_doctor_add(doctor, HC_HEALTH_OK, backend->name, found, NULL, NULL);
        return;
    }
    enum hc_status status = try_it(backend, &trial);
    bool right = status == HC_OK && trial.count[HC_FAIL] + trial.count[HC_ERROR] == 0;
    hc_append(found, sizeof found, ", %d of %d trials pass%s%.200s", trial.count[HC_PASS],
              trial.all, status == HC_OK ? "" : "; ", status == HC_OK ? "" : hc_message());
    (void)snprintf(repair, sizeof repair, "halfcheck run %s '%s' --backend %s", tried[0], tried[1],
                   backend->name);
    hc_doctor_add(doctor, right ? HC_HEALTH_OK : HC_HEALTH_BROKEN, backend->name, found,
                  right ? NULL : "its results are wrong here", right ? NULL : repair);
}

void hc_doctor_backends(struct hc_doctor *doctor)
{
    int n;
    const struct hc_backend *const *backends = hc_backends(&n);
    for (int b = 0; b < n; b++) {
        const char *why = backends[b]->unavailable ? backends[b]->unavailable() : NULL;
        if (why)
            find_absent(doctor, backends[b], why);
        else
            find_present(doctor, backends[b]);
    }
}

/* What several ranks need: the plug-in, the MPI that it was built with, and a program that starts
   them. */

static const char cost_of_ranks[] =
    "run, train and compare work in one process; ranks of train --ranks are "
    "threads of it";

static bool is_on_path(const char *program)
{
    const char *folder = getenv("PATH");
    char path[4096];
    while (folder && *folder) {
        size_t length = strcspn(folder, ":");
        (void)snprintf(path, sizeof path, "%.*s/%s", (int)length, folder, program);
        if (length > 0 && access(path, X_OK) == 0)
            return true;
        folder += length + (folder[length] == ':');
    }
    return false;
}

void hc_doctor_ranks(struct hc_doctor *doctor)
{
    static const char *const starters[] = {"mpirun", "srun", "mpiexec"};
    char path[4096];
    char found[512];
    const char *starter = NULL;
    const struct hc_comm_plugin *plugin = hc_comm_plugin_mpi(path, sizeof path);
    for (int i = 2; i >= 0; i--)
        if (is_on_path(starters[i]))
            starter = starters[i];
    if (!plugin)
        hc_doctor_add(doctor, HC_HEALTH_MISSING, "mpi", hc_message(), cost_of_ranks,
                      "apt-get install openmpi-bin libopenmpi-dev, and build again");
    else if (!starter)
        hc_doctor_add(doctor, HC_HEALTH_MISSING, "mpi",
                      "neither mpirun nor srun is on the PATH, by which ranks are started",
                      cost_of_ranks, "apt-get install openmpi-bin");
    else {
        (void)snprintf(found, sizeof found, "%s; %s is here to start ranks", plugin->kind->title,
                       starter);
        hc_doctor_add(doctor, HC_HEALTH_OK, "mpi", found, NULL, NULL);
    }
}

/* CIFAR-10, for trainings. */

/* Where people put the files, seen from the current folder. */
static const char *const places[] = {"cifar-10-batches-bin", "data/cifar-10-batches-bin"};

static const char *find_tool(void)
{
    char path[64];
    struct stat file;
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        (void)snprintf(path, sizeof path, "%s/test_batch.bin", places[i]);
        if (stat(path, &file) == 0)
            return places[i];
    }
    return NULL;
}

void hc_doctor_data(struct hc_doctor *doctor)
{
    static const char costs[] = "train and compare take a synthetic set, which tells less";
    static const char repair[] = "unpack CIFAR-10's binary version, and give its folder: "
                                 "halfcheck doctor --data DIR";
    const char *folder = doctor->data ? doctor->data : find_tool();
    if (!folder) {
        hc_doctor_add(doctor, HC_HEALTH_MISSING, "cifar-10",
                      "no folder was named, and none is here", costs, repair);
        return;
    }
    char found[640];
    struct hc_dataset set;
    const struct hc_data_options options = {.directory = folder};
    bool read = hc_dataset_open(&options, &set) == HC_OK;
    (void)snprintf(found, sizeof found, "%s", read ? set.origin : hc_message());
    hc_dataset_close(&set);
    if (read)
        hc_doctor_add(doctor, HC_HEALTH_OK, "cifar-10", found, NULL, NULL);
    else
        hc_doctor_add(doctor, HC_HEALTH_MISSING, "cifar-10", found, costs, repair);
}
