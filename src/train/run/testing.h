/* Small trainings in a folder of the test's own. */
#ifndef HC_TRAIN_RUN_TESTING_H
#define HC_TRAIN_RUN_TESTING_H

#include <criterion/criterion.h>
#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "train/run/trainer.h"

static struct hc_dataset data;
static char folder[] = "/tmp/halfcheck-trainer-XXXXXX";

/* The least network that trains. */
static const struct hc_network minute = {.name = "minute",
                                         .side = 32,
                                         .channels = 3,
                                         .width = 2,
                                         .groups = 1,
                                         .blocks = {1},
                                         .strides = {2}};

static inline void open_classes(const char *classes, int test_per_class)
{
    struct hc_data_options options = {
        .classes = classes, .seed = 5, .train_per_class = 8, .test_per_class = test_per_class};
    cr_assert_eq(hc_dataset_open(&options, &data), HC_OK, "%s", hc_message());
    cr_assert_not_null(mkdtemp(folder));
}

static inline void open_data(void)
{
    open_classes(NULL, 4);
}

static inline void open_two_classes(void)
{
    open_classes("airplane,dog", 2);
}

static inline void remove_folder(void)
{
    char path[400];
    DIR *all = opendir(folder);
    for (struct dirent *entry; all && (entry = readdir(all)) != NULL;) {
        (void)snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        (void)remove(path);
    }
    (void)closedir(all);
    (void)rmdir(folder);
    hc_dataset_close(&data);
}

static inline struct hc_train_options options(const char *recipe)
{
    return (struct hc_train_options){.recipe = hc_recipe_by_name(recipe),
                                     .network = &hc_darknet_tiny,
                                     .data = &data,
                                     .backend = hc_backend_by_name("exact"),
                                     .epochs = 2,
                                     .batch = 16,
                                     .seed = 11,
                                     .out = folder};
}

static inline size_t read_file(const char *name, unsigned char *to, size_t most)
{
    char path[200];
    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "rb");
    cr_assert_not_null(file, "%s", path);
    size_t n = fread(to, 1, most, file);
    cr_assert(n < most);
    (void)fclose(file);
    return n;
}

static inline bool kill_at_seven(const struct hc_progress *progress, void *context)
{
    (void)context;
    return progress->step < 7 || kill(getpid(), SIGKILL) == 0;
}

static inline void train_and_be_killed(struct hc_train_options o)
{
    struct hc_train_result result;
    int status;
    pid_t child = fork();
    cr_assert_geq(child, 0);
    if (child == 0) {
        o.progress = kill_at_seven;
        _exit((int)hc_train(&o, &result));
    }
    cr_assert_eq(waitpid(child, &status, 0), child);
    cr_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
}

#endif
