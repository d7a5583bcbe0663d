/* A file of named tensors that is either whole or refused.

   A training can be killed at any moment, and must go on to the same bits. So a checkpoint replaces
   the old one in one step, after everything is on the disk; and a reader believes nothing: it
   checks a checksum, what run the file is of, and that it holds the tensors that are asked for,
   before it copies a single one.

   The file is safetensors, which others can open. Its metadata are
     halfcheck.checkpoint   3, the format's version (1 and 2 were no safetensors)
     producer               who wrote it
     identity               what run it is of
     checksum               FNV-1a in hexadecimal of all other metadata and, for each tensor, its
                            name, format, shape and data, in the order of the file
   Every step of FNV-1a is a bijection of its state, so a change within a single byte always changes
   the checksum. The sizes in the header tell every cut. A change of several bytes goes unseen with
   a chance of 2^-64: this guards against accidents, not against forgers. */
#ifndef HC_TRAIN_RUN_CHECKPOINT_H
#define HC_TRAIN_RUN_CHECKPOINT_H

#include "tensor_file/tensor_file.h"

/* `identity` says what run this is: words "key=value" separated by single spaces, such as
   "recipe=amp network=darknet16 classes=10 seed=1". The last ones may be those of made_on.h. */

/* Replaces the file in one step (op/output.h). If the process is killed on the way, or the disk is
   full, the old file stays as it was. HC_IO with one line. */
enum hc_status hc_checkpoint_write(const char *path, const char *producer, const char *identity,
                                   const struct hc_named_tensor *tensors, int count);

/* Fills the tensors' data, in any order of the file, if the whole file is sound, has this identity
   (an older one may lack the words of made_on.h), and holds exactly these names, formats and
   shapes; otherwise touches none. HC_IO if it cannot be read; HC_INVALID if it is cut, changed or
   another run's, with the word that differs, or of an older version of halfcheck. */
enum hc_status hc_checkpoint_read(const char *path, const char *identity,
                                  struct hc_named_tensor *tensors, int count);

/* Opens the checkpoint of any run, for who looks into it or changes it: sound, or refused. Close it
   with hc_tensor_file_close in any case. */
enum hc_status hc_checkpoint_open(struct hc_tensor_file *file, const char *path);
const char *hc_checkpoint_identity(const struct hc_tensor_file *file);

/* FNV-1a, 64 bits (Fowler, Noll, Vo; draft-eastlake-fnv): continues `hash`, which starts as
   HC_FNV_START. */
#define HC_FNV_START UINT64_C(0xcbf29ce484222325)
uint64_t hc_fnv(uint64_t hash, const void *data, size_t bytes);

/* The size of a checksum's text, over the tensors and all metadata but "checksum". */
enum { HC_CHECKSUM = 17 };

#endif
