/* Writing safetensors. */
#include <assert.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "op/output.h"
#include "tensor_file/tensor_file.h"

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
