/// <reference types="vite/types/importMeta.d.ts" />
import { ed25519 } from "@noble/curves/ed25519.js";
import { beforeEach, describe, expect, it } from "vitest";
import { toCanonicalJson } from "../../src/canonical-json.ts";
import { addressToBytes, formatAddress } from "../../src/chain/address.ts";
import {
  encodeArray,
  encodeBoolean,
  encodeBytes,
  encodeInt,
  encodeMap,
  encodeText,
} from "../../src/chain/cbor.ts";
import { bytesToHex } from "../../src/chain/hex.ts";
import { hashKey } from "../../src/chain/wallet-keys.ts";
import { buildSignedMessage, verifyBuyer } from "../../src/invoices/model/verify-buyer.ts";
import { emptyTables } from "../support/app.ts";
import { FORGED_FORMS, WALLET_FORMS } from "../support/wallet-signatures.ts";
import { BUYER, BUYER_ADDRESS, BUYER_VKEY, MONTH, pay, request, send } from "./support.ts";

const BUYER_SECRET = new Uint8Array(32).fill(7);
const STRANGER_SECRET = new Uint8Array(32).fill(9);
const STRANGER_VKEY = hashKey(ed25519.getPublicKey(STRANGER_SECRET));

interface Vector {
  Buyer: Record<string, string | null>;
  month: string;
  validUntil: number;
  buyerWalletVkey: string;
  hash: string;
  walletAddress: string;
  enterpriseAddress: string;
  key: string;
  signature: string;
}

const [shared] = Object.values(
  import.meta.glob<Vector>("../../../shared/vectors/invoice-signature.json", {
    eager: true,
    import: "default",
  }),
);
if (shared) {
  describe("the shared vector", () => {
    const body = { ...shared, action: "RetrieveMonthlyInvoices" as const };

    it("equals the signed message, and passes until it expires", () => {
      expect(buildSignedMessage(body, shared.Buyer)).toBe(
        `{"action":"RetrieveMonthlyInvoices","hash":"${shared.hash}","validUntil":${shared.validUntil}}`,
      );
      expect(verifyBuyer(body, shared.Buyer, shared.validUntil)).toBe("Preprod");
      expect(() => verifyBuyer(body, shared.Buyer, shared.validUntil + 1)).toThrow(/expired/);
    });

    it("is refused for the enterprise address, which its header does not name", () => {
      const other = { ...body, walletAddress: shared.enterpriseAddress };
      expect(() => verifyBuyer(other, shared.Buyer, shared.validUntil)).toThrow(
        /must name the address/,
      );
    });
  });
} else console.info("../shared/vectors/invoice-signature.json is not here: not checked");

describe("canonical JSON", () => {
  it("orders keys at every depth and keeps nulls", () => {
    const value = { b: [{ z: 1, a: null }], B: "é\n", a: { 10: true, 9: undefined } };
    expect(toCanonicalJson(value)).toBe(`{"B":"é\\n","a":{"10":true},"b":[{"a":null,"z":1}]}`);
  });
});

/** How a forger may depart from what a wallet does. */
interface Signing {
  secret?: Uint8Array;
  /** In the COSE_Key. */
  publicKey?: Uint8Array;
  /** In the protected headers; null: none. */
  headerAddress?: Uint8Array | null;
  payload?: (message: Uint8Array) => Uint8Array;
}

function cose(message: Uint8Array, address: string, signing: Signing) {
  const secret = signing.secret ?? BUYER_SECRET;
  const publicKey = signing.publicKey ?? ed25519.getPublicKey(secret);
  const headerAddress =
    signing.headerAddress === undefined ? addressToBytes(address) : signing.headerAddress;
  const headers = encodeMap([
    [encodeInt(1n), encodeInt(-8n)],
    ...(headerAddress === null
      ? []
      : [[encodeText("address"), encodeBytes(headerAddress)] as const]),
  ]);
  const payload = signing.payload?.(message) ?? message;
  const toSign = encodeArray([
    encodeText("Signature1"),
    encodeBytes(headers),
    encodeBytes(new Uint8Array()),
    encodeBytes(payload),
  ]);
  return {
    signature: bytesToHex(
      encodeArray([
        encodeBytes(headers),
        encodeMap([[encodeText("hashed"), encodeBoolean(false)]]),
        encodeBytes(payload),
        encodeBytes(ed25519.sign(toSign, secret)),
      ]),
    ),
    key: bytesToHex(
      encodeMap([
        [encodeInt(1n), encodeInt(1n)],
        [encodeInt(3n), encodeInt(-8n)],
        [encodeInt(-1n), encodeInt(6n)],
        [encodeInt(-2n), encodeBytes(publicKey)],
      ]),
    ),
  };
}

/** A request, signed as a wallet does it, but for what the forger changes before or after. */
function forged(
  options: {
    claims?: Record<string, unknown>;
    signing?: Signing;
    after?: (body: Record<string, unknown>) => Record<string, unknown>;
  } = {},
) {
  const body = {
    ...request(),
    walletAddress: BUYER_ADDRESS,
    validUntil: Date.now() + 3_600_000,
    action: "RetrieveMonthlyInvoices" as const,
    ...options.claims,
  };
  const message = new TextEncoder().encode(buildSignedMessage(body, body.Buyer));
  const whole = { ...body, ...cose(message, body.walletAddress, options.signing ?? {}) };
  return { ...whole, ...options.after?.(whole) };
}

const bare = (body: Record<string, unknown>, secret: Uint8Array) => {
  const message = new TextEncoder().encode(buildSignedMessage(body as never, BUYER));
  return {
    signature: bytesToHex(ed25519.sign(message, secret)),
    key: bytesToHex(ed25519.getPublicKey(secret)),
  };
};

const address = (
  payment: string,
  stake: string | null,
  network: "Preprod" | "Mainnet" = "Preprod",
) =>
  formatAddress({
    network,
    payment: { kind: "key", hash: payment },
    stake: stake === null ? null : { kind: "key", hash: stake },
  });

/** The victim's payment key beside the attacker's stake key. */
const MIXED_ADDRESS = address(BUYER_VKEY, STRANGER_VKEY);

const FORGERIES: [what: string, body: () => Record<string, unknown>, message: string][] = [
  [
    "another key",
    () => forged({ signing: { secret: STRANGER_SECRET } }),
    "key: is not the payment key of buyerWalletVkey",
  ],
  [
    "a stake key beside the victim's payment key in the address",
    () =>
      forged({ claims: { walletAddress: MIXED_ADDRESS }, signing: { secret: STRANGER_SECRET } }),
    "key: is not the payment key of buyerWalletVkey",
  ],
  [
    "the forger's own key under the victim's public key",
    () =>
      forged({
        signing: { secret: STRANGER_SECRET, publicKey: ed25519.getPublicKey(BUYER_SECRET) },
      }),
    "signature: does not match the key",
  ],
  [
    "the forger's own wallet for the victim's key hash",
    () =>
      forged({
        claims: { walletAddress: address(STRANGER_VKEY, null) },
        signing: { secret: STRANGER_SECRET },
      }),
    "walletAddress: is not an address of buyerWalletVkey",
  ],
  [
    "another month",
    () => forged({ after: () => ({ month: "2025-10" }) }),
    "signature: must sign this action",
  ],
  [
    "other buyer data",
    () => forged({ after: () => ({ Buyer: { ...BUYER, name: "Mallory" } }) }),
    "signature: must sign this action",
  ],
  [
    "a member of the buyer left out",
    () => {
      const { email: _, ...rest } = BUYER;
      return forged({ after: () => ({ Buyer: rest }) });
    },
    "signature: must sign this action",
  ],
  [
    "a later expiry than was signed",
    () => forged({ after: () => ({ validUntil: Date.now() + 7_000_000 }) }),
    "signature: must sign this action",
  ],
  [
    "another action in the payload",
    () =>
      forged({
        signing: {
          payload: (message) =>
            new TextEncoder().encode(
              new TextDecoder().decode(message).replace("Retrieve", "Transfer"),
            ),
        },
      }),
    "signature: must sign this action",
  ],
  [
    "an expiry that has passed",
    () => forged({ claims: { validUntil: Date.now() - 1 } }),
    "validUntil: the signature has expired",
  ],
  [
    "an expiry too far ahead",
    () => forged({ claims: { validUntil: Date.now() + 2 * 3_600_000 + 60_000 } }),
    "validUntil: must be at most two hours ahead",
  ],
  [
    "the wallet's address on another network",
    () => forged({ after: () => ({ walletAddress: address(BUYER_VKEY, null, "Mainnet") }) }),
    "signature: must name the address in walletAddress",
  ],
  [
    "an address header of somebody else",
    () => forged({ signing: { headerAddress: addressToBytes(address(STRANGER_VKEY, null)) } }),
    "signature: must name the address in walletAddress",
  ],
  [
    "no address header",
    () => forged({ signing: { headerAddress: null } }),
    "signature: the protected headers must name the address",
  ],
  [
    "truncated CBOR",
    () => forged({ after: ({ signature }) => ({ signature: String(signature).slice(0, -2) }) }),
    "signature: signature and key must be COSE_Sign1 and COSE_Key",
  ],
  [
    "bytes after the CBOR",
    () => forged({ after: ({ signature }) => ({ signature: `${signature}00` }) }),
    "signature: signature and key must be COSE_Sign1 and COSE_Key",
  ],
  [
    "a truncated key",
    () => forged({ after: ({ key }) => ({ key: String(key).slice(0, -2) }) }),
    "signature: signature and key must be COSE_Sign1 and COSE_Key",
  ],
  [
    "text in place of hex",
    () => forged({ after: () => ({ signature: "signature", key: "key" }) }),
    "signature: signature and key must be COSE_Sign1 and COSE_Key",
  ],
  [
    "a signature with one bit changed",
    () =>
      forged({
        after: ({ signature }) => {
          const text = String(signature);
          const last = Number.parseInt(text.slice(-1), 16) ^ 1;
          return { signature: text.slice(0, -1) + last.toString(16) };
        },
      }),
    "signature: does not match the key",
  ],
  [
    "a replay after its expiry",
    () => forged({ claims: { validUntil: Date.now() - 3_600_000 } }),
    "validUntil: the signature has expired",
  ],
  [
    "a stake address",
    () =>
      forged({
        after: () => ({
          walletAddress: "stake_test1uqfu74w3wh4gfzu8m6e7j987h4lq9r3t7ef5gaw497uu85qsqfy27",
        }),
      }),
    "walletAddress: is not a payment address",
  ],
  [
    "a script's address",
    () =>
      forged({
        after: () => ({
          walletAddress: formatAddress({
            network: "Preprod",
            payment: { kind: "script", hash: BUYER_VKEY },
            stake: null,
          }),
        }),
      }),
    "walletAddress: belongs to a script",
  ],
  [
    "a bare signature of another key",
    () => forged({ after: (body) => bare(body, STRANGER_SECRET) }),
    "key: is not the payment key of buyerWalletVkey",
  ],
  [
    "a bare signature of another message",
    () => forged({ after: (body) => bare({ ...body, month: "2025-08" }, BUYER_SECRET) }),
    "signature: does not match the key and this request",
  ],
];

describe("POST /invoice/monthly", () => {
  beforeEach(async () => {
    await emptyTables();
    await pay({});
  });

  it("accepts a wallet's signature of an enterprise or a base address", async () => {
    expect((await send("POST", "monthly", forged())).status).toBe(200);
    const body = forged({ claims: { walletAddress: MIXED_ADDRESS } });
    expect((await send("POST", "monthly", body)).status).toBe(200);
  });

  const inForm = (make: (typeof WALLET_FORMS)[number][1]) =>
    forged({
      after: (body) => {
        const message = new TextEncoder().encode(buildSignedMessage(body as never, BUYER));
        const sign = (payload: Uint8Array) =>
          cose(message, BUYER_ADDRESS, { payload: () => payload });
        return { ...make(message, sign) };
      },
    });

  it.each(WALLET_FORMS)("accepts a wallet's signature of %s", async (_, make) => {
    expect(await send("POST", "monthly", inForm(make))).toMatchObject({ status: 200, message: "" });
  });

  it.each(FORGED_FORMS)("answers 400 to a wallet's signature of %s", async (_, make) => {
    expect(await send("POST", "monthly", inForm(make))).toMatchObject({
      status: 400,
      message: expect.stringMatching(/^signature: /),
    });
  });

  it("accepts a bare ed25519 signature", async () => {
    const body = forged({ after: (whole) => bare(whole, BUYER_SECRET) });
    expect((await send("POST", "monthly", body)).status).toBe(200);
  });

  it("ignores members of the buyer that no party has, in the signature and the invoice", async () => {
    const body = forged({ after: () => ({ Buyer: { ...BUYER, note: "hello" } }) });
    expect((await send("POST", "monthly", body)).status).toBe(200);
  });

  it.each(FORGERIES)("answers 400 to %s", async (_, body, message) => {
    const answer = await send("POST", "monthly", body());
    expect(answer.message).toContain(message);
    expect(answer.status).toBe(400);
  });

  it("answers 404 to a genuine request of a buyer who bought nothing", async () => {
    const claims = { buyerWalletVkey: STRANGER_VKEY, walletAddress: address(STRANGER_VKEY, null) };
    const body = forged({ claims, signing: { secret: STRANGER_SECRET } });
    expect((await send("POST", "monthly", body)).status).toBe(404);
    expect(forged().month).toBe(MONTH);
  });
});
