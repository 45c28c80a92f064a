import { env } from "cloudflare:workers";
import { openDb } from "../../../src/db/client.ts";
import { newId } from "../../../src/db/id.ts";
import type { EscrowRecord, Side } from "../../../src/escrow/model/escrow-record.ts";
import { IDLE_PROGRESS } from "../../../src/escrow/model/intent.ts";
import { ChangeSet } from "../../../src/escrow/store/change-set.ts";
import { loadRecords } from "../../../src/escrow/store/load-records.ts";
import { writeChanges } from "../../../src/escrow/store/write-changes.ts";
import { BUYER_VKEY } from "../../invoices/support.ts";
import { HOUR, type Shown } from "../../support/escrow/quote-fixture.ts";
import { found } from "../../support/registry/registration-fixture.ts";
import { makeRecord, stepTo } from "../../support/sources/records.ts";
import { settle } from "../../support/sources/sync.ts";
import type { Service } from "../service.ts";
import { OWNER, type Wallets } from "./wallets.ts";

const MINUTE = 60_000;
export const RESULT = "ab".repeat(32);
/** Only the owner's key, keys that are bound to its wallets, and Admins are shown it. */
export const METADATA = "metadata of the record";
export const NONCE = "0123456789abcdef0123";

/** Months whose payments are on an invoice, and on none. */
export const BILLED_MONTH = "2025-09";
export const UNBILLED_MONTH = "2025-10";

/** Identifiers of locked escrows by what can be done with them. */
const LOCKED = ["locked", "disputed", "payable", "refundable", "failed"] as const;
export type LockedName = (typeof LOCKED)[number];

/** What the owner has sold and bought. */
export interface Escrows {
  identifiers: Readonly<Record<LockedName, string>>;
  payments: Shown[];
  purchases: Shown[];
  /** A quote that nothing is locked for, and one that is bought. */
  quoted: Shown;
  bought: Shown;
  purchase: Shown;
  billedId: string;
  unbilledId: string;
}

/** Has escrows locked and moved by the chain, and quotes made and bought by the API. */
export async function addEscrows(
  service: Service,
  { source, contract, seller, buyer, tokens }: Wallets,
  agentIdentifier: string,
): Promise<Escrows> {
  const { chain } = service;
  const now = Date.now();
  const parties = { version: contract.type, seller: seller.name, buyer: buyer.name };
  const soon = {
    payByTime: String(now + 5 * MINUTE),
    submitResultTime: String(now + 10 * MINUTE),
    unlockTime: String(now + 15 * MINUTE),
    externalDisputeUnlockTime: String(now + 20 * MINUTE),
  };
  const isSoon = (name: LockedName) => name === "payable" || name === "refundable";
  const locks = await chain.act(
    LOCKED.map((as) => {
      const times = isSoon(as) ? soon : {};
      return { do: "lock", as, ...parties, agentIdentifier, ...times };
    }),
  );
  const identifiers = Object.fromEntries(
    LOCKED.map((name, i) => [name, locks[i]?.escrows[0]?.identifier ?? ""]),
  ) as Record<LockedName, string>;
  await chain.act([
    { do: "submitResult", on: "disputed", resultHash: RESULT },
    { do: "requestRefund", on: "disputed" },
    { do: "submitResult", on: "payable", resultHash: RESULT },
    { do: "requestRefund", on: "refundable" },
  ]);
  await settle(chain, source.id, { env: { CHAIN_CLOCK: "tip" } });
  await chain.advance(30 * MINUTE);
  await chain.mine();
  await fail("payment", identifiers.failed, "SubmitResult");
  await fail("purchase", identifiers.failed, "SetRefundRequested");

  const quote = () =>
    service.made<Shown>(
      "POST /payment",
      {
        network: "Preprod",
        agentIdentifier,
        inputHash: "9f".repeat(32),
        identifierFromPurchaser: NONCE,
        payByTime: new Date(now + 2 * HOUR).toISOString(),
        submitResultTime: new Date(now + 3 * HOUR).toISOString(),
        supportedPaymentSourceIndex: 0,
        metadata: METADATA,
      },
      tokens.owner,
    );
  const [quoted, bought] = [await quote(), await quote()];
  const purchase = await service.made<Shown>("POST /purchase", makeOrder(bought), tokens.owner);
  const list = async (path: string) =>
    Object.values(
      await service.made<Record<string, Shown[]>>(`GET /${path}`, {
        network: "Preprod",
        limit: 100,
      }),
    )[0] ?? [];
  const place = { source, contract, seller };
  return {
    identifiers,
    payments: await list("payment"),
    purchases: await list("purchase"),
    quoted,
    bought,
    purchase,
    billedId: await addBillable(place, agentIdentifier, BILLED_MONTH),
    unbilledId: await addBillable(place, agentIdentifier, UNBILLED_MONTH),
  };
}

/** A body of `POST /purchase` that accepts a quote. */
export function makeOrder(quote: Shown): Record<string, unknown> {
  return {
    network: "Preprod",
    blockchainIdentifier: quote.blockchainIdentifier,
    agentIdentifier: quote.agentIdentifier,
    inputHash: quote.inputHash,
    sellerVkey: quote.sellerVKey,
    identifierFromPurchaser: NONCE,
    payByTime: quote.payByTime,
    submitResultTime: quote.submitResultTime,
    unlockTime: quote.unlockTime,
    externalDisputeUnlockTime: quote.externalDisputeUnlockTime,
    supportedPaymentSourceIndex: 0,
    sellerReturnAddress: quote.sellerReturnAddress,
    metadata: METADATA,
  };
}

/** Has a step of a record failed, so that a person decides. */
async function fail(
  side: Side,
  identifier: string,
  step: "SubmitResult" | "SetRefundRequested",
): Promise<void> {
  const sql = "SELECT id FROM escrow WHERE side = ?2 AND blockchain_identifier = unhex(?3)";
  const { records } = await loadRecords(openDb(env), [], sql, side, identifier);
  const record = found(records, () => true);
  const resultHash = side === "payment" ? RESULT : null;
  const ended = { id: newId(Date.now()), step, resultHash, by: OWNER, since: 1 };
  const error = {
    isManual: false,
    type: "Unknown",
    note: "It failed",
    txHash: null,
    endedIntent: ended,
  };
  const changes = new ChangeSet([record], Date.now(), 0);
  const { state, output, sourceId, network } = record;
  changes.rewind(record, { state, output, progress: { ...IDLE_PROGRESS, error } });
  await openDb(env).batch(writeChanges(changes, { sourceId, network }));
}

/** Writes a payment that became billable in a month, of the buyer whose key signs invoices. */
async function addBillable(
  { source, contract, seller }: Pick<Wallets, "source" | "contract" | "seller">,
  agentIdentifier: string,
  month: string,
): Promise<string> {
  const record: EscrowRecord = makeRecord("payment", {
    sourceId: source.id,
    sourceType: contract.type,
    contractAddress: contract.address,
    policyId: contract.policyId,
    requestedById: OWNER,
    wallet: { id: seller.id, vkey: seller.vkey, address: seller.address },
  });
  record.terms = {
    ...record.terms,
    agentIdentifier,
    buyerVkey: BUYER_VKEY,
    seller: seller.address,
    sellerVkey: seller.vkey,
    funds: [{ unit: "", amount: "2000003" }],
  };
  const now = Date.now();
  const changes = new ChangeSet([], now, 1);
  changes.advance(
    record,
    stepTo(record, {
      onChainState: "Withdrawn",
      lock: {
        buyer: "addr_test1buyer",
        buyerVkey: BUYER_VKEY,
        buyerReturnAddress: null,
        sellerReturnAddress: null,
        collateralReturn: "0",
      },
    }),
    {
      txHash: newId(now).padEnd(64, "0"),
      blockHeight: 1,
      txIndex: 0,
      blockTime: Date.parse(`${month}-12`) / 1000,
    },
    "170000",
  );
  await openDb(env).batch(writeChanges(changes, { sourceId: source.id, network: "Preprod" }));
  return record.id;
}
