/**
 * Encrypted columns. A sealed value is `v1.<key id>.<base64url of IV, ciphertext and tag>`, encrypted
 * with AES-256-GCM. HKDF-SHA-256 (RFC 5869) derives the encryption key from one of `SEALING_KEYS` for
 * the table and column. The associated data bind the value to its row.
 */
import { log } from "../log.ts";
import { SEALED_COLUMNS } from "./sealed-columns.ts";

/** The place where a secret is stored, one of `SEALED_COLUMNS`; it opens nowhere else. */
export interface EncryptionContext {
  table: string;
  /** The row's id. */
  id: string;
  column: string;
}

export interface SealingEnv {
  /** See `Env.SEALING_KEYS`. */
  SEALING_KEYS: string;
}

/** A value could not be sealed or opened. The message names the key, never the value. */
export class SealError extends Error {
  override name = "SealError";
}

const FORMAT_VERSION = "v1";
const IV_BYTES = 12;
const KEY_BYTES = 32;

/**
 * Encrypts a secret for its place, under the first of the keys.
 *
 * @throws SealError when `SEALING_KEYS` is malformed, or a rotation would not reach the place
 */
export async function seal(
  env: SealingEnv,
  place: EncryptionContext,
  plaintext: string,
): Promise<string> {
  const isListed = SEALED_COLUMNS.some(
    ({ table, column, boundTo = column }) => table === place.table && boundTo === place.column,
  );
  if (!isListed) throw new SealError(`${place.table}.${place.column}: is not in SEALED_COLUMNS`);
  const key = requireFirstKey(env);
  const iv = crypto.getRandomValues(new Uint8Array(IV_BYTES));
  const ciphertext = await crypto.subtle.encrypt(
    { name: "AES-GCM", iv, additionalData: encodeAssociatedData(place) },
    await loadDerivedKey(key.secret, place),
    new TextEncoder().encode(plaintext),
  );
  const bytes = Buffer.concat([iv, new Uint8Array(ciphertext)]);
  return `${FORMAT_VERSION}.${key.id}.${bytes.toString("base64url")}`;
}

/**
 * Decrypts what `seal` made for the same place.
 *
 * @throws SealError when the key is missing or wrong, or the value was altered or moved
 */
export async function unseal(
  env: SealingEnv,
  place: EncryptionContext,
  sealed: string,
): Promise<string> {
  const [version, keyId, data, ...rest] = sealed.split(".");
  if (version !== FORMAT_VERSION || !keyId || !data || rest.length > 0)
    throw new SealError(`${place.table}.${place.column}: not a sealed value`);
  const key = parseSealingKeys(env).find(({ id }) => id === keyId);
  if (!key) throw new SealError(`SEALING_KEYS: key ${keyId} is missing`);
  const bytes = Buffer.from(data, "base64url");
  try {
    const plaintext = await crypto.subtle.decrypt(
      {
        name: "AES-GCM",
        iv: bytes.subarray(0, IV_BYTES),
        additionalData: encodeAssociatedData(place),
      },
      await loadDerivedKey(key.secret, place),
      bytes.subarray(IV_BYTES),
    );
    return new TextDecoder().decode(plaintext);
  } catch (cause) {
    throw new SealError(
      `${place.table}.${place.column}: does not open with key ${keyId}: another key under that id, or another row's value`,
      { cause },
    );
  }
}

/**
 * Opens a value that is only displayed: one that does not open is `""`, and the log names its place
 * and the reason. So a row whose sealing key was lost can still be listed and deleted. Values to be
 * used, sent or resealed go through `unseal`.
 */
export async function unsealOrEmpty(
  env: SealingEnv,
  place: EncryptionContext,
  sealed: string,
): Promise<string> {
  try {
    return await unseal(env, place, sealed);
  } catch (error) {
    if (!(error instanceof SealError)) throw error;
    log("error", "sealed.unopened", { ...place, error: error.message });
    return "";
  }
}

/**
 * The id of the sealing key: the first of the keys.
 *
 * @throws SealError when `SEALING_KEYS` is malformed
 */
export function readSealingKeyId(env: SealingEnv): string {
  return requireFirstKey(env).id;
}

function requireFirstKey(env: SealingEnv) {
  const [key] = parseSealingKeys(env);
  if (!key) throw new SealError("SEALING_KEYS: there is no key");
  return key;
}

function parseSealingKeys(env: SealingEnv): { id: string; secret: Uint8Array<ArrayBuffer> }[] {
  return (env.SEALING_KEYS ?? "")
    .split(",")
    .filter((entry) => entry.trim() !== "")
    .map((entry, index) => {
      const [id = "", encoded = ""] = entry.trim().split(":");
      const secret = Uint8Array.from(Buffer.from(encoded, "base64"));
      if (!/^[\w-]{1,32}$/.test(id) || secret.length !== KEY_BYTES)
        throw new SealError(`SEALING_KEYS: entry ${index + 1} is not id:base64 of 32 bytes`);
      return { id, secret };
    });
}

function encodeAssociatedData({ table, id, column }: EncryptionContext) {
  return new TextEncoder().encode(JSON.stringify([table, id, column]));
}

/** Keys derived in this isolate, by secret and column. */
const derivedKeys = new Map<string, CryptoKey>();

async function loadDerivedKey(
  secret: Uint8Array<ArrayBuffer>,
  { table, column }: EncryptionContext,
): Promise<CryptoKey> {
  const name = `${Buffer.from(secret).toString("base64")} ${table}.${column}`;
  const known = derivedKeys.get(name);
  if (known) return known;
  const key = await deriveKey(secret, `sealed ${FORMAT_VERSION} ${table}.${column}`);
  derivedKeys.set(name, key);
  return key;
}

async function deriveKey(secret: Uint8Array<ArrayBuffer>, info: string): Promise<CryptoKey> {
  const master = await crypto.subtle.importKey("raw", secret, "HKDF", false, ["deriveKey"]);
  return crypto.subtle.deriveKey(
    {
      name: "HKDF",
      hash: "SHA-256",
      // The secret is random, so RFC 5869 §3.1 requires no salt; the purpose goes into `info`.
      salt: new Uint8Array(),
      info: new TextEncoder().encode(info),
    },
    master,
    { name: "AES-GCM", length: 256 },
    false,
    ["encrypt", "decrypt"],
  );
}
