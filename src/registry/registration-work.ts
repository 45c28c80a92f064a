import type { WalletKeys } from "../chain/keys.ts";
import { type Provider, ProviderError, ScriptFailed } from "../chain/provider.ts";
import { registryAssetName } from "../chain/registry-token.ts";
import { WalletShort } from "../chain/wallet-selection.ts";
import { TransactionTooLarge } from "../chain/wallet-transaction.ts";
import type { Database } from "../db/client.ts";
import { log } from "../log.ts";
import type { RegistrationTransaction } from "./registration.ts";
import { isInitiated, openPurpose, type Purpose } from "./registration-states.ts";
import { moveRegistration, type RegistrationChange } from "./registration-store.ts";
import type { RegistrationRow } from "./registration-tables.ts";
import {
  NotOnChain,
  type PreparedTransaction,
  prepareTransaction,
} from "./registration-transaction.ts";

/** What a wallet works with. */
export interface WalletContext {
  /** With `writes: "idempotent"`. */
  db: Database;
  /** Of the registration's payment source. */
  provider: Provider;
  /** Opens the wallet's keys; called only when there is something to sign. */
  keys(): Promise<WalletKeys>;
  /** Confirmations a transaction needs before it counts, at least 1. */
  threshold: number;
  /** Epoch milliseconds. */
  now(): number;
}

/** The wallet that should sign is not managed any more. */
export class WalletGone extends Error {
  override name = "WalletGone";
}

/** A transaction under way is looked for this often. */
const CHECK_MS = 10_000;
/** Slots (seconds) after its validity in which a provider may still be late in showing it. */
const LATE_SLOTS = 120;
/** After so many tries in vain a registration fails. */
const MAX_TRIES = 5;
const FIRST_PAUSE_MS = 5_000;
const PROVIDER_PAUSE_MS = 30_000;
const LONGEST_PAUSE_MS = 5 * 60_000;

/** Errors whose message tells the owner what to do. Those of the second list may pass by waiting. */
const FINAL = [TransactionTooLarge, WalletGone];
const MAY_PASS = [WalletShort, NotOnChain, ScriptFailed];

/**
 * Does what a wallet has to do next: reconcile the transaction that is under way, or build, sign,
 * store and send one. What was stored is all that a later run needs, so it may be stopped anywhere.
 *
 * @param row - as `nextOfWallet` gives it
 * @returns when to go on with what is next then, epoch milliseconds
 * @throws ProviderError, DatabaseUnavailable, StaleRegistration: nothing is lost by any
 */
export async function workNext(context: WalletContext, row: RegistrationRow): Promise<number> {
  const { now } = context;
  if (row.dueAt !== null && row.dueAt > now() && !isInitiated(row.state)) return row.dueAt;
  const moved = isInitiated(row.state) ? await reconcile(context, row) : await begin(context, row);
  return isInitiated(moved.state) ? now() + CHECK_MS : now();
}

/**
 * Gives up a registration whose payment source was removed: there is no provider to ask any more.
 *
 * @throws StaleRegistration
 */
export async function failWithoutSource(
  db: Database,
  row: RegistrationRow,
  now: number,
): Promise<void> {
  const reason =
    "its payment source was removed; what it sent to the network before may still land";
  await moveRegistration(db, row, failed(row, reason), now);
}

/** Builds, signs, stores and sends the transaction of a registration that waits for it. */
async function begin(context: WalletContext, row: RegistrationRow): Promise<RegistrationRow> {
  const { db, provider, now } = context;
  const purpose = purposeOf(row);
  let next: { landed: RegistrationTransaction } | { prepared: PreparedTransaction };
  try {
    const landed = await landedBefore(provider, row);
    next = landed
      ? { landed }
      : {
          prepared: await prepareTransaction(provider, row, purpose, await context.keys(), now()),
        };
  } catch (error) {
    return moveRegistration(db, row, afterFailure(row, error, now()), now());
  }
  if ("landed" in next)
    return moveRegistration(
      db,
      row,
      {
        state: `${purpose}Initiated`,
        agentIdentifier: row.agentIdentifier ?? identifierOfSeed(row),
        tx: { ...next.landed, status: "Pending" },
      },
      now(),
    );
  const { cbor, hash, fee, agentIdentifier, seed, validTo } = next.prepared;
  const stored = await moveRegistration(
    db,
    row,
    {
      state: `${purpose}Initiated`,
      error: null,
      agentIdentifier,
      seed,
      tx: {
        hash,
        status: "Pending",
        validTo,
        fees: String(fee),
        blockHeight: null,
        blockTime: null,
      },
      txCbor: Buffer.from(cbor).toString("hex"),
      dueAt: now(),
    },
    now(),
  );
  const refusal = await send(provider, stored);
  // Nobody else has these bytes yet, so the refusal is final for them.
  if (refusal === null) return stored;
  return moveRegistration(
    db,
    stored,
    tryAgain(
      stored,
      "FailedViaManualReset",
      `the network refused the transaction: ${refusal}`,
      now(),
    ),
    now(),
  );
}

/**
 * The transaction of an earlier try that was given up, if the chain has it after all. A minting is
 * known by its token too, which every try would give the same name: so it is found when the provider
 * does not show the transaction yet, or when a later try has taken its place.
 */
async function landedBefore(
  provider: Provider,
  row: RegistrationRow,
): Promise<RegistrationTransaction | null> {
  const { tx } = row;
  if (tx === null) return null;
  if ((await provider.transaction(tx.hash)) !== null) return tx;
  const token = purposeOf(row) === "Registration" ? identifierOfSeed(row) : null;
  const minted = token && (await provider.assetMetadata(token));
  return minted ? { ...tx, hash: minted.mintTxHash } : null;
}

/** Finds out what became of a transaction that may be under way, and sends it again if need be. */
async function reconcile(context: WalletContext, row: RegistrationRow): Promise<RegistrationRow> {
  const { db, provider, now, threshold } = context;
  const { tx } = row;
  if (tx === null) throw new Error(`registration ${row.id} has no transaction`);
  const found = await provider.transaction(tx.hash);
  const tip = await provider.latestBlock();
  if (found === null) {
    if (tip.slot > tx.validTo + LATE_SLOTS) return giveUp(context, row, tx);
    if (tip.slot < tx.validTo) await send(provider, row);
    return row;
  }
  const { blockHeight, blockTime, validContract } = found;
  const confirmed = { ...tx, status: "Confirmed" as const, blockHeight, blockTime };
  const settled = { tx: confirmed, dueAt: null, failures: 0, lastCheckedAt: now() };
  if (!validContract)
    return moveRegistration(
      db,
      row,
      {
        ...failed(row, "the policy's script refused the transaction, and the collateral was taken"),
        ...settled,
      },
      now(),
    );
  if (tip.height - blockHeight + 1 < threshold) return row;
  const state = `${purposeOf(row)}Confirmed` as const;
  return moveRegistration(db, row, { ...settled, state, error: null }, now());
}

/** What becomes of a transaction that the chain does not have, and can take no more. */
async function giveUp(
  { db, provider, now }: WalletContext,
  row: RegistrationRow,
  tx: RegistrationTransaction,
): Promise<RegistrationRow> {
  const landed = await landedBefore(provider, row);
  // The token is there: the transaction will show as well.
  if (landed?.hash === tx.hash) return row;
  const reason = "the network did not take the transaction in time";
  const change = landed ? { tx: landed } : tryAgain(row, "FailedViaTimeout", reason, now());
  return moveRegistration(db, row, change, now());
}

/**
 * Hands the stored bytes to the network. Sending the same bytes twice makes one transaction.
 *
 * @returns why they were refused; null when they were taken, or nobody knows
 */
async function send(provider: Provider, { id, tx, txCbor }: RegistrationRow) {
  if (txCbor === null) return null;
  try {
    const answer = await provider.submit(Buffer.from(txCbor, "hex"));
    return answer?.refused ?? null;
  } catch (error) {
    log("warn", "registration.submit_unknown", { id, tx: tx?.hash, error: String(error) });
    return null;
  }
}

function purposeOf(row: RegistrationRow): Purpose {
  const purpose = openPurpose(row.state);
  if (purpose === null) throw new Error(`registration ${row.id} is ${row.state}, yet due`);
  return purpose;
}

/** What becomes of a registration whose transaction could not be built. */
function afterFailure(row: RegistrationRow, error: unknown, now: number): RegistrationChange {
  if (FINAL.some((kind) => error instanceof kind)) return failed(row, (error as Error).message);
  // The provider's troubles are not the registration's: it waits as long as they last.
  if (error instanceof ProviderError && !error.permanent)
    return {
      error: `waits for the chain provider: ${error.message}`,
      dueAt: Math.max(error.retryAt ?? 0, now + PROVIDER_PAUSE_MS),
    };
  const isClear = error instanceof ProviderError || MAY_PASS.some((kind) => error instanceof kind);
  if (!isClear) log("error", "registration.failed", { id: row.id, error: String(error) });
  return tryAgain(
    row,
    null,
    isClear ? (error as Error).message : "internal error, see the log",
    now,
  );
}

/** Back to where it waits for another transaction, after a pause; too often is a failure. */
function tryAgain(
  row: RegistrationRow,
  status: "FailedViaTimeout" | "FailedViaManualReset" | null,
  reason: string,
  now: number,
): RegistrationChange {
  const failures = row.failures + 1;
  const tx = row.tx && { ...row.tx, status: status ?? row.tx.status };
  if (failures >= MAX_TRIES) return { ...failed(row, reason), tx, failures };
  const pause = Math.min(FIRST_PAUSE_MS * 2 ** row.failures, LONGEST_PAUSE_MS);
  return {
    state: `${purposeOf(row)}Requested`,
    error: reason,
    ...withoutToken(row),
    tx,
    txCbor: null,
    failures,
    dueAt: now + pause,
  };
}

function failed(row: RegistrationRow, reason: string): RegistrationChange {
  return {
    state: `${purposeOf(row)}Failed`,
    error: reason,
    ...withoutToken(row),
    txCbor: null,
    dueAt: null,
  };
}

/** A token that was never minted has no name. */
function withoutToken(row: RegistrationRow): RegistrationChange {
  return purposeOf(row) === "Registration" ? { agentIdentifier: null } : {};
}

function identifierOfSeed({ policyId, sourceType, seed }: RegistrationRow): string | null {
  const [txHash = "", index] = seed?.split("#") ?? [];
  if (index === undefined) return null;
  return policyId + registryAssetName(sourceType, { txHash, index: Number(index) });
}
