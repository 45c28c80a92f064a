/** What the steps of an import share. */
import * as z from "zod";
import { ENV_ADMIN_ID } from "../../src/api-keys/find-key.ts";
import { openDb, type Statement } from "../../src/db/client.ts";
import type { SourceRow } from "../../src/sources/source-row.ts";
import type { WalletRow } from "../../src/wallets/managed/tables.ts";
import type { PeerData, PeerRow, PeerTable } from "./peer-database.ts";
import type { PeerSecrets } from "./peer-secrets.ts";

/** Why a row is left out, in words for the operator. */
export class LeftOut extends Error {
  override name = "LeftOut";
}

export type ImportedSource = Pick<
  SourceRow,
  "id" | "network" | "type" | "contractAddress" | "policyId"
>;
export type ImportedWallet = Pick<
  WalletRow,
  "id" | "sourceId" | "network" | "role" | "vkey" | "address"
>;

/** Secrets of this service. */
export interface ServiceSecrets {
  SEALING_KEYS: string;
  API_KEY_SECRET: string;
}

/** The ids and the unique names that each table of this service has, and its sources and wallets in use. */
export interface PresentRows {
  names: Map<string, Set<string>>;
  sources: ImportedSource[];
  wallets: ImportedWallet[];
}

/** Statements that write a row. `present`: an earlier run has written the row. */
export type Conversion = Statement[] | "present";

/** One run: what it reads, and what it has imported so far, by the ids of the other service. */
export class ImportContext {
  /** Builds statements only: no call reaches a database. */
  readonly database = openDb({ DB: {} as D1Database });
  readonly orm = this.database.orm;
  readonly sources = new Map<string, ImportedSource>();
  readonly wallets = new Map<string, ImportedWallet>();
  readonly keyIds = new Set<string>();
  /** Records by the ids there, such as registrations. */
  readonly recordIds = new Map<string, string>();
  /** Lines that people read once: new secrets. */
  readonly newSecrets: string[] = [];
  readonly #notes = new Map<string, number>();
  readonly #indexes = new Map<string, Map<unknown, PeerRow[]>>();

  readonly env: ServiceSecrets;
  readonly secrets: PeerSecrets;
  readonly data: PeerData;
  readonly present: PresentRows;
  /** Epoch milliseconds. */
  readonly now: number;

  constructor(
    env: ServiceSecrets,
    secrets: PeerSecrets,
    data: PeerData,
    present: PresentRows,
    now: number,
  ) {
    this.env = env;
    this.secrets = secrets;
    this.data = data;
    this.present = present;
    this.now = now;
  }

  /** The rows of a table whose column has a value. */
  findRows(table: PeerTable, column: string, value: unknown): PeerRow[] {
    const name = `${table}.${column}`;
    let index = this.#indexes.get(name);
    if (!index) {
      index = Map.groupBy(this.data.tables[table], (row) => row[column]);
      this.#indexes.set(name, index);
    }
    return value === null || value === undefined ? [] : (index.get(value) ?? []);
  }

  findRow(table: PeerTable, id: unknown): PeerRow | undefined {
    return this.findRows(table, "id", id)[0];
  }

  /** The payment source of a row. @throws LeftOut */
  requireSource(id: string): ImportedSource {
    const source = this.sources.get(id);
    if (!source) throw new LeftOut("its payment source is left out");
    return source;
  }

  /** The wallet of a row. @throws LeftOut */
  requireWallet(id: string): ImportedWallet {
    const wallet = this.wallets.get(id);
    if (!wallet) throw new LeftOut("its wallet is left out");
    return wallet;
  }

  /** The owner of an imported row: an Admin where its key was not imported. */
  ownerOf(keyId: string | null): string {
    return keyId !== null && this.keyIds.has(keyId) ? keyId : ENV_ADMIN_ID;
  }

  /**
   * Claims an id and a unique name for a row.
   *
   * @returns false: the row is there from an earlier run
   * @throws LeftOut when another row has the name
   */
  claim(table: string, id: string, name: string, reason: string): boolean {
    const names = this.present.names.get(table) ?? new Set();
    this.present.names.set(table, names);
    if (names.has(id)) return false;
    if (names.has(name)) throw new LeftOut(reason);
    names.add(id).add(name);
    return true;
  }

  /** Counts something that the operator should know. */
  note(text: string): void {
    this.#notes.set(text, (this.#notes.get(text) ?? 0) + 1);
  }

  get notes(): string[] {
    return [...this.#notes].map(([text, count]) => `${count} × ${text}`);
  }
}

/** One kind of row: where it is there, and what becomes of it here. */
export interface Kind {
  name: string;
  table: PeerTable;
  /** Whether a row of the table is of this kind. Left out: every row is. */
  includes?: (row: PeerRow) => boolean;
  /** @throws LeftOut, or another error with the reason for people */
  convert(row: PeerRow, context: ImportContext): Promise<Conversion>;
}

/** A kind whose rows are checked first. A row that the schema refuses is left out. */
export function defineKind<Schema extends z.ZodType>(kind: {
  name: string;
  table: PeerTable;
  includes?: (row: PeerRow) => boolean;
  schema: Schema;
  convert(row: z.output<Schema>, context: ImportContext): Conversion | Promise<Conversion>;
}): Kind {
  return {
    name: kind.name,
    table: kind.table,
    ...(kind.includes && { includes: kind.includes }),
    convert: async (row, context) => kind.convert(parseRow(kind.schema, row), context),
  };
}

/** @throws LeftOut for a row that the schema refuses */
export function parseRow<Schema extends z.ZodType>(schema: Schema, row: unknown): z.output<Schema> {
  const parsed = schema.safeParse(row);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  const isUnknown = issue?.code === "invalid_value";
  const problem = isUnknown ? "has a value that is not known here" : issue?.message;
  throw new LeftOut(`${issue?.path[0]?.toString()}: ${problem}`);
}

export const text = z.string();
export const optionalText = z.string().nullable();
/** Epoch milliseconds. */
export const time = z.number();
export const optionalTime = z.number().nullable();
/** A BIGINT. */
export const amount = z.string().regex(/^\d+$/, "must be a whole number");
/** The generations of the contract, by their names there. */
export const sourceType = z
  .enum(["Web3CardanoV1", "Web3CardanoV2"])
  .transform((name) => (name === "Web3CardanoV1" ? "Web3ChainV1" : "Web3ChainV2"));
