/* Files that are replaced, and what may stand in their way. */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "op/output.h"

static char folder[] = "/tmp/halfcheck-output-XXXXXX";

static void make(void)
{
    cr_assert_not_null(mkdtemp(folder));
    cr_assert_eq(chdir(folder), 0);
}

static void unmake(void)
{
    char command[80];
    (void)snprintf(command, sizeof command, "rm -rf %s", folder);
    (void)system(command); /* NOLINT(cert-env33-c): the test's own folder */
}

TestSuite(output, .init = make, .fini = unmake);

static const char *content(const char *path)
{
    static char text[256];
    FILE *file = fopen(path, "r");
    cr_assert_not_null(file, "%s", path);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    (void)fclose(file);
    return text;
}

static void put(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    cr_assert(file && fputs(text, file) >= 0 && fclose(file) == 0);
}

static void replace(const char *text)
{
    cr_assert_eq(hc_output_probe("file"), HC_OK, "%s", hc_message());
    cr_assert_eq(hc_output_write("file", text, strlen(text)), HC_OK, "%s", hc_message());
    cr_expect_str_eq(content("file"), text);
    cr_expect_neq(access("file.part", F_OK), 0);
}

static bool is_link(const char *path)
{
    struct stat s;
    return lstat(path, &s) == 0 && S_ISLNK(s.st_mode);
}

Test(output, a_symbolic_link_is_replaced_and_what_it_leads_to_is_left_alone)
{
    put("precious", "kept");
    cr_assert_eq(symlink("precious", "file"), 0);
    cr_assert_eq(symlink("precious", "file.part"), 0);
    replace("new");
    cr_expect_not(is_link("file"));
    cr_expect_str_eq(content("precious"), "kept");
    cr_assert_eq(symlink("nowhere", "file.part"), 0);
    replace("newer");
    cr_expect_neq(access("nowhere", F_OK), 0);
}

Test(output, a_hard_link_or_a_pipe_in_the_way_is_left_alone)
{
    put("precious", "kept");
    cr_assert_eq(link("precious", "file.part"), 0);
    replace("new");
    cr_expect_str_eq(content("precious"), "kept");
    cr_assert_eq(mkfifo("file.part", 0600), 0);
    replace("newer");
}

Test(output, what_a_killed_writer_left_is_used_by_the_next)
{
    pid_t child = fork();
    if (child == 0) {
        struct hc_output output;
        if (hc_output_open(&output, "file") != HC_OK || !hc_output_append(&output, "half of i", 9))
            _exit(1);
        (void)raise(SIGKILL);
    }
    int status = 0;
    cr_assert_eq(waitpid(child, &status, 0), child);
    cr_assert(WIFSIGNALED(status));
    cr_assert_str_eq(content("file.part"), "half of i");
    replace("it");
}

/* Each writes one letter over and over: a mixture would be two writers in one part. */
Test(output, two_writers_at_once_leave_a_whole_file)
{
    enum { WRITERS = 4, BYTES = 60000, TIMES = 40 };
    static char text[BYTES];
    pid_t child[WRITERS];
    for (int w = 0; w < WRITERS; w++) {
        child[w] = fork();
        if (child[w])
            continue;
        memset(text, 'a' + w, sizeof text);
        for (int i = 0; i < TIMES; i++)
            if (hc_output_write("file", text, sizeof text) != HC_OK)
                _exit(1);
        _exit(0);
    }
    for (int w = 0; w < WRITERS; w++) {
        int status = 1;
        cr_assert_eq(waitpid(child[w], &status, 0), child[w]);
        cr_expect_eq(status, 0);
    }
    FILE *file = fopen("file", "r");
    cr_assert_eq(fread(text, 1, sizeof text, file), sizeof text);
    (void)fclose(file);
    for (int i = 1; i < BYTES; i++)
        cr_assert_eq(text[i], text[0]);
    cr_expect_neq(access("file.part", F_OK), 0);
}

Test(output, a_full_disk_leaves_the_old_file_and_no_part)
{
    struct rlimit limit = {2, RLIM_INFINITY};
    replace("old");
    cr_assert_neq(signal(SIGXFSZ, SIG_IGN), SIG_ERR);
    (void)setrlimit(RLIMIT_FSIZE, &limit);
    cr_expect_eq(hc_output_write("file", "new", 3), HC_IO);
    cr_expect_str_eq(hc_message(), "cannot write file: File too large");
    limit.rlim_cur = RLIM_INFINITY;
    (void)setrlimit(RLIMIT_FSIZE, &limit);
    cr_expect_str_eq(content("file"), "old");
    cr_expect_neq(access("file.part", F_OK), 0);
}

Test(output, devices_and_what_leads_to_open_files_are_written_as_they_are)
{
    cr_expect_eq(hc_output_write("/dev/null", "x", 1), HC_OK);
    cr_expect_eq(hc_output_write("/dev/full", "x", 1), HC_IO);
    cr_assert_eq(symlink("/dev/full", "file"), 0);
    cr_expect_eq(hc_output_write("file", "x", 1), HC_IO);
    cr_expect(is_link("file"));
    char path[64];
    int file = open("plain", O_WRONLY | O_CREAT, 0600);
    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", file);
    cr_expect_eq(hc_output_write(path, "text", 4), HC_OK, "%s", hc_message());
    (void)close(file);
    cr_expect_str_eq(content("plain"), "text");
}

Test(output, what_cannot_be_written_is_one_line)
{
    char name[5000];
    memset(name, 'n', sizeof name);
    name[sizeof name - 1] = '\0';
    cr_expect_eq(hc_output_probe(name), HC_INVALID);
    cr_expect_eq(hc_output_probe("nowhere/file"), HC_IO);
    cr_expect_str_eq(hc_message(), "cannot write nowhere/file: No such file or directory");
    cr_expect_eq(hc_output_probe("."), HC_IO);
    cr_expect_eq(hc_output_reopen("nowhere"), -1);
    put("precious", "kept");
    cr_assert_eq(symlink("precious", "link"), 0);
    cr_expect_eq(hc_output_reopen("link"), -1);
    cr_expect_not_null(strstr(hc_message(), "link is a symbolic link"), "%s", hc_message());
}

Test(output, a_temporary_folder_is_new_and_where_TMPDIR_says)
{
    char one[HC_MAX_TEMPORARY];
    char other[HC_MAX_TEMPORARY];
    char long_name[HC_MAX_TEMPORARY + 1];
    struct stat s;
    cr_assert_eq(setenv("TMPDIR", folder, 1), 0);
    cr_assert_eq(hc_output_folder(one, "made"), HC_OK, "%s", hc_message());
    cr_assert_eq(hc_output_folder(other, "made"), HC_OK, "%s", hc_message());
    cr_expect(strncmp(one, folder, strlen(folder)) == 0 && strstr(one, "/made-"), "%s", one);
    cr_expect_str_neq(one, other);
    cr_expect(stat(one, &s) == 0 && S_ISDIR(s.st_mode) && (s.st_mode & 0777) == 0700);
    put(strcat(strcpy(long_name, one), "/predictions.csv"), "1");
    put(strcat(strcpy(long_name, one), "/.lock"), "");
    hc_output_folder_remove(one);
    cr_expect(stat(one, &s) != 0 && stat(other, &s) == 0);
    cr_assert_eq(setenv("TMPDIR", "/nonexistent", 1), 0);
    cr_expect_eq(hc_output_folder(one, "made"), HC_IO);
    cr_expect(strstr(hc_message(), "temporary folder"), "%s", hc_message());
    memset(long_name, 'x', sizeof long_name - 1);
    long_name[sizeof long_name - 1] = '\0';
    cr_assert_eq(setenv("TMPDIR", folder, 1), 0);
    cr_expect_eq(hc_output_folder(one, long_name), HC_IO);
    cr_expect(strstr(hc_message(), "too long"), "%s", hc_message());
}
