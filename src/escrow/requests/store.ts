import type { z } from "zod";
import { charge, throwIfOutOfCredits } from "../../api-keys/credits.ts";
import type { Funds } from "../../chain/network.ts";
import { type Database, type Statement, statement } from "../../db/client.ts";
import { stamp } from "../../db/clock.ts";
import { newId } from "../../db/id.ts";
import { wakeDispatcher } from "../../events/outbox.ts";
import { commitAudited } from "../../http/audit.ts";
import type { AppContext } from "../../http/context.ts";
import type { Remember } from "../../http/idempotency.ts";
import { ChangeSet } from "../fold/changes.ts";
import { hashOf } from "../fold/escrow-outputs.ts";
import { writeChanges } from "../fold/write-changes.ts";
import { type EscrowRecord, UNLOCKED } from "../record.ts";
import { render, STAMP, withHistories } from "../render.ts";
import { NOTHING_WANTED } from "../wanted.ts";
import type { quoteRecord } from "./schemas.ts";
import type { SignedQuote } from "./sign.ts";

export type ShownQuote = z.input<typeof quoteRecord>;

/** What a request for a quote is answered with, as it is remembered: JSON throughout. */
export interface MadeQuote {
  id: string;
  /** The record as it was made, with the placeholder of its change stamps. */
  doc: string;
  /** The rest of the answer. */
  more: Pick<ShownQuote, "metadata" | "Estimate" | "Warnings">;
}

/**
 * Writes a quote as a payment record, with its change stamps and its event, the charge for the call
 * and the audit row.
 *
 * @throws ApiError 402
 */
export async function makeQuote(
  c: AppContext,
  database: Database,
  {
    quote,
    warnings,
    metadata,
    now,
  }: { quote: SignedQuote; warnings: string[]; metadata: string | null; now: number },
  remember: Remember,
): Promise<MadeQuote> {
  const { source, agentIdentifier } = quote;
  const { network } = source;
  const record = recordOf(quote, c.var.caller.id, now);
  const changes = new ChangeSet([], now, 0);
  changes.want(record, NOTHING_WANTED);
  const made: MadeQuote = {
    id: record.id,
    doc: withHistories(render(record, { chain: true, action: true }), "payment"),
    more: { metadata, Estimate: shownEstimate(quote), Warnings: warnings },
  };
  const detail = { network, agentIdentifier, wallet: quote.wallet.id };
  await commitAudited(c, database, { action: "payment.create", target: record.id, detail, now }, [
    ...(await remember(made)),
    ...charge(c.var.caller, "payment"),
    ...writeChanges(changes, { sourceId: source.id, network }),
    insertRequest(record, metadata),
  ]).catch(throwIfOutOfCredits);
  await wakeDispatcher(c.env, c.var.requestId);
  return made;
}

function recordOf(quote: SignedQuote, requestedById: string, now: number): EscrowRecord {
  const { source, wallet, holder, times, price, blockchainIdentifier } = quote;
  return {
    id: newId(now),
    side: "payment",
    network: source.network,
    sourceId: source.id,
    sourceType: source.type,
    contractAddress: source.contractAddress,
    policyId: source.policyId,
    blockchainIdentifier,
    identifierHash: hashOf(blockchainIdentifier),
    requestedById,
    terms: {
      isRequested: true,
      agentIdentifier: quote.agentIdentifier,
      agentName: quote.agentName,
      pricingType: price.pricingType,
      inputHash: quote.inputHash,
      payByTime: String(times.payByTime),
      submitResultTime: String(times.submitResultTime),
      unlockTime: String(times.unlockTime),
      externalDisputeUnlockTime: String(times.externalDisputeUnlockTime),
      collateralReturn: null,
      buyer: null,
      buyerVkey: null,
      seller: holder.address,
      sellerVkey: holder.vkey,
      buyerReturnAddress: null,
      sellerReturnAddress: quote.sellerReturnAddress,
      funds: price.funds.map(({ unit, amount }) => ({ unit, amount })),
    },
    state: UNLOCKED,
    output: null,
    wanted: NOTHING_WANTED,
    wallet: { id: wallet.id, vkey: wallet.vkey, address: wallet.address },
    createdAt: now,
    updatedAt: now,
    lastCheckedAt: null,
    chainChangedAt: now,
    actionChangedAt: now,
    changedAt: now,
    sequence: 0,
    rev: -1,
  };
}

function insertRequest(
  { id, network, requestedById }: EscrowRecord,
  metadata: string | null,
): Statement {
  const at = stamp("escrow", network, 1, "0");
  return statement(
    `INSERT INTO escrow_request (record_id, requested_by_id, metadata, made_at)
     VALUES (?, ?, ?, ${at.sql})`,
    id,
    requestedById,
    metadata,
    ...at.params,
  );
}

/** The answer to a request: the same each time, whatever has become of the record. */
export async function shownQuote(
  database: Database,
  { id, doc, more }: MadeQuote,
): Promise<ShownQuote> {
  const [row] = await database.all<{ at: number }>(
    "SELECT made_at AS at FROM escrow_request WHERE record_id = ?",
    id,
  );
  if (!row) throw new Error("a quote was not written");
  const text = doc.replaceAll(STAMP, new Date(row.at).toISOString());
  return { ...JSON.parse(text), ...more };
}

function shownEstimate({ estimate }: SignedQuote): ShownQuote["Estimate"] {
  return {
    minimumNativeLock: String(estimate.minimumNativeLock),
    protocolFee: estimate.protocolFee.map(shownFunds),
    expectedNet: estimate.expectedNet.map(shownFunds),
  };
}

function shownFunds({ unit, amount }: Funds) {
  return { unit, amount: String(amount) };
}
