/** Plans how the data of another service comes into the database of this one. */
import { ENV_ADMIN_ID } from "../../src/api-keys/find-key.ts";
import { type Statement, statement } from "../../src/db/client.ts";
import { newId } from "../../src/db/id.ts";
import type { AuditAction } from "../../src/http/audit-actions.ts";
import type { MigratedDatabase } from "../operate/apply-migrations.ts";
import {
  ImportContext,
  type ImportedSource,
  type ImportedWallet,
  type Kind,
  LeftOut,
  type PresentRows,
  type ServiceSecrets,
} from "./import-context.ts";
import { apiKeys } from "./kinds/api-keys.ts";
import { billedPayments } from "./kinds/billed-payments.ts";
import { payments, purchases } from "./kinds/escrows.ts";
import { paymentSources } from "./kinds/payment-sources.ts";
import { inboxRegistrations, registrations } from "./kinds/registrations.ts";
import { rules, x402Rules } from "./kinds/rules.ts";
import { wallets } from "./kinds/wallets.ts";
import { webhooks } from "./kinds/webhooks.ts";
import { x402Budgets, x402Networks, x402Sources, x402Wallets } from "./kinds/x402.ts";
import type { PeerData } from "./peer-database.ts";
import type { PeerSecrets } from "./peer-secrets.ts";
import { toSqlText } from "./target-database.ts";

/** In an order in which each row finds what it refers to. */
const KINDS: readonly Kind[] = [
  paymentSources,
  wallets,
  apiKeys,
  rules,
  registrations,
  inboxRegistrations,
  payments,
  purchases,
  x402Wallets,
  x402Networks,
  x402Budgets,
  x402Rules,
  x402Sources,
  webhooks,
  billedPayments,
];

/** What became of the rows of a kind. */
export interface Tally {
  kind: string;
  found: number;
  /** Rows to import. */
  added: number;
  /** Rows from an earlier run. */
  present: number;
  /** Ids of the rows that are left out, by reason. */
  leftOut: Map<string, string[]>;
}

export interface ImportReport {
  tallies: Tally[];
  omitted: PeerData["omitted"];
  notes: string[];
  /** Lines with new secrets, which no later run can show. */
  newSecrets: string[];
}

/** What an import does. */
export interface ImportPlan {
  report: ImportReport;
  /** SQL that imports everything in one transaction; none: there is nothing new. */
  statements: string[];
}

/**
 * Plans the import of what earlier runs have not imported, and only reads. Imported payment sources and wallets
 * drive nothing, networks of x402 are disabled, and webhooks are inactive.
 *
 * @param now - epoch milliseconds
 */
export async function planImport(
  target: MigratedDatabase,
  data: PeerData,
  secrets: { service: ServiceSecrets; peer: PeerSecrets },
  now: number,
): Promise<ImportPlan> {
  const present = await readPresentRows(target);
  const context = new ImportContext(secrets.service, secrets.peer, data, present, now);
  const statements: Statement[] = [];
  const tallies: Tally[] = [];
  for (const kind of KINDS) tallies.push(await planKind(kind, context, statements));
  if (statements.length > 0) statements.push(writeAuditRow(tallies, now));
  const { notes, newSecrets } = context;
  return {
    report: { tallies, omitted: data.omitted, notes, newSecrets },
    statements: statements.map(toSqlText),
  };
}

async function planKind(
  kind: Kind,
  context: ImportContext,
  statements: Statement[],
): Promise<Tally> {
  const all = context.data.tables[kind.table];
  const rows = kind.includes ? all.filter(kind.includes) : all;
  const leftOut = new Map<string, string[]>();
  const tally: Tally = { kind: kind.name, found: rows.length, added: 0, present: 0, leftOut };
  for (const row of rows)
    try {
      const conversion = await kind.convert(row, context);
      if (conversion === "present") tally.present++;
      else {
        statements.push(...conversion);
        tally.added++;
      }
    } catch (error) {
      if (!isReason(error)) throw error;
      const ids = leftOut.get(error.message) ?? [];
      leftOut.set(error.message, [...ids, String(row.id)]);
    }
  return tally;
}

/** Whether an error says what is wrong with a row; validations of requests are reused here. */
const isReason = (error: unknown): error is Error =>
  error instanceof LeftOut || (error instanceof Error && error.name === "ApiError");

const AUDIT_ACTION: AuditAction = "import.run";

function writeAuditRow(tallies: readonly Tally[], now: number): Statement {
  const id = newId(now);
  const counts = Object.fromEntries(tallies.map(({ kind, added }) => [kind, added]));
  return statement(
    `INSERT INTO audit (id, at, api_key_id, request_id, action, target, detail)
     VALUES (?, ?, ?, ?, ?, 'service', ?)`,
    ...[id, now, ENV_ADMIN_ID, id, AUDIT_ACTION, JSON.stringify(counts)],
  );
}

/** The names by which rows are claimed: of each table its ids, and what must be unique beside them. */
const NAMES_SQL: Record<string, string> = {
  payment_source: "SELECT id, NULL AS name FROM payment_source",
  managed_wallet: `SELECT id, iif(deleted_at IS NULL, network || ' ' || vkey, NULL) AS name
    FROM managed_wallet`,
  api_key: "SELECT id, token_hash AS name FROM api_key",
  low_balance_rule: "SELECT id, wallet_id || ' ' || unit AS name FROM low_balance_rule",
  registration: "SELECT id, NULL AS name FROM registration",
  escrow: `SELECT id, side || ' ' || lower(hex(identifier_hash)) || ' ' || source_id AS name
    FROM escrow_identity`,
  x402_wallet: `SELECT id, iif(deleted_at IS NULL, caip2_id || ' ' || address, NULL) AS name
    FROM x402_wallet`,
  x402_network: "SELECT id, caip2_id AS name FROM x402_network",
  x402_budget: `SELECT id, api_key_id || ' ' || evm_wallet_id || ' ' || asset AS name
    FROM x402_budget`,
  x402_balance_rule: "SELECT id, wallet_id || ' ' || unit AS name FROM x402_balance_rule",
  x402_payment_source: "SELECT id, NULL AS name FROM x402_payment_source",
  webhook_endpoint: `SELECT id, iif(deleted_at IS NULL, target_hash, NULL) AS name
    FROM webhook_endpoint`,
  invoiced_payment: `SELECT identifier_hash || ' ' || network || ' ' || contract_address AS id,
    NULL AS name FROM invoiced_payment`,
};

async function readPresentRows(target: MigratedDatabase): Promise<PresentRows> {
  const [sources = [], wallets = [], ...named] = await target.run([
    `SELECT id, network, type, contract_address AS contractAddress, policy_id AS policyId
     FROM payment_source WHERE deleted_at IS NULL`,
    `SELECT id, source_id AS sourceId, network, role, vkey, address
     FROM managed_wallet WHERE deleted_at IS NULL`,
    ...Object.values(NAMES_SQL),
  ]);
  const names = Object.keys(NAMES_SQL).map((table, i): [string, Set<string>] => [
    table,
    new Set((named[i] ?? []).flatMap(({ id, name }) => [String(id), String(name ?? id)])),
  ]);
  return {
    names: new Map(names),
    sources: sources as unknown as ImportedSource[],
    wallets: wallets as unknown as ImportedWallet[],
  };
}
