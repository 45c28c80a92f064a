import { mkdirSync } from "node:fs";
import { dirname } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { bytesToHex, hexToBytes } from "@noble/hashes/utils.js";
import type { ClockState } from "./clock.ts";

/** Something that happened to a chain. A chain to which the same things happen is the same chain. */
export type ChainEvent =
  /** The genesis block was made; always the first event. */
  | { kind: "began"; slot: number }
  /** A node, at a slot, took a transaction into its mempool. */
  | { kind: "accepted"; slot: number; cbor: Uint8Array; node: number; isReplayed: boolean }
  /** A node's mempool became a block; the scripts of those of `failed` had failed. */
  | { kind: "mined"; slot: number; hash: string; node: number; failed: readonly string[] }
  /** A node dropped these transactions, or all, from its mempool. */
  | { kind: "evicted"; node: number; hashes?: readonly string[] }
  | { kind: "rolledBack"; blocks: number }
  | { kind: "clock"; state: ClockState };

/** All that happened to one chain, kept in a file. */
export interface Journal {
  /** In the order in which they happened; none for a new chain. */
  events(): ChainEvent[];
  /** Returns when the event would outlive this process. */
  append(event: ChainEvent): void;
  close(): void;
}

const OPEN = `
  PRAGMA locking_mode = EXCLUSIVE;
  PRAGMA journal_mode = WAL;
  PRAGMA synchronous = NORMAL;
  BEGIN EXCLUSIVE;
  CREATE TABLE IF NOT EXISTS event (id INTEGER PRIMARY KEY, event TEXT NOT NULL) STRICT;
  COMMIT`;
const SQLITE_BUSY = 5;

/**
 * Opens the journal in a file, which is made when there is none. SQLite keeps what was written when
 * the process is killed, and a lock that ends with the process.
 *
 * @throws when another process has it open.
 */
export function openJournal(path: string): Journal {
  mkdirSync(dirname(path), { recursive: true });
  const file = new DatabaseSync(path);
  try {
    file.exec(OPEN);
  } catch (error) {
    file.close();
    if ((error as { errcode?: number }).errcode !== SQLITE_BUSY) throw error;
    throw new Error(`${dirname(path)} is in use by another copy`);
  }
  const select = file.prepare("SELECT event FROM event ORDER BY id");
  const insert = file.prepare("INSERT INTO event (event) VALUES (?)");
  return {
    events: () => select.all().map(({ event }) => JSON.parse(String(event), reviveBytes)),
    append: (event) => void insert.run(JSON.stringify(event, replaceBytes)),
    close: () => file.close(),
  };
}

/** Bytes stand as hex in JSON. */
function replaceBytes(_name: string, value: unknown): unknown {
  return value instanceof Uint8Array ? bytesToHex(value) : value;
}

function reviveBytes(name: string, value: unknown): unknown {
  return name === "cbor" ? hexToBytes(String(value)) : value;
}
