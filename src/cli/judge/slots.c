/* The slots of a call, filled from files and from numbers on the command line. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/judge/question.h"
#include "op/descriptor.h"

enum hc_status hc_question_file(struct hc_question *q, const char *path,
                                const struct hc_tensor_file **file)
{
    for (int i = 0; i < q->files; i++)
        if (strcmp(q->path[i], path) == 0) {
            *file = &q->file[i];
            return HC_OK;
        }
    if (q->files == HC_QUESTION_FILES)
        return hc_fail(HC_INVALID, "judge: more than %d files", HC_QUESTION_FILES);
    q->path[q->files] = path;
    *file = &q->file[q->files];
    return hc_tensor_file_read(&q->file[q->files++], path);
}

/* Appends "a, b, c" of the names of the op's slots from first to end - 1. */
static const char *slot_names(enum hc_op op, int first, int end, char text[256])
{
    text[0] = '\0';
    for (int s = first; s < end; s++) {
        size_t used = strlen(text);
        (void)snprintf(text + used, 256 - used, "%s%s", used ? ", " : "", hc_slot(op, s)->name);
    }
    return text;
}

/* The tensor of a file that a slot takes: the one that was named; the one of the slot's name; or
   the only one. */
static enum hc_status take(const struct hc_tensor_file *file, const char *path, const char *name,
                           const char *slot, struct hc_tensor *t)
{
    const struct hc_named_tensor *found = NULL;
    for (int i = 0; i < file->count; i++)
        if (strcmp(file->tensors[i].name, name[0] ? name : slot) == 0)
            found = &file->tensors[i];
    if (!found && !name[0] && file->count == 1)
        found = &file->tensors[0];
    if (!found && name[0])
        return hc_fail(HC_INVALID, "judge: %s has no tensor '%s'", path, name);
    if (!found)
        return hc_fail(HC_INVALID,
                       "judge: %s has %d tensors and none is called %s; name one: %s=%s:TENSOR",
                       path, file->count, slot, slot, path);
    if (found->unread)
        return hc_fail(HC_INVALID, "judge: tensor '%s' of %s cannot be read: %s", found->name, path,
                       found->unread);
    *t = found->tensor;
    if (t->rank == 0)
        *t = hc_tensor1(t->format, 1, t->data);
    return HC_OK;
}

/* Parts FILE[:TENSOR]. A file of the whole name counts first, then the longest name of one. */
static void part(char *text, const char **tensor)
{
    *tensor = "";
    if (access(text, F_OK) == 0)
        return;
    size_t length = strlen(text);
    for (size_t at = length; at > 0; at--) {
        if (text[at] != ':')
            continue;
        text[at] = '\0';
        if (access(text, F_OK) == 0) {
            *tensor = text + at + 1;
            return;
        }
        text[at] = ':';
    }
}

/* The slot that the text before '=' names, -1 if it names none. */
static int slot_of(enum hc_op op, int first, int end, const char *word)
{
    for (int s = first; s < end; s++) {
        size_t length = strlen(hc_slot(op, s)->name);
        if (strncmp(word, hc_slot(op, s)->name, length) == 0 && word[length] == '=')
            return s;
    }
    return -1;
}

static bool is_name(const char *word)
{
    size_t length = strspn(word, "abcdefghijklmnopqrstuvwxyz0123456789_");
    return length > 0 && word[length] == '=';
}

/* Fills the slots from first to end - 1 by words of one option. */
static enum hc_status fill(struct hc_question *q, const struct hc_words *words, int first, int end)
{
    enum hc_op op = q->call.op;
    const char *option = first == 0 ? "--in" : "--out";
    int next = first;
    for (int i = 0; i < words->count; i++) {
        const char *word = words->word[i];
        const struct hc_tensor_file *file;
        const char *tensor;
        char names[256];
        int slot = slot_of(op, first, end, word);
        if (slot < 0 && is_name(word) && access(word, F_OK) != 0)
            return hc_fail(HC_INVALID, "judge: %s %s: the slots of %s are %s", option, word,
                           hc_ops[op].name, slot_names(op, first, end, names));
        bool named = slot >= 0;
        while (!named && next < end && hc_slot_tensor(&q->call, next)->data)
            next++;
        if (!named && next == end)
            return hc_fail(HC_INVALID, "judge: %s takes at most %d: %s", option, end - first,
                           slot_names(op, first, end, names));
        slot = named ? slot : next;
        const char *rest = named ? strchr(word, '=') + 1 : word;
        char *path = hc_question_memory(q, strlen(rest) + 1);
        if (!path)
            return HC_NO_MEMORY;
        memcpy(path, rest, strlen(rest) + 1);
        part(path, &tensor);
        struct hc_tensor *t = hc_slot_tensor(&q->call, slot);
        if (t->data)
            return hc_fail(HC_INVALID, "judge: %s is given twice", hc_slot(op, slot)->name);
        enum hc_status status = hc_question_file(q, path, &file);
        if (status == HC_OK)
            status = take(file, path, tensor, hc_slot(op, slot)->name, t);
        if (status != HC_OK)
            return status;
    }
    return HC_OK;
}

/* Takes the tensors of one file that are named as slots. Others are left alone. */
static enum hc_status fill_by_name(struct hc_question *q, const struct hc_tensor_file *file,
                                   const char *path)
{
    enum hc_status status = HC_OK;
    for (int s = 0; s < hc_slot_count(q->call.op); s++) {
        const char *slot = hc_slot(q->call.op, s)->name;
        struct hc_tensor *to = hc_slot_tensor(&q->call, s);
        for (int i = 0; i < file->count && !to->data && status == HC_OK; i++)
            if (strcmp(file->tensors[i].name, slot) == 0)
                status = take(file, path, slot, slot, to);
    }
    return status;
}

/* Gives an output memory of its own where the same tensor was given for another slot, too. */
static enum hc_status part_outputs(struct hc_question *q)
{
    int inputs = hc_ops[q->call.op].inputs;
    for (int o = inputs; o < hc_slot_count(q->call.op); o++) {
        struct hc_tensor *t = hc_slot_tensor(&q->call, o);
        bool shared = false;
        for (int s = 0; s < o && t->data; s++)
            shared = shared || hc_slot_tensor(&q->call, s)->data == t->data;
        void *own = shared ? hc_question_memory(q, hc_tensor_bytes(t)) : NULL;
        if (shared && !own)
            return HC_NO_MEMORY;
        if (shared)
            t->data = memcpy(own, t->data, hc_tensor_bytes(t));
    }
    return HC_OK;
}

enum hc_status hc_question_fill(struct hc_question *q, const struct hc_question_words *words)
{
    int inputs = hc_ops[q->call.op].inputs;
    int all = hc_slot_count(q->call.op);
    const struct hc_tensor_file *file;
    enum hc_status status = fill(q, &words->in, 0, inputs);
    if (status == HC_OK)
        status = fill(q, &words->out, inputs, all);
    if (status == HC_OK && words->tensors) {
        status = hc_question_file(q, words->tensors, &file);
        if (status == HC_OK)
            status = fill_by_name(q, file, words->tensors);
    }
    for (int o = 0; o < all - inputs; o++)
        q->given[o] = q->call.out[o].data != NULL;
    return status == HC_OK ? part_outputs(q) : status;
}
