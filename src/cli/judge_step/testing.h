/* What tests of judge-step share: steps that halfcheck has taken, as they are and after an edit of
   the file. */
#ifndef HC_CLI_JUDGE_STEP_TESTING_H
#define HC_CLI_JUDGE_STEP_TESTING_H

#include "cli/testing.h"
#include "tensor_file/tensor_file.h"

/* Reads a file, lets `edit` change it, and writes it to another path or the same. */
static inline void edit_step(const char *from, const char *to,
                             void (*edit)(struct hc_tensor_file *file))
{
    struct hc_tensor_file file;
    cr_assert_eq(hc_tensor_file_read(&file, from), HC_OK, "%s", hc_message());
    edit(&file);
    cr_assert_eq(
        hc_safetensors_write(to, file.tensors, file.count, file.metadata, file.metadata_count),
        HC_OK, "%s", hc_message());
    hc_tensor_file_close(&file);
}

static inline struct hc_tensor *step_tensor(struct hc_tensor_file *file, const char *name)
{
    for (int i = 0; i < file->count; i++)
        if (strcmp(file->tensors[i].name, name) == 0)
            return &file->tensors[i].tensor;
    cr_assert_fail("the file has no %s", name);
    return NULL;
}

static inline const struct ran *judge_step(const char *path)
{
    char line[256];
    (void)snprintf(line, sizeof line, "$hc judge-step %s", path);
    return run_shell(line);
}

static inline void expect_step_right(const char *path, const char *recipe)
{
    const struct ran *ran = judge_step(path);
    cr_expect_eq(ran->status, 0, "%s: %s%s", recipe, ran->out, ran->err);
    cr_expect_not_null(strstr(ran->out, "0 wrong, 0 not judged"), "%s: %s", recipe, ran->out);
}

/* The last paragraph, without line breaks, has to say where it goes wrong first, and `why`. */
static inline void expect_step_wrong(const char *path, const char *where, const char *why)
{
    char text[1 << 14];
    const struct ran *ran = judge_step(path);
    cr_expect_eq(ran->status, 1, "%s%s", ran->out, ran->err);
    const char *first = strstr(ran->out, "It goes wrong first");
    cr_assert_not_null(first, "%s: %s", where, ran->out);
    (void)snprintf(text, sizeof text, "%s", first);
    for (char *c = text; *c; c++)
        *c = *c == '\n' ? ' ' : *c;
    cr_expect_not_null(strstr(text, where), "no '%s' in: %s", where, text);
    cr_expect_not_null(strstr(text, why), "no '%s' in: %s", why, text);
}

#endif
