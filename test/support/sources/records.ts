import type { OnChainState } from "../../../src/chain/network.ts";
import { openDb } from "../../../src/db/client.ts";
import { newId } from "../../../src/db/id.ts";
import {
  type EscrowRecord,
  hashIdentifier,
  NO_LOCK_STATE,
  type Side,
} from "../../../src/escrow/model/escrow-record.ts";
import { IDLE_PROGRESS } from "../../../src/escrow/model/intent.ts";
import { type ChainStep, ChangeSet } from "../../../src/escrow/store/change-set.ts";
import { commitChanges } from "../../../src/escrow/sync/commit-changes.ts";
import type { EscrowCursor } from "../../../src/escrow/sync/cursor.ts";
import { insertCursor } from "../../../src/sources/cursor.ts";

const HASH = "ab".repeat(32);

/** A record as the first lock of an escrow makes it, before it is written. */
export function makeRecord(side: Side, overrides: Partial<EscrowRecord> = {}): EscrowRecord {
  const now = Date.now();
  const id = overrides.id ?? newId(now);
  const blockchainIdentifier = overrides.blockchainIdentifier ?? `${id}${HASH.repeat(12)}`;
  return {
    id,
    side,
    network: "Preprod",
    sourceId: "source-a",
    sourceType: "Web3ChainV1",
    contractAddress: "addr_test1wcontract",
    policyId: "00".repeat(28),
    blockchainIdentifier,
    identifierHash: hashIdentifier(blockchainIdentifier),
    requestedById: "key-a",
    terms: {
      agentIdentifier: HASH,
      pricingType: "Fixed",
      inputHash: HASH,
      payByTime: "1800000000000",
      submitResultTime: "1800003600000",
      unlockTime: "1800025200000",
      externalDisputeUnlockTime: "1800046800000",
      collateralReturn: "0",
      buyer: "addr_test1buyer",
      buyerVkey: "11".repeat(28),
      seller: "addr_test1seller",
      sellerVkey: "22".repeat(28),
      buyerReturnAddress: null,
      sellerReturnAddress: null,
      funds: [{ unit: "", amount: "5000000" }],
    },
    state: NO_LOCK_STATE,
    output: null,
    lastDeadlineWarning: null,
    progress: IDLE_PROGRESS,
    wallet: { id: "wallet-a", vkey: "22".repeat(28), address: "addr_test1seller" },
    createdAt: now,
    updatedAt: now,
    lastCheckedAt: null,
    chainChangedAt: now,
    actionChangedAt: now,
    changedAt: now,
    sequence: 0,
    revision: -1,
    ...overrides,
  };
}

/** A step that changes what was found alone. */
export function stepTo(
  { state, output, progress }: EscrowRecord,
  found: Partial<ChainStep["state"]> & Pick<ChainStep["state"], "onChainState">,
): ChainStep {
  const undo = { endedIntent: null, error: progress.error, isErrorCleared: false, expiredAt: null };
  return { state: { ...state, ...found }, output, progress, undo };
}

/** Writes records and their changes as sync does, each call in one batch. */
export class Writer {
  readonly #d1: D1Database;
  readonly #cursor: EscrowCursor;
  #height = 100;

  private constructor(d1: D1Database, cursor: EscrowCursor) {
    this.#d1 = d1;
    this.#cursor = cursor;
  }

  static async create(d1: D1Database, sourceId = "source-a"): Promise<Writer> {
    await openDb({ DB: d1 }).batch(insertCursor({ id: sourceId, network: "Preprod" }, null));
    return new Writer(d1, {
      sourceId,
      network: "Preprod",
      version: 0,
      recent: [],
      isComplete: true,
      tipHash: null,
    });
  }

  /** Moves each record to a new result hash, and returns those hashes by record id. */
  async change(
    records: EscrowRecord[],
    now = Date.now(),
    onChainState: OnChainState = "ResultSubmitted",
  ): Promise<Map<string, string>> {
    const height = this.#height++;
    const changes = new ChangeSet([], now, height);
    const results = new Map<string, string>();
    for (const record of records) {
      const txHash = newId(now).padEnd(64, "0");
      const resultHash = newId(now);
      results.set(record.id, resultHash);
      changes.advance(
        record,
        stepTo(record, { onChainState, resultHash }),
        { txHash, blockHeight: height, txIndex: 0, blockTime: Math.floor(now / 1000) },
        "170000",
      );
    }
    await commitChanges(openDb({ DB: this.#d1 }), this.#cursor, changes, {
      recent: [],
      leaseUntil: now,
    });
    for (const record of records) record.revision++;
    return results;
  }
}
