/* The main function of a test program, which has the tests of all files of a folder:
 *   src.check [FILE] [OPTIONS OF CRITERION]
 * With FILE, as src/check/compare_test.c or compare_test, it runs the tests of that file alone. A
 * file or a filter without a test is an error.
 *
 * Nothing is left of its tests below /tmp, also where they fail or crash: programs that they start
 * have a $TMPDIR that is removed in the end, and so is each file and folder that a test makes by
 * mkstemp or mkdtemp, which the linker leads to the functions below. */
#define _XOPEN_SOURCE 700 /* nftw */
#include <criterion/criterion.h>
#include <criterion/internal/ordered-set.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char scratch[] = "/tmp/halfcheck-test-XXXXXX"; /* $TMPDIR */

/* Each test is a process of its own, which knows nothing of this one but the environment. This
 * variable names a file that lists what tests have made. */
static const char made[] = "HC_TEST_MADE";

static void note(const char *path)
{
    int before = errno;
    int file = -1;
    if (path[0] == '/' && getenv(made) != NULL) {
        file = open(getenv(made), O_WRONLY | O_APPEND | O_CLOEXEC);
    }
    if (file >= 0) {
        (void)dprintf(file, "%s\n", path);
        (void)close(file);
    }
    errno = before;
}

char *__real_mkdtemp(char *path);
int __real_mkstemp(char *path);
char *__wrap_mkdtemp(char *path);
int __wrap_mkstemp(char *path);

char *__wrap_mkdtemp(char *path)
{
    char *folder = __real_mkdtemp(path);
    if (folder != NULL) {
        note(folder);
    }
    return folder;
}

int __wrap_mkstemp(char *path)
{
    int file = __real_mkstemp(path);
    if (file >= 0) {
        note(path);
    }
    return file;
}

static int open_up(const char *path, const struct stat *state, int type, struct FTW *at)
{
    (void)state;
    (void)at;
    if (type == FTW_D || type == FTW_DNR) {
        (void)chmod(path, 0700);
    }
    return 0;
}

static int delete (const char *path, const struct stat *state, int type, struct FTW *at)
{
    (void)state;
    (void)type;
    (void)at;
    (void)remove(path);
    return 0;
}

static void remove_all(const char *path)
{
    (void)nftw(path, open_up, 16, FTW_PHYS);
    (void)nftw(path, delete, 16, FTW_PHYS | FTW_DEPTH);
}

static bool set_up(void)
{
    char list[sizeof scratch + sizeof "/made"];
    if (__real_mkdtemp(scratch) == NULL) {
        return false;
    }
    (void)snprintf(list, sizeof list, "%s/made", scratch);
    int file = open(list, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    return file >= 0 && close(file) == 0 && setenv(made, list, 1) == 0 &&
           setenv("TMPDIR", scratch, 1) == 0;
}

static void clean_up(void)
{
    char path[4096];
    FILE *list = fopen(getenv(made), "r");
    while (list != NULL && fgets(path, sizeof path, list) != NULL) {
        path[strcspn(path, "\n")] = '\0';
        remove_all(path);
    }
    if (list != NULL) {
        (void)fclose(list);
    }
    remove_all(scratch);
}

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
    if (!set_up()) {
        perror(scratch);
        return 2;
    }
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
    clean_up();
    return status;
}
