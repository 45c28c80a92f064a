/** Secrets of the service that an import reads, which its `ENCRYPTION_KEY` opens. */
import { createDecipheriv, pbkdf2Sync, scryptSync } from "node:crypto";

const SALT_BYTES = 16;
const IV_BYTES = 16;
const KEY_BYTES = 32;
const TOKEN_SALT_LABEL = "masumi-apikey-pbkdf2-salt-v1";
const TOKEN_ROUNDS = 100_000;
const TOKEN_HASH_BYTES = 64;

export interface PeerSecrets {
  /** Decrypts a value. Null: the key does not open it. Another key may open it to rubbish, so prove the result. */
  open(sealed: string): string | null;
  /** The hash by which the service finds a token, hex. */
  hashToken(token: string): string;
}

/**
 * The format is `hex(salt ‖ IV ‖ ciphertext)` of AES-256-CBC, whose key is scrypt of `ENCRYPTION_KEY` and the salt.
 * A token's hash is PBKDF2-HMAC-SHA-512 with a salt that follows from `ENCRYPTION_KEY`.
 */
export function createPeerSecrets(encryptionKey: string): PeerSecrets {
  const tokenSalt = scryptSync(encryptionKey, TOKEN_SALT_LABEL, KEY_BYTES);
  return {
    open(sealed) {
      const bytes = Buffer.from(sealed, "hex");
      if (bytes.length <= SALT_BYTES + IV_BYTES) return null;
      const key = scryptSync(encryptionKey, bytes.subarray(0, SALT_BYTES), KEY_BYTES);
      const iv = bytes.subarray(SALT_BYTES, SALT_BYTES + IV_BYTES);
      const cipher = createDecipheriv("aes-256-cbc", key, iv);
      try {
        const text = cipher.update(bytes.subarray(SALT_BYTES + IV_BYTES));
        return Buffer.concat([text, cipher.final()]).toString("utf8");
      } catch {
        return null;
      }
    },
    hashToken: (token) =>
      pbkdf2Sync(token, tokenSalt, TOKEN_ROUNDS, TOKEN_HASH_BYTES, "sha512").toString("hex"),
  };
}
