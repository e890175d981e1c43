/* Verifies ECDSA signatures with tables of the key's multiples. The arithmetic is libsecp256k1's, see libsecp256k1/COPYING. */
#include "keytable.h"
#include "src/int128_impl.h"
#include "src/field_impl.h"
#include "src/scalar_impl.h"
#include "src/group_impl.h"

/* A factor is split into two of 128 bits (the curve has an endomorphism: lambda times a point is cheap), and each of these into signed digits. A table
 * has a row for each digit, with the multiples 1 to 2^(bits-1) of the point times 2^(bits*row). So nothing is doubled when it is used: a digit is one
 * addition. The generator's digits are larger, since there is one table for all. */
#define GENERATOR_BITS 10
#define KEY_BITS 6
#define ROWS(bits) ((128 + (bits)) / (bits)) /* 128 bits and a carry */
#define ENTRIES(bits) (ROWS(bits) << ((bits) - 1))
#define WORDS(bits) (ENTRIES(bits) * (int)(sizeof(secp256k1_ge_storage) / sizeof(uint64_t)))

const int gavel_generator_words = WORDS(GENERATOR_BITS);
const int gavel_key_words = WORDS(KEY_BITS);

static void fill(secp256k1_ge_storage *table, int bits, secp256k1_ge base) {
    int half = 1 << (bits - 1), row, i;
    secp256k1_gej multiple[1 << (GENERATOR_BITS - 1)], next;
    secp256k1_ge affine[1 << (GENERATOR_BITS - 1)];
    for (row = 0; row < ROWS(bits); row++, table += half) {
        secp256k1_gej_set_ge(&multiple[0], &base);
        for (i = 1; i < half; i++) {
            secp256k1_gej_add_ge_var(&multiple[i], &multiple[i - 1], &base, NULL);
        }
        secp256k1_ge_set_all_gej_var(affine, multiple, half);
        for (i = 0; i < half; i++) {
            secp256k1_ge_to_storage(&table[i], &affine[i]);
        }
        secp256k1_gej_double_var(&next, &multiple[half - 1], NULL);
        secp256k1_ge_set_gej_var(&base, &next);
    }
}

/* recode writes a factor's digits, -2^(bits-1) to 2^(bits-1). The factor is less than 2^128, or more than n - 2^128, which stands for a negative one.
 * What the table has for the digits is asked for at once: it is in no cache, and add would wait for one after the other. */
static void recode(int *digits, const secp256k1_ge_storage *table, int bits, secp256k1_scalar factor) {
    int half = 1 << (bits - 1), carry = 0, row;
    int negative = secp256k1_scalar_is_high(&factor);
    if (negative) {
        secp256k1_scalar_negate(&factor, &factor);
    }
    for (row = 0; row < ROWS(bits); row++, table += half) {
        int digit = (int)secp256k1_scalar_get_bits_var(&factor, row * bits, bits) + carry;
        carry = digit > half;
        if (carry) {
            digit -= 2 * half;
        }
        if (digit != 0) {
            __builtin_prefetch(&table[(digit < 0 ? -digit : digit) - 1]);
        }
        digits[row] = negative ? -digit : digit;
    }
}

/* add adds the multiple with these digits of the table's point to a sum. */
static void add(secp256k1_gej *sum, const secp256k1_ge_storage *table, int bits, const int *digits) {
    int half = 1 << (bits - 1), row;
    for (row = 0; row < ROWS(bits); row++, table += half) {
        int digit = digits[row];
        secp256k1_ge point;
        if (digit == 0) {
            continue;
        }
        secp256k1_ge_from_storage(&point, &table[(digit < 0 ? -digit : digit) - 1]);
        if (digit < 0) {
            secp256k1_ge_neg(&point, &point);
        }
        secp256k1_gej_add_ge_var(sum, sum, &point, NULL);
    }
}

void gavel_fill_generator(uint64_t *table) {
    fill((secp256k1_ge_storage *)table, GENERATOR_BITS, secp256k1_ge_const_g);
}

int gavel_fill_key(uint64_t *table, const unsigned char *key) {
    secp256k1_fe x, y;
    secp256k1_ge point;
    if (!secp256k1_fe_set_b32_limit(&x, key) || !secp256k1_fe_set_b32_limit(&y, key + 32)) {
        return 0;
    }
    secp256k1_ge_set_xy(&point, &x, &y);
    if (!secp256k1_ge_is_valid_var(&point)) {
        return 0;
    }
    fill((secp256k1_ge_storage *)table, KEY_BITS, point);
    return 1;
}

/* Recovering solves s*R = digest*G + r*Q for the key Q, where R is the point that r and the recovery id describe. Here Q is known, so it is R that is
 * calculated, and compared with both. A recovery id below 2 says that r is R's x as it is. */
int gavel_has_signed(const uint64_t *generator, const uint64_t *key, const unsigned char *digest, const unsigned char *signature, int odd) {
    const secp256k1_ge_storage *of_generator = (const secp256k1_ge_storage *)generator, *of_key = (const secp256k1_ge_storage *)key;
    secp256k1_scalar e, r, s, low, high;
    secp256k1_gej sum, times_lambda;
    secp256k1_ge point;
    secp256k1_fe x;
    int overflow, generator_digits[2][ROWS(GENERATOR_BITS)], key_digits[2][ROWS(KEY_BITS)];
    secp256k1_scalar_set_b32(&r, signature, &overflow);
    if (overflow || secp256k1_scalar_is_zero(&r)) {
        return 0;
    }
    secp256k1_scalar_set_b32(&s, signature + 32, &overflow);
    if (overflow || secp256k1_scalar_is_zero(&s)) {
        return 0;
    }
    secp256k1_scalar_set_b32(&e, digest, NULL); /* modulo n, as ECDSA wants it */
    secp256k1_scalar_inverse_var(&s, &s);
    secp256k1_scalar_mul(&e, &e, &s);
    secp256k1_scalar_mul(&r, &r, &s);
    secp256k1_scalar_split_lambda(&low, &high, &r);
    recode(key_digits[0], of_key, KEY_BITS, low);
    recode(key_digits[1], of_key, KEY_BITS, high);
    secp256k1_scalar_split_lambda(&low, &high, &e);
    recode(generator_digits[0], of_generator, GENERATOR_BITS, low);
    recode(generator_digits[1], of_generator, GENERATOR_BITS, high);
    secp256k1_gej_set_infinity(&sum);
    secp256k1_gej_set_infinity(&times_lambda);
    add(&sum, of_generator, GENERATOR_BITS, generator_digits[0]);
    add(&sum, of_key, KEY_BITS, key_digits[0]);
    add(&times_lambda, of_generator, GENERATOR_BITS, generator_digits[1]);
    add(&times_lambda, of_key, KEY_BITS, key_digits[1]);
    secp256k1_fe_mul(&times_lambda.x, &times_lambda.x, &secp256k1_const_beta);
    secp256k1_gej_add_var(&sum, &sum, &times_lambda, NULL);
    if (secp256k1_gej_is_infinity(&sum)) {
        return 0;
    }
    secp256k1_ge_set_gej_var(&point, &sum);
    if (!secp256k1_fe_set_b32_limit(&x, signature)) {
        return 0;
    }
    secp256k1_fe_normalize_var(&point.x);
    secp256k1_fe_normalize_var(&point.y);
    return secp256k1_fe_equal(&x, &point.x) && secp256k1_fe_is_odd(&point.y) == odd;
}
