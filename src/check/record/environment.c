#include <dlfcn.h>
#include <errno.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "check/record/environment.h"
#include "hc_build.h"
#include "hc_commit.h"
#include "op/cpu.h"
#include "op/memory_stream.h"

/* The library says its version by a function or by a variable, whichever the symbol is. A program
   that has the library inside of it does not find the symbol. */
typedef void hc_version_reader(void *symbol, char loaded[48]);

static void by_function(void *symbol, char loaded[48])
{
    const char *(*function)(void);
    memcpy(&function, &symbol, sizeof function);
    const char *text = function();
    (void)snprintf(loaded, 48, "%s", text ? text : "");
}

static void by_variable(void *symbol, char loaded[48])
{
    const char *text;
    memcpy(&text, symbol, sizeof text);
    (void)snprintf(loaded, 48, "%s", text ? text : "");
}

/* dnnl_version() returns a struct that begins with three numbers, in versions 1 to 3. */
static void by_numbers(void *symbol, char loaded[48])
{
    const int *(*function)(void);
    memcpy(&function, &symbol, sizeof function);
    const int *numbers = function();
    if (numbers)
        (void)snprintf(loaded, 48, "%d.%d.%d", numbers[0], numbers[1], numbers[2]);
}

enum { COUNT = 5 };

static const struct {
    const char *name;
    const char *built;
    const char *symbol;
    hc_version_reader *read;
} known[COUNT] = {
    {"mpfr", HC_MPFR_VERSION, "mpfr_get_version", by_function},
    {"gmp", HC_GMP_VERSION, "__gmp_version", by_variable},
    {"jansson", HC_JANSSON_VERSION, "jansson_version_str", by_function},
    {"onednn", HC_ONEDNN_VERSION, "dnnl_version", by_numbers},
    {"glibc", "", "gnu_get_libc_version", by_function},
};

const struct hc_library *hc_libraries(int *n)
{
    static struct hc_library libraries[COUNT];
    void *program = dlopen(NULL, RTLD_LAZY);
    for (int i = 0; i < COUNT; i++) {
        libraries[i].name = known[i].name;
        libraries[i].built = known[i].built;
        void *symbol = program ? dlsym(program, known[i].symbol) : NULL;
        if (symbol)
            known[i].read(symbol, libraries[i].loaded);
    }
    if (program)
        (void)dlclose(program);
    *n = COUNT;
    return libraries;
}

/* The rest of the first line of the file that begins with `key`, after a colon. */
static json_t *line_of(const char *path, const char *key)
{
    char line[512];
    json_t *found = NULL;
    FILE *file = fopen(path, "r");
    if (!file && errno == ENOMEM)
        hc_memory_lost_one();
    while (file && !found && fgets(line, sizeof line, file)) {
        line[strcspn(line, "\n")] = '\0';
        if (strncmp(line, key, strlen(key)) != 0)
            continue;
        const char *value = line + strlen(key);
        value += strspn(value, " \t:");
        found = json_string(value);
    }
    if (file)
        (void)fclose(file);
    return found ? found : json_null();
}

/* Whether HALFCHECK_HIDE hides the flag of the processor, as Linux calls it. */
static bool is_hidden(const char *flag)
{
    static const struct {
        const char *begins;
        enum hc_cpu_set set;
    } rows[] = {{"avx512_bf16", HC_CPU_AVX512BF16},
                {"avx512_fp16", HC_CPU_AVX512FP16},
                {"avx512_vnni", HC_CPU_AVX512VNNI},
                {"avx512", HC_CPU_AVX512},
                {"amx", HC_CPU_AMX},
                {"avx2", HC_CPU_AVX2},
                {"f16c", HC_CPU_AVX2},
                {"fma", HC_CPU_AVX2}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (strncmp(flag, rows[i].begins, strlen(rows[i].begins)) == 0)
            return hc_cpu_hides(rows[i].set);
    return false;
}

/* The instruction sets of the processor on which fast kernels may depend, in one order. */
static json_t *cpu_flags(void)
{
    static const char *const matter[] = {"avx",         "avx2",     "avx512_bf16", "avx512_fp16",
                                         "avx512_vnni", "avx512bw", "avx512dq",    "avx512f",
                                         "avx512vl",    "avx_vnni", "amx_bf16",    "amx_int8",
                                         "amx_tile",    "f16c",     "fma",         "sse4_2"};
    char line[8192] = "";
    char found[256] = "";
    FILE *file = fopen("/proc/cpuinfo", "r");
    if (!file && errno == ENOMEM)
        hc_memory_lost_one();
    while (file && fgets(line, sizeof line, file) && strncmp(line, "flags", 5) != 0)
        line[0] = '\0';
    if (file)
        (void)fclose(file);
    line[strcspn(line, "\n")] = ' ';
    for (size_t i = 0; i < sizeof matter / sizeof matter[0]; i++) {
        char word[32];
        size_t used = strlen(found);
        (void)snprintf(word, sizeof word, " %s ", matter[i]);
        if (strstr(line, word) && !is_hidden(matter[i]))
            (void)snprintf(found + used, sizeof found - used, "%s%s", used ? " " : "", matter[i]);
    }
    return found[0] ? json_string(found) : json_null();
}

static json_t *text_or_null(const char *text)
{
    return text[0] ? json_string(text) : json_null();
}

static json_t *compiler(void)
{
#ifdef __clang__
    return json_string("clang " __clang_version__);
#else
    return json_string("gcc " __VERSION__);
#endif
}

static json_t *date(void)
{
    char text[32];
    struct tm parts;
    time_t now = time(NULL);
    (void)strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &parts));
    return json_string(text);
}

static json_t *gpu(void)
{
    glob_t found;
    json_t *model = NULL;
    if (glob("/proc/driver/nvidia/gpus/*/information", 0, NULL, &found) == 0) {
        model = line_of(found.gl_pathv[0], "Model");
        globfree(&found);
    }
    return model ? model : json_null();
}

static json_t *system_name(void)
{
    struct utsname u;
    return uname(&u) == 0 ? json_sprintf("%s %s %s", u.sysname, u.release, u.machine) : json_null();
}

const char *hc_version(void)
{
    return HC_COMMIT[0] ? "halfcheck " HC_VERSION " (" HC_COMMIT ")" : "halfcheck " HC_VERSION;
}

const char *hc_release(void)
{
    return "halfcheck " HC_VERSION;
}

json_t *hc_environment(void)
{
    json_t *e = json_object();
    (void)json_object_set_new(e, "date", date());
    (void)json_object_set_new(e, "halfcheck", json_string(HC_VERSION));
    (void)json_object_set_new(e, "commit", text_or_null(HC_COMMIT));
    (void)json_object_set_new(e, "compiler", compiler());
    (void)json_object_set_new(e, "flags", json_string(HC_FLAGS));
    (void)json_object_set_new(e, "os", system_name());
    (void)json_object_set_new(e, "cpu", line_of("/proc/cpuinfo", "model name"));
    (void)json_object_set_new(e, "cpu_flags", cpu_flags());
    (void)json_object_set_new(e, "cores", json_integer(sysconf(_SC_NPROCESSORS_ONLN)));
    (void)json_object_set_new(e, "gpu", gpu());
    (void)json_object_set_new(e, "capability", json_null());
    (void)json_object_set_new(e, "driver", line_of("/proc/driver/nvidia/version", "NVRM version"));
    (void)json_object_set_new(e, "cuda", json_null());
    (void)json_object_set_new(e, "cublas", json_null());
    (void)json_object_set_new(e, "cudnn", json_null());
    int libraries;
    const struct hc_library *library = hc_libraries(&libraries);
    for (int i = 0; i < libraries; i++)
        if (strcmp(library[i].name, "mpfr") != 0 && strcmp(library[i].name, "onednn") != 0)
            (void)json_object_set_new(e, library[i].name, text_or_null(library[i].loaded));
    (void)json_object_set_new(e, "onednn", text_or_null(HC_ONEDNN_VERSION));
    (void)json_object_set_new(e, "mpfr", json_string(HC_MPFR_VERSION));
    return e;
}

/* "cuda fp16" */
static bool is_backend_and_format(const char *key)
{
    const char *blank = strrchr(key, ' ');
    return blank && blank > key && blank[1];
}

const char *hc_environment_wrong(const json_t *environment)
{
    static const char wrong[] = "in \"environment\", \"" HC_FINGERPRINT_MEMBER
                                "\" is not an object of texts for BACKEND FORMAT";
    const json_t *all = json_object_get(environment, HC_FINGERPRINT_MEMBER);
    const char *key;
    json_t *one;
    if (all && !json_is_object(all))
        return wrong;
    json_object_foreach((json_t *)all, key, one)
    {
        if (json_string_length(one) == 0 || !is_backend_and_format(key))
            return wrong;
    }
    return NULL;
}
