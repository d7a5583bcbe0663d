/* A digest of what a call computed: 64 bits in which the call's op, formats, shapes, parameters,
   input bits and output bits all count. Two runs whose digests are equal gave the same bits; that
   they are equal by chance has a probability of about 2^-32.

   Digests stand in records and baselines, and so the definition does not change. A stream of bytes
   is cut into blocks of 1024 bytes, the last one filled up with zeros to a multiple of 8. Each
   block is hashed by NH (Black, Halevi, Krawczyk, Krovetz and Rogaway 1999, "UMAC: fast and secure
   message authentication"; RFC 4418, 5.2), whose sums of products run in vector registers:

     NH = sum over i of ((w[2i] + k[2i]) mod 2^32) * ((w[2i+1] + k[2i+1]) mod 2^32)   mod 2^64

   where w are the block's words of 32 bits, little-endian, and k is a key, here the bits of
   hc_random(HC_DIGEST_SEED, 0, 0 ..). Two blocks of one length have the same NH for 2^-32 of all
   keys, at most. The blocks' values are folded in their order.

   A tensor's NaNs all count as one, since contracts leave sign and payload of most NaNs open. +0
   and -0 differ. */
#ifndef HC_OP_DIGEST_H
#define HC_OP_DIGEST_H

#include "op/call.h"

#define HC_DIGEST_SEED UINT64_C(0x68616c66)

/* Digests of bytes: `state` begins as any number, and the next call goes on from the result. */
uint64_t hc_digest_bytes(uint64_t state, const void *bytes, size_t count);

/* Everything of a call but the numbers in its tensors: its op, parameters, formats and shapes,
   which of its tensors are one, and whether its flags are set, since a step that is left out
   computes nothing. Equal forms are equal calls within one process only. */
uint64_t hc_digest_form(const struct hc_call *call);

/* Everything of a call that stands before its kernel runs, and that with its outputs, after it has
   run. The two are apart because an output may overwrite an input. The call keeps its contract, and
   its tensors lie in host memory. */
uint64_t hc_digest_inputs(const struct hc_call *call);
uint64_t hc_digest_outputs(uint64_t inputs, const struct hc_call *call);

#endif
