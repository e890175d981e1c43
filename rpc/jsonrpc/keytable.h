#include <stdint.h>

/* The numbers of 64-bit words that the tables of the generator and of a key have. */
extern const int gavel_generator_words, gavel_key_words;

/* gavel_fill_generator and gavel_fill_key write a table. The key is a point of the curve: x and y, 32 bytes each. Returns 0 if it is none. */
void gavel_fill_generator(uint64_t *table);
int gavel_fill_key(uint64_t *table, const unsigned char *key);

/* gavel_has_signed returns 1 if recovering a key from the signature (r, s of 32 bytes each, and odd: the recovery id, 0 or 1) of a digest of 32
 * bytes would lead to the key of the table. */
int gavel_has_signed(const uint64_t *generator, const uint64_t *key, const unsigned char *digest, const unsigned char *signature, int odd);
