#include "num/sha256.h"

#include <criterion/criterion.h>
#include <string.h>

static void expect(const char *text, int times, const char *want)
{
    struct hc_sha256 hash;
    char got[HC_SHA256_TEXT];
    hc_sha256_start(&hash);
    for (int i = 0; i < times; i++)
        hc_sha256_add(&hash, text, strlen(text));
    hc_sha256_end(&hash, got);
    cr_expect_str_eq(got, want);
}

/* The examples of FIPS 180-2's appendix B, and the hash of nothing. */
Test(sha256, is_that_of_the_standards_examples)
{
    expect("", 1, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    expect("abc", 1, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    expect("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 1,
           "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
    expect("a", 1000000, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}
