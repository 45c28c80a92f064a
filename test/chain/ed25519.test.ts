import { createPublicKey, verify as verifyByPlatform } from "node:crypto";
import { ed25519 } from "@noble/curves/ed25519.js";
import { sha512 } from "@noble/hashes/sha2.js";
import { concatBytes, utf8ToBytes } from "@noble/hashes/utils.js";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { GROUP_ORDER, isSignedBy, Point } from "../../src/chain/ed25519.ts";
import { hexToBytes } from "../../src/chain/hex.ts";

const MESSAGE = utf8ToBytes("pay");
const SECRET = new Uint8Array(32).fill(7);
const KEY = ed25519.getPublicKey(SECRET);
const SIGNATURE = ed25519.sign(MESSAGE, SECRET);

/** The eight points of small order, in every encoding that some implementation decodes. */
const SMALL_ORDER = [
  "0100000000000000000000000000000000000000000000000000000000000000",
  "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
  "0000000000000000000000000000000000000000000000000000000000000000",
  "0000000000000000000000000000000000000000000000000000000000000080",
  "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
  "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc85",
  "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
  "c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac03fa",
].map(hexToBytes);

/** The same points and others, encoded with y from the field's order up or with a sign of zero. */
const NOT_CANONICAL = [
  "0100000000000000000000000000000000000000000000000000000000000080",
  "ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
  "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
  "eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
  "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
  "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
].map(hexToBytes);

function scalar(value: bigint): Uint8Array {
  return Uint8Array.from({ length: 32 }, (_, i) => Number((value >> BigInt(8 * i)) & 0xffn));
}

function littleEndian(bytes: Uint8Array): bigint {
  return bytes.reduceRight((value, byte) => (value << 8n) | BigInt(byte), 0n);
}

/** What the reference library of the same author says, which also knows other curves. */
function reference(key: Uint8Array, message: Uint8Array, signature: Uint8Array): boolean {
  return ed25519.verify(signature, message, key, { zip215: false });
}

/** A verifier of another origin (RFC 8032 without the cofactor, as the ledger's). */
function platform(key: Uint8Array, message: Uint8Array, signature: Uint8Array): boolean {
  const jwk = { kty: "OKP", crv: "Ed25519", x: Buffer.from(key).toString("base64url") };
  return verifyByPlatform(null, message, createPublicKey({ key: jwk, format: "jwk" }), signature);
}

/** A signature under key `a·B + torsion` whose commitment is `r·B`. */
function signedWithTorsion(torsion: Uint8Array) {
  const a = 5n;
  const r = 9n;
  const key = Point.BASE.multiply(a).add(Point.fromBytes(torsion)).toBytes();
  const commitment = Point.BASE.multiply(r).toBytes();
  const challenge = littleEndian(sha512(concatBytes(commitment, key, MESSAGE))) % GROUP_ORDER;
  return {
    key,
    signature: concatBytes(commitment, scalar((r + challenge * a) % GROUP_ORDER)),
  };
}

describe("isSignedBy", () => {
  it("agrees with two other verifiers on signatures, whole and with a bit turned", () => {
    fc.assert(
      fc.property(
        fc.uint8Array({ minLength: 32, maxLength: 32 }),
        fc.uint8Array({ maxLength: 200 }),
        fc.option(fc.nat(64 * 8 - 1)),
        (secret, message, turned) => {
          const key = ed25519.getPublicKey(secret);
          const signature = ed25519.sign(message, secret);
          if (turned !== null)
            signature[turned >> 3] = (signature[turned >> 3] ?? 0) ^ (1 << (turned & 7));
          const verdict = isSignedBy(key, message, signature);
          expect(verdict).toBe(turned === null);
          expect(reference(key, message, signature)).toBe(verdict);
          expect(platform(key, message, signature)).toBe(verdict);
        },
      ),
      { numRuns: 30 },
    );
  });

  it("refuses a scalar from the group's order up", () => {
    const proof = littleEndian(SIGNATURE.subarray(32));
    for (const value of [proof + GROUP_ORDER, GROUP_ORDER, 2n ** 256n - 1n]) {
      const signature = concatBytes(SIGNATURE.subarray(0, 32), scalar(value));
      expect(isSignedBy(KEY, MESSAGE, signature)).toBe(false);
      expect(reference(KEY, MESSAGE, signature)).toBe(false);
      expect(platform(KEY, MESSAGE, signature)).toBe(false);
    }
  });

  it("refuses every key of small order, whose signatures fit any message", () => {
    for (const key of SMALL_ORDER)
      for (const commitment of SMALL_ORDER) {
        const signature = concatBytes(commitment, scalar(0n));
        expect(isSignedBy(key, MESSAGE, signature)).toBe(false);
        expect(reference(key, MESSAGE, signature)).toBe(false);
      }
  });

  it("refuses keys and commitments whose encoding is not canonical", () => {
    for (const point of NOT_CANONICAL) {
      expect(isSignedBy(point, MESSAGE, SIGNATURE)).toBe(false);
      expect(reference(point, MESSAGE, SIGNATURE)).toBe(false);
      const signature = concatBytes(point, SIGNATURE.subarray(32));
      expect(isSignedBy(KEY, MESSAGE, signature)).toBe(false);
      expect(reference(KEY, MESSAGE, signature)).toBe(false);
    }
  });

  it("takes what is right but for a part of small order, as RFC 8032 lets it; the ledger may not", () => {
    const verdicts = SMALL_ORDER.map((torsion) => {
      const { key, signature } = signedWithTorsion(torsion);
      expect(isSignedBy(key, MESSAGE, signature)).toBe(true);
      expect(reference(key, MESSAGE, signature)).toBe(true);
      return platform(key, MESSAGE, signature);
    });
    expect(verdicts).toContain(false);
  });

  it("throws for a key or a signature of another length", () => {
    expect(() => isSignedBy(KEY.subarray(1), MESSAGE, SIGNATURE)).toThrow(RangeError);
    expect(() => isSignedBy(KEY, MESSAGE, SIGNATURE.subarray(1))).toThrow(RangeError);
  });
});
