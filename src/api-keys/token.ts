import { createHmac } from "node:crypto";

const ALPHABET = "0123456789abcdefghijklmnopqrstuvwxyz";
const RANDOM_PART_LENGTH = 32;
const MIN_SECRET_LENGTH = 32;

/** A new token: `apk_`, or `apk_admin_` for an Admin, and 32 random characters (165 bits). */
export function createToken(permission: "Admin" | "User"): string {
  let random = "";
  while (random.length < RANDOM_PART_LENGTH) {
    for (const byte of crypto.getRandomValues(new Uint8Array(RANDOM_PART_LENGTH))) {
      // 252 is the largest multiple of 36 in a byte: beyond it characters would not be uniform.
      if (byte < 252 && random.length < RANDOM_PART_LENGTH) random += ALPHABET[byte % 36];
    }
  }
  return `${permission === "Admin" ? "apk_admin_" : "apk_"}${random}`;
}

/** How the display form of each token begins. */
export const MASK = "*****";

/** The display form of an issued token: `*****` and its last four characters. */
export function maskToken(token: string): string {
  return `${MASK}${token.slice(-4)}`;
}

/**
 * The hash a token is stored and found by: HMAC-SHA-256 under `API_KEY_SECRET`, hex. Tokens are
 * random, so a slow password hash would add nothing.
 *
 * @throws Error when the secret is missing or too short
 */
export async function hashToken(env: { API_KEY_SECRET: string }, token: string): Promise<string> {
  const secret = env.API_KEY_SECRET ?? "";
  if (secret.length < MIN_SECRET_LENGTH)
    throw new Error(`API_KEY_SECRET must have at least ${MIN_SECRET_LENGTH} characters`);
  const name = `${secret} ${token}`;
  const known = cachedHashes.get(name);
  if (known !== undefined) return known;
  const hash = createHmac("sha256", secret).update(token).digest("hex");
  if (cachedHashes.size >= MAX_CACHED_HASHES) cachedHashes.clear();
  cachedHashes.set(name, hash);
  return hash;
}

/** Hashes by secret and token: an isolate is sent the same few tokens again and again. */
const cachedHashes = new Map<string, string>();
const MAX_CACHED_HASHES = 10_000;
