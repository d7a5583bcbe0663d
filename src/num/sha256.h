/* SHA-256 (FIPS 180-4), for checksums that others can repeat with the tools that they have. */
#ifndef HC_NUM_SHA256_H
#define HC_NUM_SHA256_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct hc_sha256 {
    uint32_t state[8];
    uint64_t length; /* bytes so far */
    unsigned char block[64];
};

void hc_sha256_start(struct hc_sha256 *hash);
void hc_sha256_add(struct hc_sha256 *hash, const void *bytes, size_t n);

/* Writes the hash in hexadecimal digits; the struct is of no use after that. */
enum { HC_SHA256_TEXT = 65 };
void hc_sha256_end(struct hc_sha256 *hash, char text[HC_SHA256_TEXT]);

#ifdef __cplusplus
}
#endif

#endif
