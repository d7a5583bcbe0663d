/* The headers of floor 0 serve C, C++ and CUDA: each is handed to those compilers that are here. */
#include <criterion/criterion.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool runs(const char *command)
{
    char line[256];
    (void)snprintf(line, sizeof line, "%s --version >/dev/null 2>&1", command);
    return system(line) == 0;
}

/* Compiles every header of the folder alone, with that command; how many there were. */
static int compile_each(const char *command)
{
    char line[1024];
    int count = 0;
    DIR *folder = opendir(HC_SOURCE "/src/num");
    cr_assert(folder);
    for (struct dirent *entry = readdir(folder); entry; entry = readdir(folder)) {
        const char *end = strrchr(entry->d_name, '.');
        if (!end || strcmp(end, ".h") != 0 || strstr(entry->d_name, "_test"))
            continue;
        (void)snprintf(line, sizeof line,
                       "(echo '#include \"num/%s\"'; echo 'extern int unit;') | %s -I'%s/src' -",
                       entry->d_name, command, HC_SOURCE);
        cr_assert_eq(system(line), 0, "%s: does not compile: %s", entry->d_name, command);
        count++;
    }
    (void)closedir(folder);
    return count;
}

Test(headers, each_compiles_alone_as_c)
{
    cr_assert(compile_each("cc -std=c11 -Wall -Wextra -Wconversion -pedantic-errors -Werror "
                           "-fsyntax-only -xc") >= 6);
}

Test(headers, each_compiles_alone_as_cplusplus)
{
    if (!runs("c++"))
        cr_skip_test("no C++ compiler here");
    cr_assert(compile_each("c++ -std=c++14 -Wall -Wextra -Werror -fsyntax-only -xc++") >= 6);
}

Test(headers, conversions_and_random_numbers_compile_as_device_code, .timeout = 120)
{
    if (!runs("nvcc"))
        cr_skip_test("no CUDA compiler here");
    char source[] = "/tmp/halfcheck-XXXXXX";
    int file = mkstemp(source);
    cr_assert(file >= 0);
    FILE *text = fdopen(file, "w");
    (void)fputs(
        "#include \"num/bits.h\"\n#include \"num/directed.h\"\n#include \"num/rng.h\"\n"
        "__global__ void all(float *x, double *y, unsigned short *h)\n"
        "{\n"
        "    h[0] = hc_fp16_bits(x[0]) + hc_bf16_bits(x[1]);\n"
        "    h[1] = hc_fp16_directed(x[2], HC_UPWARD) + hc_bf16_directed(x[3], HC_DOWNWARD);\n"
        "    h[2] = hc_fp16_from_fp64(y[0], HC_NEAREST) +\n"
        "           hc_bf16_from_fp64(y[1], HC_TOWARD_ZERO);\n"
        "    x[4] = hc_fp16_value(h[3]) + hc_bf16_value(h[4]);\n"
        "    y[2] = hc_random_uniform(1, 2, 3);\n"
        "}\n",
        text);
    (void)fclose(text);
    char line[512];
    (void)snprintf(line, sizeof line, "nvcc -x cu --fmad=false -I'%s/src' -ptx -o /dev/null %s",
                   HC_SOURCE, source);
    int failed = system(line);
    (void)unlink(source);
    cr_assert(!failed);
}
