import { TOKEN_METADATA_LABEL, tokenMetadata } from "../chain/token-metadata.ts";
import { newId } from "../db/id.ts";
import { log } from "../log.ts";
import type { FollowedSource } from "./cursor.ts";
import { type EntryRecord, type EntryState, isChecked, NEVER_MINTED } from "./entry.ts";
import type { ReadMint } from "./listing.ts";
import { isInboxMetadata, readProfile } from "./profile.ts";

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
  /** Changed entries by agent identifier; `rev` is that of the stored row, -1 for a new one. */
  readonly entries = new Map<string, EntryRecord>();
  /** Entries whose agent is to be checked anew, by id. */
  readonly recheck = new Set<string>();
  readonly steps: EntryStep[] = [];
  /** Characters of the states that entries were put into, as JSON. */
  textLength = 0;
  /** Epoch milliseconds. */
  readonly now: number;
  readonly #known: Map<string, EntryRecord>;
  readonly #done: Set<string>;

  /** @param done - names of the steps that are written already, as `stepName` makes them */
  constructor(known: EntryRecord[], done: Set<string>, now: number) {
    this.#known = new Map(known.map((entry) => [entry.agentIdentifier, entry]));
    this.#done = done;
    this.now = now;
  }

  /** The entry of a token as it is by now; a new one when there is none. */
  entryOf(source: FollowedSource, agentIdentifier: string): EntryRecord {
    return (
      this.entries.get(agentIdentifier) ??
      this.#known.get(agentIdentifier) ?? {
        id: newId(this.now),
        network: source.network,
        sourceId: source.id,
        policyId: source.policyId,
        sourceUrl: source.url,
        agentIdentifier,
        state: NEVER_MINTED,
        health: "Offline",
        createdAt: this.now,
        rev: -1,
      }
    );
  }

  /** Whether a transaction was applied to an entry before. */
  isDone(entry: EntryRecord, txHash: string): boolean {
    return this.#done.has(stepName(entry.id, txHash));
  }

  /** Puts an entry into another state; what it was checked for counts no more if the agent moved. */
  change(entry: EntryRecord, state: EntryState): void {
    const before = entry.state;
    const isSameAgent =
      isChecked(before) && before.profile?.apiBaseUrl === state.profile?.apiBaseUrl;
    if (!isSameAgent) this.recheck.add(entry.id);
    this.textLength += JSON.stringify(state).length;
    this.entries.set(entry.agentIdentifier, {
      ...entry,
      state,
      health: isSameAgent ? entry.health : "Offline",
    });
  }
}

/** Names the step of a transaction on an entry. */
export function stepName(entryId: string, txHash: string): string {
  return `${entryId} ${txHash}`;
}

/**
 * Folds one transaction into a change set. Only what it mints and burns counts: whatever else it
 * spends, looks at, carries along or puts up as collateral is nobody's registration. One that
 * failed phase 2 minted nothing.
 */
export function applyMint(changes: EntryChanges, source: FollowedSource, read: ReadMint): void {
  const { tx, at } = read;
  if (!tx.isValid) return;
  for (const { assetName, quantity } of tx.mint.filter(
    ({ policyId }) => policyId === source.policyId,
  )) {
    const entry = changes.entryOf(source, source.policyId + assetName);
    if (changes.isDone(entry, tx.hash)) continue;
    const isKnown = entry.rev >= 0 || changes.entries.has(entry.agentIdentifier);
    const minted = quantity > 0n ? readMinted(source, read, assetName) : null;
    // An inbox agent's token, whose registration is the inbox's business.
    if (!isKnown && minted === null) continue;
    changes.steps.push({
      entryId: entry.id,
      blockHeight: at.blockHeight,
      txIndex: at.txIndex,
      txHash: tx.hash,
      before: entry.state,
    });
    const supply = String(BigInt(entry.state.supply) + quantity);
    changes.change(entry, { ...entry.state, ...minted, supply });
  }
}

/**
 * What the minting transaction says of the token; null when it is not an agent's. A stranger wrote it,
 * so whatever goes wrong here is an entry that cannot be read, and never the end of the sync.
 */
function readMinted(
  { policyId }: FollowedSource,
  { tx }: ReadMint,
  assetName: string,
): Pick<EntryState, "profile" | "reason"> | null {
  const label = tx.metadata.get(TOKEN_METADATA_LABEL);
  try {
    const value = label && tokenMetadata(label, policyId, assetName);
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
