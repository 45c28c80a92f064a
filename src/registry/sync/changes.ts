import { computeNextAssetName } from "../../chain/contracts/registry-token.ts";
import { newId } from "../../db/id.ts";
import { log } from "../../log.ts";
import {
  type EntryRecord,
  type EntryState,
  isCheckable,
  UNMINTED_STATE,
} from "../entries/entry.ts";
import { readProfile } from "../entries/profile.ts";
import { isInboxMetadata } from "../metadata/inbox.ts";
import { readTokenMetadata } from "../metadata/load-token-metadata.ts";
import type { FollowedSource } from "./cursor.ts";
import type { MintTransaction } from "./read-mint.ts";

/** What one transaction did to one entry. */
export interface EntryStep {
  entryId: string;
  blockHeight: number;
  txIndex: number;
  txHash: string;
  before: EntryState;
}

/** What a run of transactions does to entries, folded in memory until it is written. */
export class EntryChanges {
  /** Changed entries by agent identifier; `revision` is that of the stored row, -1 for a new one. */
  readonly entries = new Map<string, EntryRecord>();
  /** Entries whose agent is to be checked anew, by id. */
  readonly recheckIds = new Set<string>();
  /** Steps to write. */
  readonly steps: EntryStep[] = [];
  /** Steps to delete. */
  readonly undoneSteps: EntryStep[] = [];
  /** Characters of the states that entries were put into, as JSON. */
  textLength = 0;
  /** Epoch milliseconds. */
  readonly now: number;
  readonly #knownEntries: Map<string, EntryRecord>;
  /** In chain order, by entry. */
  readonly #appliedSteps: Map<string, EntryStep[]>;

  /** @param done - steps that are written already, in chain order */
  constructor(known: EntryRecord[], done: Iterable<EntryStep>, now: number) {
    this.#knownEntries = new Map(known.map((entry) => [entry.agentIdentifier, entry]));
    this.#appliedSteps = Map.groupBy(done, ({ entryId }) => entryId);
    this.now = now;
  }

  /** The entry of a token as it is by now; a new one when there is none. */
  entryOf(source: FollowedSource, agentIdentifier: string): EntryRecord {
    return (
      this.entries.get(agentIdentifier) ??
      this.#knownEntries.get(agentIdentifier) ?? {
        id: newId(this.now),
        network: source.network,
        sourceId: source.id,
        policyId: source.policyId,
        sourceUrl: source.url,
        agentIdentifier,
        state: UNMINTED_STATE,
        health: "Offline",
        createdAt: this.now,
        revision: -1,
      }
    );
  }

  /** Whether a transaction was applied to an entry before. */
  isApplied(entry: EntryRecord, txHash: string): boolean {
    return this.#appliedStepsOf(entry).some((step) => step.txHash === txHash);
  }

  /**
   * Applies a transaction to an entry; each makes at most one step of it, whatever its bytes repeat.
   * Steps of transactions after it, which was listed late, are undone: those come again after it.
   *
   * @param replaced - see `setState`
   */
  advance(
    entry: EntryRecord,
    at: Omit<EntryStep, "entryId" | "before">,
    next: (before: EntryState) => EntryState,
    replaced?: EntryRecord,
  ): void {
    const done = this.#appliedStepsOf(entry);
    const later = done.filter(
      ({ blockHeight, txIndex }) =>
        blockHeight > at.blockHeight || (blockHeight === at.blockHeight && txIndex > at.txIndex),
    );
    const before = later[0]?.before ?? entry.state;
    const step = { ...at, entryId: entry.id, before };
    this.undoneSteps.push(...later);
    this.steps.push(step);
    this.#appliedSteps.set(entry.id, [...done.filter((one) => !later.includes(one)), step]);
    this.setState(entry, next(before), replaced);
  }

  /**
   * Puts an entry into another state; its health is reset if the agent's address changed.
   *
   * @param replaced - its former version, whose health it takes over
   */
  setState(entry: EntryRecord, state: EntryState, replaced?: EntryRecord): void {
    const { state: before, health } = replaced ?? entry;
    const isSameAgent =
      (replaced !== undefined || isCheckable(before)) &&
      before.profile?.apiBaseUrl === state.profile?.apiBaseUrl;
    if (!isSameAgent) this.recheckIds.add(entry.id);
    this.textLength += JSON.stringify(state).length;
    this.entries.set(entry.agentIdentifier, {
      ...entry,
      state,
      health: isSameAgent ? health : "Offline",
    });
  }

  #appliedStepsOf({ id }: EntryRecord): EntryStep[] {
    return this.#appliedSteps.get(id) ?? [];
  }
}

/**
 * Folds one transaction into a change set. Only what it mints and burns counts: tokens that it
 * spends, references, transfers or uses as collateral are not registered by it. One that failed
 * phase 2 minted nothing.
 */
export function applyMint(
  changes: EntryChanges,
  source: FollowedSource,
  read: MintTransaction,
): void {
  const { transaction: tx, blockPosition: at } = read;
  if (!tx.isValid) return;
  for (const { assetName, quantity } of tx.mint.filter(
    ({ policyId }) => policyId === source.policyId,
  )) {
    const entry = changes.entryOf(source, source.policyId + assetName);
    if (changes.isApplied(entry, tx.hash)) continue;
    const isKnown = entry.revision >= 0 || changes.entries.has(entry.agentIdentifier);
    const minted = quantity > 0n ? readMintedState(source, read, assetName) : null;
    // An inbox agent's token: the inbox handles its registration.
    if (!isKnown && minted === null) continue;
    const { blockHeight, txIndex } = at;
    changes.advance(
      entry,
      { blockHeight, txIndex, txHash: tx.hash },
      (before) => ({
        ...before,
        ...minted,
        supply: String(BigInt(before.supply) + quantity),
      }),
      quantity > 0n ? findReplacedEntry(changes, source, read, assetName) : undefined,
    );
  }
}

/** The entry of the token whose next version a transaction mints, and which it burns. */
function findReplacedEntry(
  changes: EntryChanges,
  source: FollowedSource,
  { transaction: { mint } }: MintTransaction,
  assetName: string,
): EntryRecord | undefined {
  const burned = mint.find(
    (one) =>
      one.policyId === source.policyId &&
      one.quantity < 0n &&
      computeNextAssetName(one.assetName) === assetName,
  );
  return burned && changes.entryOf(source, source.policyId + burned.assetName);
}

/**
 * What the minting transaction says of the token; null when it is not an agent's. The metadata is
 * untrusted: any error here makes the entry unreadable, and never stops the sync.
 */
function readMintedState(
  { policyId }: FollowedSource,
  { transaction: tx }: MintTransaction,
  assetName: string,
): Pick<EntryState, "profile" | "reason"> | null {
  try {
    const value = readTokenMetadata(tx, policyId + assetName);
    if (isInboxMetadata(value)) return null;
    const result = readProfile(value);
    return result.ok
      ? { profile: result.profile, reason: null }
      : { profile: null, reason: result.reason };
  } catch (error) {
    log("warn", "registry.metadata_unreadable", { tx: tx.hash, error: String(error) });
    return { profile: null, reason: "metadata: is not well-formed" };
  }
}
