import { sha256 } from "@noble/hashes/sha2.js";
import { bytesToHex, utf8ToBytes } from "@noble/hashes/utils.js";

const ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz";

/** The id made last in this process: its time, and its random bits. */
let lastId = { at: -1, random: -1n };

/**
 * A new record id: 48 bits of time and 80 random bits in lower-case Crockford base 32, 26 characters
 * (ULID, "Monotonicity"). Ids sort by their time, to the millisecond (by code unit). Within a
 * millisecond, the ids of one process sort in the order of their creation. This order needs that the
 * process makes no id of another time in between.
 *
 * @param now - epoch milliseconds
 */
export function newId(now: number): string {
  return createIdGenerator(now)();
}

/**
 * Makes ids of one moment that sort in creation order, whatever is made in between.
 *
 * @param now - epoch milliseconds
 */
export function createIdGenerator(now: number): () => string {
  let mine = -1n;
  return () => {
    const newest = lastId.at === now && lastId.random > mine ? lastId.random : mine;
    mine = newest < 0n ? generateRandomBits() : newest + 1n;
    lastId = { at: now, random: mine };
    return encodeId(now, mine);
  };
}

/**
 * The smallest id that a record created at that time can have: later ids are `>=` it.
 *
 * @param at - epoch milliseconds
 */
export function firstIdAt(at: number): string {
  return encodeId(Math.max(at, 0), 0n);
}

/** The time at which the record of an id was created, epoch milliseconds. */
export function timeOfId(id: string): number {
  let time = 0;
  for (const digit of id.slice(0, 10)) time = time * 32 + ALPHABET.indexOf(digit);
  return time;
}

/**
 * The id of another service's record: always the same, and sorted by its time.
 *
 * @param at - epoch milliseconds at which the record was created
 * @param name - names the record among all others
 */
export function deriveId(at: number, name: string): string {
  const hash = bytesToHex(sha256(utf8ToBytes(name)).slice(0, 10));
  return encodeId(at, BigInt(`0x${hash}`));
}

/** 79 random bits: the highest of 80 is left for what is added to them. */
function generateRandomBits(): bigint {
  const [high = 0n, low = 0n] = crypto.getRandomValues(new BigUint64Array(2));
  return ((high & 0x7fffn) << 64n) | low;
}

function encodeId(time: number, random: bigint): string {
  const bits = (BigInt(time) << 80n) | random;
  let id = "";
  for (let shift = 125n; shift >= 0n; shift -= 5n) id += ALPHABET[Number((bits >> shift) & 31n)];
  return id;
}
