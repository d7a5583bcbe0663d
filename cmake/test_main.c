/* The main function of a test program, which has the tests of all files of a folder:
 *   src.check [FILE] [OPTIONS OF CRITERION]
 * With FILE, as src/check/compare_test.c or compare_test, it runs the tests of that file alone. A
 * file or a filter without a test is an error. */
#include <criterion/criterion.h>
#include <criterion/internal/ordered-set.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Whether the source `path` is the file that is asked for, with or without its folders and ".c". */
static bool is_file(const char *path, const char *file)
{
    size_t length = strlen(path);
    size_t wanted = strlen(file);
    if (wanted < 2 || strcmp(file + wanted - 2, ".c") != 0) {
        length -= 2;
    }
    return length >= wanted && strncmp(path + length - wanted, file, wanted) == 0 &&
           (length == wanted || path[length - wanted - 1] == '/');
}

/* Leaves the tests of the file enabled, or of all files if it is NULL. Returns how many it has.
 * The fixture of a suite would be that of the tests of another file, too, which do not see it. */
static size_t choose(struct criterion_test_set *set, const char *file)
{
    size_t count = 0;
    FOREACH_SET(struct criterion_suite_set * suite, set->suites)
    {
        FOREACH_SET(struct criterion_test * test, suite->tests)
        {
            const struct criterion_test_extra_data *fixture = suite->suite.data;
            if (fixture != NULL && strcmp(fixture->file_, test->data->file_) != 0) {
                fprintf(stderr, "%s: the suite %s has a fixture in %s\n", test->data->file_,
                        test->category, fixture->file_);
                return 0;
            }
            if (file != NULL && !is_file(test->data->file_, file)) {
                test->data->disabled = true;
            } else {
                count++;
            }
        }
    }
    return count;
}

static size_t disabled(const struct criterion_test_set *set)
{
    size_t count = 0;
    FOREACH_SET(struct criterion_suite_set * suite, set->suites)
    {
        FOREACH_SET(struct criterion_test * test, suite->tests)
        {
            count += test->data->disabled;
        }
    }
    return count;
}

int main(int argc, char **argv)
{
    /* A slow machine must not make the program say more than tests expect. */
    (void)setenv("HALFCHECK_PROGRESS", "0", 1);
    struct criterion_test_set *set = criterion_initialize();
    const char *file = NULL;
    if (argc > 1 && argv[1][0] != '-') {
        file = argv[1];
        argv[1] = argv[0];
        argc--;
        argv++;
    }
    int status = 2;
    if (choose(set, file) == 0) {
        fprintf(stderr, "%s: no test of %s\n", argv[0], file == NULL ? "any file" : file);
    } else if (!criterion_handle_args(argc, argv, true)) {
        status = 0;
    } else {
        /* A filter disables what it does not match. */
        size_t before = disabled(set);
        bool passed = criterion_run_all_tests(set) != 0;
        size_t after = disabled(set);
        status = passed ? 0 : 1;
        if (after == set->tests && after != before) {
            fprintf(stderr, "%s: no test matches the filter\n", argv[0]);
            status = 2;
        }
    }
    criterion_finalize(set);
    return status;
}
