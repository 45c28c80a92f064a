import fc from "fast-check";
import lz from "lz-string";
import { describe, expect, it } from "vitest";
import {
  decodeBlockchainIdentifier,
  encodeBlockchainIdentifier,
  signIdentifier,
  type TermsContext,
  toBlockchainIdentifier,
  verifySellerSignature,
} from "../../src/chain/contracts/blockchain-identifier.ts";
import type { EscrowDatum } from "../../src/chain/contracts/escrow-datum.ts";
import { bytesToHex } from "../../src/chain/hex.ts";
import type { Funds } from "../../src/chain/network.ts";
import { deriveWalletKeys } from "../../src/chain/wallet-keys.ts";
import VECTORS from "../vectors/chain.json" with { type: "json" };
import { contextOf, datumOf, type IdentifierVector, termsOf } from "./check-vectors.ts";

const SELLER = await deriveWalletKeys(`${"test ".repeat(23)}sauce`, "Preprod");
const OTHER = await deriveWalletKeys(`${"abandon ".repeat(11)}about`, "Preprod");
const ROWS: IdentifierVector[] = VECTORS.blockchainIdentifiers;
const ASSETS: Funds[] = ["", "aa", "bb", "cc", "dd"].map((name, i) => ({
  unit: name.repeat(28),
  amount: BigInt(1_000_000 * (i + 2)),
}));

function draft(version: EscrowDatum["version"], changes: Partial<EscrowDatum> = {}): EscrowDatum {
  const row = VECTORS.datums.find(
    ({ version: v }) => v === (version === "Web3ChainV1" ? "V1" : "V2"),
  );
  if (!row) throw new Error("no such vector");
  return { ...datumOf(row), seller: SELLER.address, sellerVkey: SELLER.vkey, ...changes };
}

/** The datum with its seller's signature over its terms. */
function signed(
  datum: EscrowDatum,
  context: Partial<TermsContext> = {},
  keys = SELLER,
): EscrowDatum {
  const { referenceKey, referenceSignature } = signIdentifier(
    datum,
    { contractAddress: CONTRACT, requestedFunds: null, ...context },
    keys,
  );
  return { ...datum, referenceKey, referenceSignature };
}

const CONTRACT = VECTORS.contracts.V2;
const verify = (datum: EscrowDatum, lockedFunds: Funds[] = [{ unit: "", amount: 10n }]) =>
  verifySellerSignature(datum, { contractAddress: CONTRACT, lockedFunds });
const OTHER_TERMS = { ok: false, reason: "the seller signed other terms" };

describe("blockchain identifiers", () => {
  it.each(ROWS)("of V$version come out of signing as other services make them", async (row) => {
    const wallet = await deriveWalletKeys("solution ".repeat(24), "Preprod");
    expect(signIdentifier(termsOf(row), contextOf(row, VECTORS.contracts.V1), wallet)).toEqual({
      referenceSignature: row.signature,
      referenceKey: row.key,
      blockchainIdentifier: row.blockchainIdentifier,
    });
  });

  it("of a datum are those of its escrow, with the contract on V2 only", () => {
    const v1 = decodeBlockchainIdentifier(toBlockchainIdentifier(draft("Web3ChainV1"), CONTRACT));
    const v2 = decodeBlockchainIdentifier(toBlockchainIdentifier(draft("Web3ChainV2"), CONTRACT));
    expect(v1?.contractAddress).toBeNull();
    expect(v2?.contractAddress).toBe(CONTRACT);
  });

  it("without an agent have none", () => {
    const datum = draft("Web3ChainV1", { agentIdentifier: null });
    const decoded = decodeBlockchainIdentifier(toBlockchainIdentifier(datum, CONTRACT));
    expect(decoded).toMatchObject({ sellerId: datum.sellerNonce, agentIdentifier: null });
  });

  it("are read again as they were written, in either case of hex", () => {
    const segment = fc.uint8Array({ maxLength: 120 }).map(bytesToHex);
    fc.assert(
      fc.property(
        segment,
        segment,
        segment,
        segment,
        fc.option(fc.constant(CONTRACT)),
        (a, b, c, d, e) => {
          const segments = { sellerId: a, buyerNonce: b, signature: c, key: d, contractAddress: e };
          const text = encodeBlockchainIdentifier(segments);
          expect(text).toMatch(/^[0-9a-f]*$/);
          expect(decodeBlockchainIdentifier(text)).toMatchObject(segments);
          expect(decodeBlockchainIdentifier(text.toUpperCase())).toMatchObject(segments);
        },
      ),
    );
  });

  it.each([
    ["three parts", "aa.bb.cc"],
    ["six parts", "aa.bb.cc.dd.addr1.ee"],
    ["a seller id that is not hex", "az.bb.cc.dd"],
    ["a nonce of half a byte", "aa.b.cc.dd"],
    ["a fifth part that is no address", "aa.bb.cc.dd.stake1"],
    ["an address of no end", `aa.bb.cc.dd.addr${"1".repeat(250)}`],
  ])("with %s are none", (_, text) => {
    expect(decodeBlockchainIdentifier(bytesToHex(lz.compressToUint8Array(text)))).toBeNull();
  });

  it("may be as long as the ledger's largest transaction, and no longer", () => {
    const signature = (bytes: number) => "00".repeat(bytes);
    const encoded = (bytes: number) =>
      encodeBlockchainIdentifier({
        ...{ sellerId: "aa", buyerNonce: "bb", key: "dd", contractAddress: null },
        signature: signature(bytes),
      });
    expect(decodeBlockchainIdentifier(encoded(16_000))?.signature).toBe(signature(16_000));
    expect(decodeBlockchainIdentifier(encoded(17_000))).toBeNull();
  });

  it("are not found in any other text", () => {
    fc.assert(
      fc.property(
        fc.oneof(fc.string(), fc.uint8Array({ maxLength: 200 }).map(bytesToHex)),
        (text) => {
          const decoded = decodeBlockchainIdentifier(text);
          if (decoded) expect(encodeBlockchainIdentifier(decoded)).not.toBe("");
        },
      ),
      { numRuns: 2000 },
    );
    expect(decodeBlockchainIdentifier("")).toBeNull();
    expect(decodeBlockchainIdentifier("ab".repeat(10_000))).toBeNull();
  });
});

describe("the seller's signature", () => {
  it.each(["Web3ChainV1", "Web3ChainV2"] as const)("of %s holds for a fixed price", (version) => {
    expect(verify(signed(draft(version)))).toEqual({ ok: true });
  });

  it("holds for requested funds in any order, less the collateral", () => {
    const price = ASSETS.slice(0, 4);
    const datum = draft("Web3ChainV2", { collateralReturn: 5_000_000n });
    const locked = price.map(({ unit, amount }) => ({
      unit,
      amount: unit === "" ? amount + datum.collateralReturn : amount,
    }));
    for (const requestedFunds of [price, price.toReversed()])
      expect(verify(signed(datum, { requestedFunds }), locked)).toEqual({ ok: true });
  });

  it("holds for tokens alone, when the native coin locked is all collateral", () => {
    const requestedFunds = ASSETS.slice(1, 2);
    const datum = draft("Web3ChainV1", { collateralReturn: 5_000_000n });
    const locked = [{ unit: "", amount: 5_000_000n }, ...requestedFunds];
    expect(verify(signed(datum, { requestedFunds }), locked)).toEqual({ ok: true });
  });

  it("holds for five assets in the order they are locked", () => {
    expect(verify(signed(draft("Web3ChainV1"), { requestedFunds: ASSETS }), ASSETS)).toEqual({
      ok: true,
    });
    const reversed = ASSETS.toReversed();
    expect(verify(signed(draft("Web3ChainV1"), { requestedFunds: ASSETS }), reversed)).toEqual(
      OTHER_TERMS,
    );
  });

  it.each([0, 7, 24])("holds for payment source %i of a registration on V2", (index) => {
    const datum = signed(draft("Web3ChainV2"), { supportedPaymentSourceIndex: index });
    expect(verify(datum)).toEqual({ ok: true });
  });

  it("does not hold for a payment source that no registration has", () => {
    const datum = signed(draft("Web3ChainV2"), { supportedPaymentSourceIndex: 25 });
    expect(verify(datum)).toEqual(OTHER_TERMS);
  });

  it("does not hold when other funds were locked", () => {
    const requestedFunds = [{ unit: "", amount: 11n }];
    expect(verify(signed(draft("Web3ChainV2"), { requestedFunds }))).toEqual(OTHER_TERMS);
  });

  it("does not hold for another contract on V2", () => {
    const contractAddress = VECTORS.contracts.V1;
    expect(verify(signed(draft("Web3ChainV2"), { contractAddress }))).toEqual(OTHER_TERMS);
  });

  it.each([
    ["input hash", { inputHash: "00" }],
    ["agent", { agentIdentifier: "00" }],
    ["buyer's nonce", { buyerNonce: "00" }],
    ["seller's nonce", { sellerNonce: "00".repeat(32) }],
    ["pay-by time", { payByTime: 1n }],
    ["result time", { submitResultTime: 1n }],
    ["unlock time", { unlockTime: 1n }],
    ["dispute time", { externalDisputeUnlockTime: 1n }],
    ["seller's return address", { sellerReturnAddress: OTHER.address }],
    ["seller's address", { seller: OTHER.address }],
  ] as [string, Partial<EscrowDatum>][])("does not hold when the %s is another", (_, change) => {
    expect(verify({ ...signed(draft("Web3ChainV2")), ...change })).toEqual(OTHER_TERMS);
  });

  it("does not hold when a byte of it is another", () => {
    const datum = signed(draft("Web3ChainV2"));
    const last = datum.referenceSignature.endsWith("00") ? "01" : "00";
    const referenceSignature = datum.referenceSignature.slice(0, -2) + last;
    expect(verify({ ...datum, referenceSignature })).toEqual({
      ok: false,
      reason: "the seller's signature is invalid",
    });
  });

  it("does not hold under a key that is not the seller's", () => {
    expect(verify(signed(draft("Web3ChainV2"), {}, OTHER))).toEqual({
      ok: false,
      reason: "the signing key is not the seller's",
    });
  });

  it("does not hold when it is no signature, or the nonce no nonce", () => {
    const datum = signed(draft("Web3ChainV2"));
    expect(verify({ ...datum, referenceSignature: "00" })).toEqual({
      ok: false,
      reason: "the seller's signature is not COSE",
    });
    expect(verify({ ...datum, sellerNonce: "00" })).toEqual({
      ok: false,
      reason: "the seller's nonce is not 32 bytes",
    });
  });
});
