/* Reading safetensors: eight bytes with the header's length, a JSON object with type, shape and
   offsets of each tensor, and the data, which the tensors fill without holes and without sharing a
   byte (the format's specification, github.com/huggingface/safetensors). */
#include <assert.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "op/output.h"
#include "tensor_file/inner.h"
#include "tensor_file/tensor_file.h"

/* As the format's own library has it. */
enum { LONGEST_HEADER = 100000000 };

/* Where the data begin, and how many bytes they have. */
struct data {
    uint64_t begin;
    uint64_t size;
};

struct extent {
    uint64_t begin;
    uint64_t end;
    const char *name;
};

static const struct hc_stored_type types[] = {
    {"F64", HC_FP64, HC_STORED_AS_IS, 8},
    {"F32", HC_FP32, HC_STORED_AS_IS, 4},
    {"F16", HC_FP16, HC_STORED_AS_IS, 2},
    {"BF16", HC_BF16, HC_STORED_AS_IS, 2},
    {"F8_E4M3", HC_E4M3, HC_STORED_AS_IS, 1},
    {"F8_E5M2", HC_E5M2, HC_STORED_AS_IS, 1},
    {"F8_E8M0", HC_E8M0, HC_STORED_AS_IS, 1},
    {"F8_E4M3FNUZ", HC_E4M3FNUZ, HC_STORED_AS_IS, 1},
    {"F8_E5M2FNUZ", HC_E5M2FNUZ, HC_STORED_AS_IS, 1},
    {"I64", HC_I32, HC_STORED_I64, 8},
    {"I32", HC_I32, HC_STORED_AS_IS, 4},
    {"U8", HC_U8, HC_STORED_AS_IS, 1},
    {"BOOL", HC_U8, HC_STORED_BOOL, 1},
};

bool hc_safetensors_has(enum hc_format format)
{
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (types[i].format == format && types[i].stored == HC_STORED_AS_IS)
            return true;
    return false;
}

static const struct hc_stored_type *type_of(const char *name)
{
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (strcmp(name, types[i].name) == 0)
            return &types[i];
    return NULL;
}

static enum hc_status parse_header(struct hc_tensor_source *source, struct data *data,
                                   json_t **header)
{
    unsigned char first[8];
    enum hc_status status = hc_tensor_fetch(source, 0, first, sizeof first);
    if (status != HC_OK)
        return status;
    uint64_t length = 0;
    for (int i = 7; i >= 0; i--)
        length = length << 8 | first[i];
    if (length > source->size - sizeof first)
        return hc_tensor_refuse(source,
                                "its header should have %llu bytes, but only %llu follow its "
                                "length",
                                (unsigned long long)length,
                                (unsigned long long)(source->size - sizeof first));
    if (length > LONGEST_HEADER)
        return hc_tensor_refuse(source, "its header has more than %d bytes", LONGEST_HEADER);
    *data = (struct data){8 + length, source->size - 8 - length};
    char *text = malloc((size_t)length + 1);
    if (!text)
        return hc_fail(HC_NO_MEMORY, "%s: no memory for its header", source->path);
    json_error_t error = {0};
    status = hc_tensor_fetch(source, 8, text, (size_t)length);
    if (status == HC_OK)
        *header = json_loadb(text, (size_t)length, JSON_REJECT_DUPLICATES, &error);
    free(text);
    if (status == HC_OK && !json_is_object(*header))
        status = hc_tensor_refuse(source, "its header is no JSON object of different names: %s",
                                  error.text);
    return status;
}

static enum hc_status read_metadata(struct hc_tensor_source *source, json_t *object)
{
    struct hc_tensor_file *file = source->file;
    const char *key;
    json_t *value;
    if (!object)
        return HC_OK;
    if (!json_is_object(object))
        return hc_tensor_refuse(source, "its __metadata__ is no object");
    file->metadata = hc_tensor_memory(source, sizeof *file->metadata * json_object_size(object));
    if (!file->metadata)
        return HC_NO_MEMORY;
    json_object_foreach(object, key, value)
    {
        if (!json_is_string(value))
            return hc_tensor_refuse(source, "its __metadata__ has '%.80s', which is no text", key);
        struct hc_metadata *row = &file->metadata[file->metadata_count];
        row->key = hc_tensor_text(source, key);
        row->value = hc_tensor_text(source, json_string_value(value));
        if (!row->key || !row->value)
            return HC_NO_MEMORY;
        file->metadata_count++;
    }
    return HC_OK;
}

/* A whole number that is not negative; -1 if it is none. */
static int64_t whole(const json_t *value)
{
    return json_is_integer(value) && json_integer_value(value) >= 0 ? json_integer_value(value)
                                                                    : -1;
}

/* Reads the shape. A rank that halfcheck cannot hold leaves *unread, and rank 0. */
static enum hc_status read_shape(struct hc_tensor_source *source, const char *name, json_t *shape,
                                 struct hc_named_tensor *row)
{
    struct hc_tensor *t = &row->tensor;
    size_t rank = json_array_size(shape);
    if (!json_is_array(shape))
        return hc_tensor_refuse(source, "tensor '%.80s' has no shape", name);
    for (size_t d = 0; d < rank; d++) {
        int64_t extent = whole(json_array_get(shape, d));
        if (extent < 0)
            return hc_tensor_refuse(source, "tensor '%.80s' has a shape that is no list of sizes",
                                    name);
        if (d < HC_MAX_RANK)
            t->shape[d] = extent;
    }
    t->rank = rank <= HC_MAX_RANK ? (int)rank : 0;
    if (rank > HC_MAX_RANK)
        row->unread = "its rank is above 4";
    return HC_OK;
}

/* Checks that the bytes between the offsets are in the file and are as many as the shape needs. */
static enum hc_status read_tensor(struct hc_tensor_source *source, const struct data *data,
                                  const char *name, json_t *object, struct extent *extent)
{
    struct hc_named_tensor *row = &source->file->tensors[source->file->count];
    const char *type_name = json_string_value(json_object_get(object, "dtype"));
    json_t *offsets = json_object_get(object, "data_offsets");
    int64_t begin = whole(json_array_get(offsets, 0));
    int64_t end = whole(json_array_get(offsets, 1));
    int64_t count = 0;
    *row = (struct hc_named_tensor){.name = hc_tensor_text(source, name)};
    row->tensor = (struct hc_tensor){.shape = {1, 1, 1, 1}};
    if (!row->name)
        return HC_NO_MEMORY;
    if (!type_name || json_array_size(offsets) != 2 || json_object_size(object) != 3)
        return hc_tensor_refuse(source,
                                "tensor '%.80s' must have dtype, shape and two data_offsets, and "
                                "nothing else",
                                name);
    if (begin < 0 || end < begin || (uint64_t)end > data->size)
        return hc_tensor_refuse(source, "tensor '%.80s' lies outside the file", name);
    enum hc_status status = read_shape(source, name, json_object_get(object, "shape"), row);
    if (status != HC_OK)
        return status;
    *extent = (struct extent){(uint64_t)begin, (uint64_t)end, row->name};
    source->file->count++;
    const struct hc_stored_type *type = type_of(type_name);
    if (!type && !row->unread)
        row->unread = "halfcheck has no format for its type";
    if (!type || row->unread)
        return HC_OK;
    if (!hc_tensor_elements(row->tensor.shape, row->tensor.rank, &count) ||
        count * type->bytes != end - begin)
        return hc_tensor_refuse(source, "tensor '%.80s' has another size than its shape needs",
                                name);
    return hc_tensor_elements_read(source, type, data->begin + (uint64_t)begin, false, &row->tensor,
                                   &row->unread);
}

static int by_place(const void *a, const void *b)
{
    const struct extent *one = a;
    const struct extent *other = b;
    if (one->begin != other->begin)
        return one->begin < other->begin ? -1 : 1;
    return one->end < other->end ? -1 : one->end > other->end;
}

/* Sorts the extents by place, and checks that they fill the data. */
static enum hc_status check_extents(const struct hc_tensor_source *source, const struct data *data,
                                    struct extent *extents)
{
    int count = source->file->count;
    uint64_t at = 0;
    qsort(extents, (size_t)count, sizeof *extents, by_place);
    for (int i = 0; i < count; at = extents[i++].end)
        if (extents[i].begin != at)
            return hc_tensor_refuse(source, "tensor '%.80s' %s", extents[i].name,
                                    extents[i].begin < at ? "shares bytes with another one"
                                                          : "lies behind a hole");
    return at == data->size ? HC_OK
                            : hc_tensor_refuse(source, "%llu bytes at its end belong to no tensor",
                                               (unsigned long long)(data->size - at));
}

static enum hc_status read_tensors(struct hc_tensor_source *source, const struct data *data,
                                   json_t *header)
{
    size_t room = json_object_size(header);
    struct extent *extents = hc_tensor_memory(source, sizeof *extents * room);
    source->file->tensors = hc_tensor_memory(source, sizeof *source->file->tensors * room);
    const char *name;
    json_t *object;
    if (!extents || !source->file->tensors)
        return HC_NO_MEMORY;
    json_object_foreach(header, name, object)
    {
        if (strcmp(name, "__metadata__") == 0)
            continue;
        enum hc_status status =
            read_tensor(source, data, name, object, &extents[source->file->count]);
        if (status != HC_OK)
            return status;
    }
    return check_extents(source, data, extents);
}

enum hc_status hc_safetensors_read(struct hc_tensor_source *source)
{
    struct data data;
    json_t *header = NULL;
    enum hc_status status = parse_header(source, &data, &header);
    if (status == HC_OK)
        status = read_metadata(source, json_object_get(header, "__metadata__"));
    if (status == HC_OK)
        status = read_tensors(source, &data, header);
    json_decref(header);
    return status;
}

/* Writing safetensors. */

enum { LARGEST_ELEMENT = 8, ALIGNMENT = 64 };

/* safetensors packs numbers of less than 8 bits (F4, F6_E2M3, F6_E3M2) and has no type for NVFP4's
   scales. Here each code has a byte of its own, and so these are written as bytes. */
static const char *const type_names[HC_FORMAT_COUNT] = {
    [HC_FP64] = "F64",
    [HC_FP32] = "F32",
    [HC_TF32] = "F32",
    [HC_BF16] = "BF16",
    [HC_FP16] = "F16",
    [HC_E4M3] = "F8_E4M3",
    [HC_E5M2] = "F8_E5M2",
    [HC_E4M3FNUZ] = "F8_E4M3FNUZ",
    [HC_E5M2FNUZ] = "F8_E5M2FNUZ",
    [HC_E2M3] = "U8",
    [HC_E3M2] = "U8",
    [HC_E2M1] = "U8",
    [HC_E8M0] = "F8_E8M0",
    [HC_UE4M3] = "U8",
    [HC_I32] = "I32",
    [HC_U8] = "U8",
};

/* The next tensor in the order of the data, behind `i` (-1: the first): by falling size of an
   element, then as given. -1 if there is none. */
static int behind(const struct hc_named_tensor *tensors, int count, int i)
{
    int bytes = i < 0 ? LARGEST_ELEMENT : hc_formats[tensors[i].tensor.format].bytes;
    for (; bytes > 0; bytes--, i = -1)
        for (int j = i + 1; j < count; j++)
            if (hc_formats[tensors[j].tensor.format].bytes == bytes)
                return j;
    return -1;
}

/* NULL without memory. */
static json_t *json_of(const struct hc_tensor *t, size_t begin)
{
    json_t *shape = json_array();
    bool good = shape != NULL;
    for (int d = 0; d < t->rank; d++)
        good = json_array_append_new(shape, json_integer(t->shape[d])) == 0 && good;
    if (!good) {
        json_decref(shape);
        return NULL;
    }
    return json_pack("{s:s, s:o, s:[I,I]}", "dtype", type_names[t->format], "shape", shape,
                     "data_offsets", (json_int_t)begin, (json_int_t)(begin + hc_tensor_bytes(t)));
}

/* The header as JSON, NULL if a text is no UTF-8 or there is no memory. The names stand in the
   order in which they were given: each is first set to null. */
static json_t *header_of(const struct hc_named_tensor *tensors, int count,
                         const struct hc_metadata *metadata, int metadata_count)
{
    json_t *header = json_object();
    json_t *texts = json_object();
    bool good = true;
    size_t at = 0;
    for (int i = 0; i < metadata_count; i++)
        good = json_object_set_new(texts, metadata[i].key, json_string(metadata[i].value)) == 0 &&
               good;
    if (metadata_count > 0)
        good = json_object_set(header, "__metadata__", texts) == 0 && good;
    json_decref(texts);
    for (int i = 0; i < count; i++) {
        assert(tensors[i].tensor.data && strcmp(tensors[i].name, "__metadata__") != 0);
        assert(!json_object_get(header, tensors[i].name));
        good = json_object_set_new(header, tensors[i].name, json_null()) == 0 && good;
    }
    for (int i = behind(tensors, count, -1); i >= 0; i = behind(tensors, count, i)) {
        good = json_object_set_new(header, tensors[i].name, json_of(&tensors[i].tensor, at)) == 0 &&
               good;
        at += hc_tensor_bytes(&tensors[i].tensor);
    }
    if (good)
        return header;
    json_decref(header);
    return NULL;
}

static bool append_all(struct hc_output *output, const char *header,
                       const struct hc_named_tensor *tensors, int count)
{
    static const char blanks[ALIGNMENT + 1] =
        "                                                                ";
    size_t length = strlen(header);
    size_t filled = (8 + length + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT - 8;
    unsigned char first[8];
    for (int i = 0; i < 8; i++)
        first[i] = (unsigned char)((uint64_t)filled >> 8 * i);
    bool good = hc_output_append(output, first, sizeof first) &&
                hc_output_append(output, header, length) &&
                hc_output_append(output, blanks, filled - length);
    for (int i = behind(tensors, count, -1); good && i >= 0; i = behind(tensors, count, i))
        good =
            hc_output_append(output, tensors[i].tensor.data, hc_tensor_bytes(&tensors[i].tensor));
    return good;
}

enum hc_status hc_safetensors_write(const char *path, const struct hc_named_tensor *tensors,
                                    int count, const struct hc_metadata *metadata,
                                    int metadata_count)
{
    json_t *header = header_of(tensors, count, metadata, metadata_count);
    if (!header)
        return hc_fail(HC_INVALID,
                       "cannot write %s: a name or a text in it is no UTF-8, or memory is short",
                       path);
    char *text = json_dumps(header, JSON_COMPACT);
    json_decref(header);
    if (!text)
        return hc_fail(HC_NO_MEMORY, "cannot write %s: no memory for its header", path);
    struct hc_output output;
    enum hc_status status = hc_output_open(&output, path);
    if (status == HC_OK)
        status = hc_output_close(&output, append_all(&output, text, tensors, count));
    free(text);
    return status;
}
