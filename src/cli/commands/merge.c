#include <stdio.h>
#include <string.h>

#include "check/output.h"
#include "check/record.h"
#include "cli/command.h"

const struct hc_command hc_command_merge;

/* Lists that become one; all else that a record has is kept beside its name. */
static const char *const lists[] = {"results", "rates"};

enum { LISTS = sizeof lists / sizeof lists[0] };

/* The file's name without folders and ".json". */
static json_t *name_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path;
    size_t length = strlen(name);
    if (length > 5 && strcmp(name + length - 5, ".json") == 0)
        length -= 5;
    return json_stringn(name, length);
}

static enum hc_status append(json_t *whole, const char *path)
{
    struct hc_record record;
    enum hc_status status = hc_record_read(path, &record);
    if (status != HC_OK)
        return status;
    json_t *rest = json_copy(record.document);
    if (!json_object_get(whole, "environment"))
        (void)json_object_set(whole, "environment", json_object_get(rest, "environment"));
    for (int i = 0; i < LISTS; i++) {
        json_t *list = json_object_get(rest, lists[i]);
        if (json_is_array(list))
            (void)json_array_extend(json_object_get(whole, lists[i]), list);
        (void)json_object_del(rest, lists[i]);
    }
    (void)json_object_del(rest, "schema");
    (void)json_object_set_new(rest, "name", name_of(path));
    (void)json_array_append_new(json_object_get(whole, "parts"), rest);
    hc_record_free(&record);
    return HC_OK;
}

static enum hc_status merge(char **paths, const char *out)
{
    struct hc_record written;
    json_t *whole = json_pack("{s:i, s:[], s:[], s:[]}", "schema", HC_RECORD_SCHEMA, lists[0],
                              lists[1], "parts");
    enum hc_status status = whole ? HC_OK : hc_fail(HC_NO_MEMORY, "no memory for the record");
    for (; *paths && status == HC_OK; paths++)
        status = append(whole, *paths);
    if (status == HC_OK)
        status = hc_record_write(whole, out);
    json_decref(whole);
    if (status != HC_OK)
        return status;
    status = hc_record_read(out, &written); /* no result may stand in two of them */
    if (status == HC_OK)
        hc_record_free(&written);
    else
        (void)remove(out);
    return status;
}

static int run(int argc, char **argv)
{
    int words;
    int status;
    const char *json = NULL;
    const struct hc_option options[] = {
        {.name = "json", .value = "FILE", .text = &json, .help = "where the one record goes"},
        {0},
    };
    if (!hc_read_options(&hc_command_merge, options, argc, argv, &words, &status))
        return status;
    if (!json || words == 0)
        return hc_complain("merge needs --json FILE and records; see: halfcheck merge --help");
    if (hc_output_probe(json) != HC_OK || merge(argv + 1, json) != HC_OK)
        return hc_complain_message();
    return HC_AS_CLAIMED;
}

const struct hc_command hc_command_merge = {
    .name = "merge",
    .usage = "RECORD... --json FILE",
    .summary = "make one record of several",
    .text =
        "The results and rates of all of them, the environment of the first; what else each of\n"
        "them has stands under \"parts\" with its file's name. A result that stands in two\n"
        "records is an error: run each case once.",
    .run = run,
};
