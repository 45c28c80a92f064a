import { env } from "cloudflare:workers";
import { ed25519 } from "@noble/curves/ed25519.js";
import { formatAddress } from "../../src/chain/address.ts";
import { bytesToHex } from "../../src/chain/hex.ts";
import type { OnChainState } from "../../src/chain/network.ts";
import { hashKey } from "../../src/chain/wallet-keys.ts";
import { openDb } from "../../src/db/client.ts";
import { newId } from "../../src/db/id.ts";
import type { StoredFunds } from "../../src/escrow/model/escrow-record.ts";
import { ChangeSet } from "../../src/escrow/store/change-set.ts";
import { commitChanges } from "../../src/escrow/sync/commit-changes.ts";
import type { EscrowCursor } from "../../src/escrow/sync/cursor.ts";
import { buildSignedMessage } from "../../src/invoices/model/verify-buyer.ts";
import { insertCursor } from "../../src/sources/cursor.ts";
import { app } from "../support/app.ts";
import { makeRecord, stepTo } from "../support/sources/records.ts";

/** The buyer of the tests: a key that signs, and its wallet. */
const SECRET_KEY = new Uint8Array(32).fill(7);
export const BUYER_KEY = ed25519.getPublicKey(SECRET_KEY);
export const BUYER_VKEY = hashKey(BUYER_KEY);
export const BUYER_ADDRESS = formatAddress({
  network: "Preprod",
  payment: { kind: "key", hash: BUYER_VKEY },
  stake: null,
});
export const SELLER_VKEY = "22".repeat(28);
export const MONTH = "2025-09";
/** Unix seconds in that month. */
export const IN_MONTH = Date.UTC(2025, 8, 12) / 1000;

const ADDRESS = { city: "Berlin", zipCode: "10115", street: "Weg", streetNumber: "2" };
export const SELLER = {
  ...ADDRESS,
  country: "DE",
  companyName: "Agents GmbH",
  vatNumber: "DE123456789",
};
export const BUYER = {
  ...ADDRESS,
  country: "DE",
  name: "Bob",
  email: "bob@example.com",
  companyName: null,
};

/** A request that passes, unsigned: the native coin at half a cent per minor unit. */
export function request(overrides: Record<string, unknown> = {}) {
  return {
    buyerWalletVkey: BUYER_VKEY,
    month: MONTH,
    invoiceCurrency: "eur",
    CurrencyConversion: { "": 0.000005 },
    Invoice: { language: "en-gb", date: "2025-10-02" },
    vatRate: 0.19,
    Seller: SELLER,
    Buyer: BUYER,
    ...overrides,
  };
}

/** The same with the buyer's bare ed25519 signature. */
export function signed(overrides: Record<string, unknown> = {}) {
  const body = {
    ...request(overrides),
    walletAddress: BUYER_ADDRESS,
    validUntil: Date.now() + 3_600_000,
    action: "RetrieveMonthlyInvoices" as const,
  };
  const message = buildSignedMessage(body as never, body.Buyer as object);
  return {
    ...body,
    signature: bytesToHex(ed25519.sign(new TextEncoder().encode(message), SECRET_KEY)),
    key: bytesToHex(BUYER_KEY),
    ...overrides,
  };
}

export interface Answer {
  status: number;
  envelope: string;
  data: { invoice: string; cancellationInvoice?: string; [field: string]: unknown };
  message: string;
}

/** Asks the app, as the administrator unless a token is given. */
export async function send(
  method: "GET" | "POST",
  path: string,
  body?: unknown,
  options: { token?: string; env?: object; key?: string } = {},
): Promise<Answer> {
  const headers: Record<string, string> = { token: options.token ?? env.ADMIN_KEY ?? "" };
  if (options.key !== undefined) headers["idempotency-key"] = options.key;
  const answer = await app.request(
    `/api/v1/invoice/${path}`,
    { method, headers, ...(body !== undefined && { body: JSON.stringify(body) }) },
    { ...env, ...options.env },
  );
  const json = (await answer.json()) as {
    status: string;
    data: Answer["data"];
    error?: { message: string };
  };
  return {
    status: answer.status,
    envelope: json.status,
    data: json.data,
    message: json.error?.message ?? "",
  };
}

/** POST /invoice/monthly/internal for the buyer's month. */
export function ask(overrides: Record<string, unknown> = {}, options = {}): Promise<Answer> {
  return send("POST", "monthly/internal", { network: "Preprod", ...request(overrides) }, options);
}

export interface PaymentOptions {
  state?: OnChainState;
  /** Unix seconds of the transaction that brought it there. */
  blockTime?: number;
  /** Unix milliseconds. */
  unlockTime?: number;
  funds?: StoredFunds[];
  withdrawnForSeller?: StoredFunds[];
  sellerVkey?: string;
  buyerVkey?: string;
  agentIdentifier?: string;
}

/** Writes payments as sync does, each brought to its state by one transaction. */
export async function pay(...payments: PaymentOptions[]): Promise<string[]> {
  const now = Date.now();
  const sourceId = newId(now);
  await openDb(env).batch(insertCursor({ id: sourceId, network: "Preprod" }, null));
  const cursor: EscrowCursor = {
    sourceId,
    network: "Preprod",
    version: 0,
    recent: [],
    isComplete: true,
    tipHash: null,
  };
  const changes = new ChangeSet([], now, 100);
  const ids = payments.map((payment, index) => {
    const record = makeRecord("payment", { sourceId });
    const sellerVkey = payment.sellerVkey ?? SELLER_VKEY;
    record.terms = {
      ...record.terms,
      buyerVkey: payment.buyerVkey ?? BUYER_VKEY,
      sellerVkey,
      funds: payment.funds ?? [{ unit: "", amount: "2000000" }],
      unlockTime: String(payment.unlockTime ?? 1_800_025_200_000),
      agentIdentifier: payment.agentIdentifier ?? record.terms.agentIdentifier,
    };
    const onChainState = payment.state ?? "Withdrawn";
    changes.advance(
      record,
      stepTo(record, {
        onChainState,
        lock: {
          buyer: "addr_test1buyer",
          buyerVkey: payment.buyerVkey ?? BUYER_VKEY,
          buyerReturnAddress: null,
          sellerReturnAddress: null,
          collateralReturn: "0",
        },
        withdrawnForSeller: payment.withdrawnForSeller ?? [],
      }),
      {
        txHash: newId(now).padEnd(64, "0"),
        blockHeight: 100,
        txIndex: 0,
        blockTime: payment.blockTime ?? IN_MONTH + index,
      },
      "170000",
    );
    return record.id;
  });
  await commitChanges(openDb(env), cursor, changes, { recent: [], leaseUntil: now });
  return ids;
}

/** What was issued, in that order, without the papers. */
export async function documents() {
  const { results } = await env.DB.prepare(
    `SELECT id, base_id, kind, revision, year, sequence, number, content, pdf IS NOT NULL AS rendered
     FROM invoice_document ORDER BY rowid`,
  ).all<{
    id: string;
    base_id: string;
    kind: string;
    revision: number;
    year: number;
    sequence: number;
    number: string;
    content: string;
    rendered: number;
  }>();
  return results;
}
