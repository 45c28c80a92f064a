/** Monthly invoices, and the signatures that buyers and administrators make. */
import { utf8ToBytes } from "@noble/hashes/utils.js";
import { ADMIN } from "../../../devnet/demo/actors/wallets.ts";
import { toCanonicalJson } from "../../../src/canonical-json.ts";
import { signCoseSign1 } from "../../../src/chain/cose.ts";
import { buildSignedMessage } from "../../../src/invoices/model/verify-buyer.ts";
import type { Call } from "../peer-caller.ts";
import type { Scene } from "../scene.ts";

const HOUR_MS = 3_600_000;
const PARTY = {
  country: "Germany",
  city: "Berlin",
  zipCode: "10115",
  street: "Invalidenstraße",
  streetNumber: "1",
  email: "accounts@example.com",
  phone: null,
  name: "Alice",
  companyName: "Example GmbH",
  vatNumber: "DE123456789",
};

/** Invoices of the month in which an escrow was withdrawn. */
export async function callInvoices(call: Call, { escrows }: Scene): Promise<void> {
  const { buyer, seller } = escrows.withdrawn;
  const month = new Date().toISOString().slice(0, 7);
  await call("GET /invoice/monthly/missing", { query: { month, limit: "10" } });
  const terms = {
    buyerWalletVkey: buyer.vkey,
    sellerWalletVkey: seller.vkey,
    month,
    invoiceCurrency: "eur",
    CurrencyConversion: { "": 0.45 },
    Invoice: { title: "Monthly invoice", logo: "https://example.com/logo.png", language: "en-gb" },
    vatRate: 0.19,
    Seller: PARTY,
    Buyer: PARTY,
  };
  await call("POST /invoice/monthly/internal", { body: terms });
  const signed = {
    action: "RetrieveMonthlyInvoices",
    validUntil: Date.now() + HOUR_MS,
    buyerWalletVkey: buyer.vkey,
    month,
  } as const;
  const message = utf8ToBytes(buildSignedMessage(signed, PARTY));
  await call("POST /invoice/monthly", {
    body: {
      ...terms,
      ...signed,
      ...signCoseSign1(message, buyer.keys),
      walletAddress: buyer.address,
    },
  });
  await call("GET /invoice/monthly", { query: { month, limit: "10" } });
  await call("POST /signature/sign/create-invoice/monthly", {
    body: { buyerWalletVkey: buyer.vkey, month, action: signed.action, Buyer: PARTY },
  });
}

/** An administrator proves that it may see the data of a disputed job. */
export async function callReveal(call: Call, { escrows }: Scene): Promise<void> {
  const signed = {
    action: "RevealData",
    blockchainIdentifier: escrows.disputed.identifier,
    validUntil: Date.now() + HOUR_MS,
  };
  await call("POST /signature/verify/reveal-data", {
    body: {
      ...signed,
      ...signCoseSign1(utf8ToBytes(toCanonicalJson(signed)), ADMIN.keys),
      walletAddress: ADMIN.address,
    },
  });
}
