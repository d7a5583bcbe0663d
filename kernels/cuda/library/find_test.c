#include "kernels/cuda/library/find.h"

#include <dlfcn.h>

#include "cli/testing.h"

/* Trees with a library in them that loads, under a name that no machine has. */
static const char name[] = "libhalfcheck_stand_in.so.9";

static char here[4096];

static void enter_empty(void)
{
    static const char *const variables[] = {"CUDA_HOME", "VIRTUAL_ENV", "CONDA_PREFIX", "PATH",
                                            "HOME"};
    enter_folder();
    cr_assert_not_null(getcwd(here, sizeof here));
    for (size_t i = 0; i < sizeof variables / sizeof variables[0]; i++)
        cr_assert_eq(unsetenv(variables[i]), 0);
}

static void make(const char *folder, const char *from)
{
    char command[8192];
    (void)snprintf(command, sizeof command, "/bin/mkdir -p %s && /bin/cp %s %s/%s", folder, from,
                   folder, name);
    cr_assert_eq(system(command), 0, "%s", command);
}

static void set(const char *variable, const char *value)
{
    char text[8192];
    (void)snprintf(text, sizeof text, value, here, here);
    cr_assert_eq(setenv(variable, text, 1), 0);
}

static bool is_loaded(const char *path)
{
    char line[8192];
    bool found = false;
    FILE *maps = fopen("/proc/self/maps", "r");
    cr_assert_not_null(maps);
    while (fgets(line, sizeof line, maps))
        found = found || strstr(line, path);
    (void)fclose(maps);
    return found;
}

/* That it was the file in this folder that was loaded. */
static void expect_from(const char *folder)
{
    char wanted[8192];
    void *library = hc_library_open(name);
    cr_assert_not_null(library, "%s", folder);
    (void)snprintf(wanted, sizeof wanted, "%s/%s", folder, name);
    cr_expect(is_loaded(wanted), "not loaded from %s", folder);
    cr_expect_eq(dlclose(library), 0);
}

Test(library_find, says_when_there_is_none, .init = enter_empty)
{
    cr_assert_null(hc_library_open(name));
    set("CUDA_HOME", "%s/nowhere");
    set("PATH", "%s/nowhere:%s");
    cr_assert_null(hc_library_open(name));
}

Test(library_find, finds_those_of_cuda_home_before_the_others, .init = enter_empty)
{
    make("env/lib/python3.12/site-packages/nvidia/cudnn/lib", HC_STAND_IN);
    set("VIRTUAL_ENV", "%s/env");
    expect_from("env/lib/python3.12/site-packages/nvidia/cudnn/lib");
    make("toolkit/lib64", HC_STAND_IN);
    set("CUDA_HOME", "%s/toolkit");
    expect_from("toolkit/lib64");
}

Test(library_find, finds_those_of_python_packages, .init = enter_empty)
{
    make("conda/lib/python3.11/site-packages/nvidia/cu13/lib", HC_STAND_IN);
    set("CONDA_PREFIX", "%s/conda");
    expect_from("conda/lib/python3.11/site-packages/nvidia/cu13/lib");
    make("home/.local/lib/python3.9/site-packages/nvidia/cublas/lib", HC_STAND_IN);
    cr_assert_eq(unsetenv("CONDA_PREFIX"), 0);
    set("HOME", "%s/home");
    expect_from("home/.local/lib/python3.9/site-packages/nvidia/cublas/lib");
}

Test(library_find, finds_those_beside_a_python3_on_the_path, .init = enter_empty)
{
    make("torch/.venv/lib/python3.12/site-packages/nvidia/cudnn/lib", HC_STAND_IN);
    cr_assert_eq(system("/bin/mkdir -p torch/.venv/bin other"), 0);
    set("PATH", "%s/other:%s/torch/.venv/bin");
    cr_assert_null(hc_library_open(name), "no python3 is there");
    write_text("torch/.venv/bin/python3", "");
    expect_from("lib/python3.12/site-packages/nvidia/cudnn/lib");
}

Test(library_find, goes_on_from_a_file_that_does_not_load, .init = enter_empty)
{
    write_text("text", "no shared object\n");
    make("env/lib/python3.12/site-packages/nvidia/a/lib", "text");
    make("env/lib/python3.12/site-packages/nvidia/b/lib", HC_STAND_IN);
    set("VIRTUAL_ENV", "%s/env");
    expect_from("env/lib/python3.12/site-packages/nvidia/b/lib");
}

/* Another version lies in a place that is searched first. */
Test(library_find, loads_the_parts_of_a_library_from_its_own_folder, .init = enter_empty)
{
    make("toolkit/lib64", HC_STAND_IN);
    make("env/lib/python3.12/site-packages/nvidia/b/lib", HC_STAND_IN);
    set("VIRTUAL_ENV", "%s/env");
    cr_assert_eq(
        system("cd env/lib/python3.12/site-packages/nvidia/b/lib && "
               "/bin/cp *.so.9 libparts_new.so.9 && /bin/cp *_in.so.9 libparts_old.so.9 && "
               "echo text > libparts_broken.so.9 && "
               "/bin/cp *_in.so.9 ../../../../../../../toolkit/lib64/libparts_other.so.9"),
        0);
    void *library = hc_library_open(name);
    set("CUDA_HOME", "%s/toolkit");
    cr_assert_not_null(library);
    hc_library_open_beside(library, "libparts_*.so.9");
    cr_expect(is_loaded("nvidia/b/lib/libparts_new.so.9"));
    cr_expect(is_loaded("nvidia/b/lib/libparts_old.so.9"));
    cr_expect(!is_loaded("libparts_broken"));
    cr_expect(!is_loaded("libparts_other"));
    cr_expect_eq(dlclose(library), 0);
}
