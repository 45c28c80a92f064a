/** Payments and purchases to read, written by the service's own writer. */
import { randomBytes } from "node:crypto";
import type { OnChainState } from "../../src/chain/network.ts";
import { openDb } from "../../src/db/client.ts";
import { newId } from "../../src/db/id.ts";
import {
  type EscrowRecord,
  NO_LOCK_STATE,
  type Side,
  type WalletReference,
} from "../../src/escrow/model/escrow-record.ts";
import {
  IDLE_PROGRESS,
  type Intent,
  type Progress,
  type Step,
} from "../../src/escrow/model/intent.ts";
import { ChangeSet } from "../../src/escrow/store/change-set.ts";
import { commitChanges } from "../../src/escrow/sync/commit-changes.ts";
import type { EscrowCursor } from "../../src/escrow/sync/cursor.ts";
import { insertCursor } from "../../src/sources/cursor.ts";

/** Contracts of the records; only every fiftieth record is of the rare one. */
export const CONTRACTS = {
  first: { sourceType: "Web3ChainV1", contractAddress: addressLike("first") },
  second: { sourceType: "Web3ChainV2", contractAddress: addressLike("second") },
  rare: { sourceType: "Web3ChainV2", contractAddress: addressLike("rare") },
} as const;
const RARE_EVERY = 50;

/** As long as the address of a contract. */
function addressLike(name: string): string {
  return `addr_test1w${name.padEnd(52, "q")}`;
}

/** The transactions of a record. */
type Life = readonly { state: OnChainState; wants: Record<Side, Step> | null }[];

/** A current one and three past ones, with three past actions. */
const LIFE: Life = [
  { state: "FundsLocked", wants: null },
  {
    state: "ResultSubmitted",
    wants: { payment: "SubmitResult", purchase: "SetRefundRequested" },
  },
  { state: "Disputed", wants: null },
  { state: "ResultSubmitted", wants: null },
];

/** A sale that is over. */
export const SALE: Life = [
  { state: "FundsLocked", wants: null },
  {
    state: "ResultSubmitted",
    wants: { payment: "SubmitResult", purchase: "SetRefundRequested" },
  },
  { state: "Withdrawn", wants: null },
];

/** As long as the base address of a wallet. */
const walletAddress = `addr_test1q${"wallet".padEnd(97, "q")}`;

/** About what the service puts into one batch. */
const RECORDS_PER_BATCH = 40;
const DAY_MS = 24 * 60 * 60_000;
const BATCH_EVERY_MS = 60_000;

/**
 * Writes as many payments as purchases, in turns, changed in the order they are written.
 *
 * @param perSide - how many of each
 * @param begin - epoch milliseconds of the first change
 */
export async function loadRecords(
  d1: D1Database,
  perSide: number,
  { life = LIFE, begin = Date.now() - DAY_MS }: { life?: Life; begin?: number } = {},
): Promise<void> {
  const source = { id: "bench-source", network: "Preprod" } as const;
  const database = () => openDb({ DB: d1 }, source.network);
  await database().batch(insertCursor(source, null));
  const cursor: EscrowCursor = {
    sourceId: source.id,
    network: source.network,
    version: 0,
    recent: [],
    isComplete: true,
    tipHash: null,
  };
  const wallet = { id: newId(0), vkey: hex(28), address: walletAddress };
  let now = begin;
  let height = 1000;
  for (let first = 0; first < perSide * 2; first += RECORDS_PER_BATCH) {
    const changes = new ChangeSet([], now, height);
    for (let i = first; i < Math.min(first + RECORDS_PER_BATCH, perSide * 2); i++) {
      const record = newRecord(i, now, wallet);
      for (const [step, { state, wants }] of life.entries())
        changes.advance(
          record,
          {
            state: {
              ...record.state,
              onChainState: state,
              resultHash: state === "FundsLocked" ? "" : hex(32),
              utxo: state === "Withdrawn" ? null : `${hex(32)}#0`,
            },
            output: null,
            progress: wants === null ? IDLE_PROGRESS : wanting(wants[record.side], now),
            undo: { endedIntent: null, error: null, isErrorCleared: false, expiredAt: null },
          },
          {
            txHash: hex(32),
            blockHeight: height + step,
            txIndex: i - first,
            blockTime: Math.floor(now / 1000),
          },
          "171397",
        );
    }
    await commitChanges(database(), cursor, changes, { recent: [], leaseUntil: now });
    now += BATCH_EVERY_MS;
    height += life.length;
  }
  await d1
    .prepare("INSERT INTO chain_tip (network, height) VALUES (?, ?)")
    .bind(source.network, height)
    .run();
}

function newRecord(i: number, now: number, wallet: WalletReference): EscrowRecord {
  const side = i % 2 === 0 ? "payment" : "purchase";
  const ofSide = Math.floor(i / 2);
  const turn = ofSide % 2 === 0 ? "first" : "second";
  const contract = CONTRACTS[ofSide % RARE_EVERY === RARE_EVERY - 1 ? "rare" : turn];
  return {
    id: newId(now),
    side,
    network: "Preprod",
    sourceId: "bench-source",
    ...contract,
    policyId: hex(28),
    // As long as the identifier of a fixed price.
    blockchainIdentifier: hex(480),
    identifierHash: hex(32),
    requestedById: newId(0),
    terms: {
      agentIdentifier: hex(60),
      pricingType: "Fixed",
      inputHash: hex(32),
      payByTime: String(now),
      submitResultTime: String(now + DAY_MS),
      unlockTime: String(now + 2 * DAY_MS),
      externalDisputeUnlockTime: String(now + 3 * DAY_MS),
      collateralReturn: "0",
      buyer: walletAddress,
      buyerVkey: hex(28),
      seller: walletAddress,
      sellerVkey: hex(28),
      buyerReturnAddress: null,
      sellerReturnAddress: null,
      funds: [{ unit: "", amount: "10000000" }],
    },
    lastDeadlineWarning: null,
    state: NO_LOCK_STATE,
    output: null,
    progress: side === "purchase" ? wanting("FundsLocking", now) : IDLE_PROGRESS,
    wallet,
    createdAt: now,
    updatedAt: now,
    lastCheckedAt: null,
    chainChangedAt: now,
    actionChangedAt: now,
    changedAt: now,
    sequence: 0,
    revision: -1,
  };
}

/** A step that was asked for. */
function wanting(step: Step, since: number): Progress {
  const intent: Intent = { id: newId(since), step, resultHash: null, by: "automatic", since };
  return { ...IDLE_PROGRESS, intent };
}

function hex(bytes: number): string {
  return randomBytes(bytes).toString("hex");
}
