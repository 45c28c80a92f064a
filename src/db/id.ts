const ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz";

/**
 * A new record id: 48 bits of time and 80 random bits in lower-case Crockford base 32, 26
 * characters. Ids made later sort later (by code unit), to the millisecond.
 *
 * @param now - epoch milliseconds
 */
export function newId(now: number): string {
  const random = crypto.getRandomValues(new Uint8Array(10));
  let bits = BigInt(now) << 80n;
  for (const [i, byte] of random.entries()) bits |= BigInt(byte) << BigInt(8 * (9 - i));
  let id = "";
  for (let shift = 125n; shift >= 0n; shift -= 5n) id += ALPHABET[Number((bits >> shift) & 31n)];
  return id;
}
