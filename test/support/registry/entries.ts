import { env } from "cloudflare:workers";
import { openDb } from "../../../src/db/client.ts";
import { newId } from "../../../src/db/id.ts";
import {
  ENTRY_COLUMNS,
  type EntryRecord,
  type EntryRow,
  type EntryState,
  toEntryRecord,
} from "../../../src/registry/entries/entry.ts";
import { readProfile } from "../../../src/registry/entries/profile.ts";
import { EntryChanges } from "../../../src/registry/sync/changes.ts";
import { commitChanges } from "../../../src/registry/sync/commit-changes.ts";
import { type RegistryCursor, readCursor } from "../../../src/registry/sync/cursor.ts";
import { insertRegistrySource, metadataOf } from "./registry-sync.ts";

export const POLICY = "ab".repeat(28);

/** The state of a registered agent. */
export function registered(name: string, overrides: Record<string, unknown> = {}): EntryState {
  const result = readProfile(metadataOf(name, overrides));
  if (!result.ok) throw new Error(result.reason);
  return { supply: "1", profile: result.profile, reason: null };
}

/** Writes entries as sync does, each call in one batch, without a chain. */
export class EntryWriter {
  readonly sourceId: string;
  readonly #cursor: RegistryCursor;
  readonly #policyId: string;

  private constructor(cursor: RegistryCursor, policyId: string) {
    this.sourceId = cursor.sourceId;
    this.#cursor = cursor;
    this.#policyId = policyId;
  }

  static async create(policyId = POLICY): Promise<EntryWriter> {
    const sourceId = await insertRegistrySource(policyId);
    const cursor = await readCursor(openDb(env), sourceId);
    if (!cursor) throw new Error("the source has no cursor");
    return new EntryWriter(cursor, policyId);
  }

  /** Registers agents, or puts those that are known (by name) into another state. */
  async write(states: Record<string, EntryState>, now = Date.now()): Promise<EntryRecord[]> {
    const names = Object.keys(states);
    const known = new Map((await this.read(names)).map((one) => [one.agentIdentifier, one]));
    const changes = new EntryChanges([...known.values()], new Set(), now);
    const source = { id: this.sourceId, network: "Preprod", policyId: this.#policyId, url: null };
    for (const [name, state] of Object.entries(states)) {
      const entry = changes.entryOf(source as never, this.identifier(name));
      changes.setState(entry, state);
    }
    await commitChanges(openDb(env), this.#cursor, changes, []);
    return this.read(names);
  }

  async read(names: string[]): Promise<EntryRecord[]> {
    const rows = await openDb(env).all<EntryRow>(
      `SELECT ${ENTRY_COLUMNS} FROM registry_entry
       WHERE source_id = ? AND agent_identifier IN (SELECT value FROM json_each(?))
       ORDER BY agent_identifier`,
      this.sourceId,
      JSON.stringify(names.map((name) => this.identifier(name))),
    );
    return rows.map(toEntryRecord);
  }

  identifier(name: string): string {
    return this.#policyId + Buffer.from(name).toString("hex");
  }

  /** A name that no agent has yet. */
  freshName(): string {
    return newId(Date.now());
  }
}
