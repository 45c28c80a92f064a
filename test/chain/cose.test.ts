import { blake2b } from "@noble/hashes/blake2.js";
import { utf8ToBytes } from "@noble/hashes/utils.js";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { addressToBytes } from "../../src/chain/address.ts";
import { readCoseSign1, signCoseSign1, verifyCoseMessage } from "../../src/chain/cose.ts";
import { bytesToHex } from "../../src/chain/hex.ts";
import { deriveWalletKeys } from "../../src/chain/wallet-keys.ts";
import { verifyCoseSign1 } from "../support/verify-cose-sign1.ts";
import { FORGED_FORMS, WALLET_FORMS } from "../support/wallet-signatures.ts";

const KEYS = await deriveWalletKeys(`${"test ".repeat(23)}sauce`, "Preprod");
const PAYLOAD = utf8ToBytes("terms");
const SIGNED = signCoseSign1(PAYLOAD, KEYS);

describe("COSE_Sign1", () => {
  it("tells who signed what", () => {
    expect(verifyCoseSign1(SIGNED)).toMatchObject({
      valid: true,
      payload: PAYLOAD,
      publicKey: KEYS.paymentPublicKey,
      address: addressToBytes(KEYS.address),
    });
  });

  it("is not valid with another payload", () => {
    const [before, after] = [bytesToHex(utf8ToBytes("terms")), bytesToHex(utf8ToBytes("germs"))];
    const forged = { ...SIGNED, signature: SIGNED.signature.replace(before, after) };
    expect(verifyCoseSign1(forged)).toMatchObject({ valid: false, payload: utf8ToBytes("germs") });
  });

  it("is not valid with another address in its headers", () => {
    const address = bytesToHex(addressToBytes(KEYS.address));
    const other = address.replace(/..$/, (last) => (last === "00" ? "01" : "00"));
    const forged = { ...SIGNED, signature: SIGNED.signature.replace(address, other) };
    expect(verifyCoseSign1(forged)?.valid).toBe(false);
  });

  it("is not valid under another key", async () => {
    const other = await deriveWalletKeys(`${"abandon ".repeat(11)}about`, "Preprod");
    const { key } = signCoseSign1(PAYLOAD, other);
    expect(verifyCoseSign1({ ...SIGNED, key })?.valid).toBe(false);
  });

  it("takes a key whose curve stands under an older label", () => {
    const older = SIGNED.key.replace("2006", "0621");
    expect(older).not.toBe(SIGNED.key);
    expect(verifyCoseSign1({ ...SIGNED, key: older })?.valid).toBe(true);
  });

  it.each([
    ["nothing", { ...SIGNED, signature: "" }],
    ["no hex", { ...SIGNED, signature: "84z" }],
    ["no CBOR", { ...SIGNED, signature: "ff" }],
    ["an array of three", { ...SIGNED, signature: "83404040" }],
    ["a short signature", { ...SIGNED, signature: "8441a0a04040" }],
    ["headers that are no map", { ...SIGNED, signature: `844101a0405840${"00".repeat(64)}` }],
    ["a key that is no map", { ...SIGNED, key: "01" }],
    ["a key without the public key", { ...SIGNED, key: "a10101" }],
    ["a public key of 31 bytes", { ...SIGNED, key: `a121581f${"00".repeat(31)}` }],
  ])("is null for %s", (_, cose) => {
    expect(verifyCoseSign1(cose)).toBeNull();
  });

  it("is answered for any bytes", () => {
    const anyHex = fc.uint8Array({ maxLength: 80 }).map(bytesToHex);
    fc.assert(
      fc.property(anyHex, anyHex, (signature, key) => {
        expect(verifyCoseSign1({ signature, key })?.valid ?? false).toBe(false);
      }),
    );
  });

  it("is not valid with a point that is no public key", () => {
    const key = `a1215820${"ff".repeat(32)}`;
    expect(verifyCoseSign1({ ...SIGNED, key })?.valid).toBe(false);
  });
});

describe("a wallet's signature of a message", () => {
  const sign = (payload: Uint8Array) => signCoseSign1(payload, KEYS);
  const verdictOf = (form: (typeof WALLET_FORMS)[number], message: Uint8Array) => {
    const cose = readCoseSign1(form[1](message, sign));
    return cose && verifyCoseMessage(cose, message);
  };
  const messages = fc.uint8Array({ minLength: 8, maxLength: 100 });

  it.each(WALLET_FORMS.map((form) => ({ name: form[0], form })))(
    "proves any message that it is of: $name",
    ({ form }) => {
      const check = (message: Uint8Array) => {
        expect(verdictOf(form, message)).toBe("signed");
      };
      fc.assert(fc.property(messages, check), { numRuns: 5 });
    },
  );

  it.each(FORGED_FORMS.map((form) => ({ name: form[0], form })))(
    "proves no message that it is not of: $name",
    ({ form }) => {
      const check = (message: Uint8Array) => {
        expect(verdictOf(form, message)).not.toBe("signed");
      };
      fc.assert(fc.property(messages, check), { numRuns: 5 });
    },
  );

  it("proves the message when its payload is the message but its hash was signed", () => {
    const [message, hash] = [PAYLOAD, blake2b(PAYLOAD, { dkLen: 28 })];
    const cose = readCoseSign1(sign(hash));
    if (cose === null) throw new Error("the signature is not COSE");
    expect(verifyCoseMessage({ ...cose, payload: message }, message)).toBe("signed");
  });
});
