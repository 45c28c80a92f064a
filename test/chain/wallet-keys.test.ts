import { ed25519 } from "@noble/curves/ed25519.js";
import { utf8ToBytes } from "@noble/hashes/utils.js";
import { describe, expect, it } from "vitest";
import { parseAddress } from "../../src/chain/address.ts";
import {
  deriveWalletKeys,
  generateMnemonic,
  hashKey,
  signExtended,
  validateMnemonic,
} from "../../src/chain/wallet-keys.ts";

const WORDS = `${"test ".repeat(23)}sauce`;

describe("deriveWalletKeys", () => {
  it("gives hashes that the address is made of", async () => {
    const keys = await deriveWalletKeys(WORDS, "Mainnet");
    expect(hashKey(keys.paymentPublicKey)).toBe(keys.vkey);
    expect(parseAddress(keys.address)).toMatchObject({
      network: "Mainnet",
      payment: { kind: "key", hash: keys.vkey },
      stake: { kind: "key", hash: keys.stakeVkey },
    });
  });

  it("takes words however they are spaced and cased", async () => {
    const untidy = `  ${WORDS.toUpperCase().replaceAll(" ", " \n\t")} `;
    expect(await deriveWalletKeys(untidy, "Preprod")).toEqual(
      await deriveWalletKeys(WORDS, "Preprod"),
    );
  });

  it("refuses wrong words without repeating any", async () => {
    const wrong = WORDS.replace("sauce", "hunter2");
    await expect(deriveWalletKeys(wrong, "Preprod")).rejects.toThrow(
      /^word 24 is not in the English/,
    );
  });
});

describe("validateMnemonic", () => {
  it("takes what generateMnemonic makes: 24 words, new ones each time", () => {
    const words = generateMnemonic();
    expect(words.split(" ")).toHaveLength(24);
    expect(validateMnemonic(words)).toEqual({ ok: true });
    expect(generateMnemonic()).not.toBe(words);
  });

  it.each([
    ["no words", "", "has 0 words, must have 12, 15, 18, 21, 24"],
    ["too few", "test test", "has 2 words, must have 12, 15, 18, 21, 24"],
    [
      "a misspelt word",
      WORDS.replace("test test", "test tset"),
      "word 2 is not in the English BIP-39 list",
    ],
    [
      "words out of order",
      `sauce ${"test ".repeat(23)}`,
      "checksum does not fit: a word is wrong or out of order",
    ],
  ])("says what is wrong with %s", (_, words, problem) => {
    expect(validateMnemonic(words)).toEqual({ ok: false, problem });
  });
});

describe("signExtended", () => {
  it("makes signatures that any Ed25519 verifier takes, for this message only", async () => {
    const keys = await deriveWalletKeys(WORDS, "Preprod");
    const { paymentPublicKey } = keys;
    const message = utf8ToBytes("pay");
    const signature = signExtended(keys, message);
    expect(ed25519.verify(signature, message, paymentPublicKey, { zip215: false })).toBe(true);
    expect(ed25519.verify(signature, utf8ToBytes("pry"), paymentPublicKey)).toBe(false);
  });
});
