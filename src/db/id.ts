const ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz";

/**
 * A new record id: 48 bits of time and 80 random bits in lower-case Crockford base 32, 26
 * characters. Ids made later sort later (by code unit), to the millisecond.
 *
 * @param now - epoch milliseconds
 */
export function newId(now: number): string {
  return encode(now, crypto.getRandomValues(new Uint8Array(10)));
}

/**
 * Makes ids of one moment that sort in the order they are made, which those of `newId` within one
 * millisecond do not: 16 of the random bits count. For at most 65,536 of them.
 *
 * @param now - epoch milliseconds
 */
export function ascendingIds(now: number): () => string {
  let made = 0;
  return () => {
    const random = crypto.getRandomValues(new Uint8Array(10));
    new DataView(random.buffer).setUint16(0, made++);
    return encode(now, random);
  };
}

/**
 * The smallest id that a record made at that time can have: ids from a time on are `>=` it.
 *
 * @param at - epoch milliseconds
 */
export function firstIdAt(at: number): string {
  return encode(Math.max(at, 0), new Uint8Array(10));
}

function encode(time: number, random: Uint8Array): string {
  let bits = BigInt(time) << 80n;
  for (const [i, byte] of random.entries()) bits |= BigInt(byte) << BigInt(8 * (9 - i));
  let id = "";
  for (let shift = 125n; shift >= 0n; shift -= 5n) id += ALPHABET[Number((bits >> shift) & 31n)];
  return id;
}
