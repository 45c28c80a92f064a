/** Adds up what escrows brought, in the database: no record is read by itself. */
import type { Network, PaymentSourceType } from "../../chain/network.ts";
import type { Database } from "../../db/client.ts";
import type { Side } from "../record.ts";
import { BILLION, sumsStatement } from "./statement.ts";

/** Which side of an account amounts belong to. */
export const KINDS = ["gained", "refunded", "pending"] as const;
export type Kind = (typeof KINDS)[number];

export interface SumsQuery {
  network: Network;
  agentIdentifier: string | null;
  /** Epoch milliseconds, the first included and the last not; null: no bound. */
  from: number | null;
  to: number | null;
  sourceType: PaymentSourceType | undefined;
  /** Ids of the only wallets whose records count; null: all. */
  walletIds: readonly string[] | null;
  /** What withdrawals pay by permille, by source: of records that ended before it was noted. */
  feeRates: Readonly<Record<string, number>>;
}

/** What escrows of a quarter of an hour came to in one unit, minor units. */
export interface Sum {
  /** Unix seconds. */
  quarter: number;
  kind: Kind;
  unit: string;
  gross: bigint;
  protocolFee: bigint;
  networkFee: bigint;
}

interface Row {
  /** `network`: `fee` is what the network took. `escrows`: `gross` is how many there are. */
  what: "escrows" | "network" | "unit";
  quarter: number;
  kind: Kind;
  unit: string;
  /** Billions, and the rest. */
  high: number;
  low: number;
  feeHigh: number;
  feeLow: number;
}

/**
 * What the escrows of a side came to, by the block time of what ended them, or of their newest transaction
 * as long as they are open. Of those that ended it reads an index's entries within the period; of open ones
 * it reads all.
 */
export async function readSums(
  db: Database,
  side: Side,
  query: SumsQuery,
): Promise<{ escrows: number; sums: Sum[] }> {
  const rows = await db.all<Row>(
    sumsStatement(query.agentIdentifier !== null),
    side,
    query.network,
    seconds(query.from) ?? 0,
    seconds(query.to) ?? Number.MAX_SAFE_INTEGER,
    query.sourceType ?? null,
    query.walletIds && JSON.stringify(query.walletIds),
    JSON.stringify(query.feeRates),
    ...(query.agentIdentifier === null ? [] : [query.agentIdentifier]),
  );
  const exact = (high: number, low: number) => BigInt(high) * BigInt(BILLION) + BigInt(low);
  const escrows = rows.find(({ what }) => what === "escrows")?.low ?? 0;
  const sums = rows
    .filter(({ what }) => what !== "escrows")
    .map(({ what, quarter, kind, unit, high, low, feeHigh, feeLow }): Sum => {
      const fee = exact(feeHigh, feeLow);
      const isUnit = what === "unit";
      return {
        ...{ quarter, kind, unit, gross: exact(high, low) },
        protocolFee: isUnit ? fee : 0n,
        networkFee: isUnit ? 0n : fee,
      };
    });
  return { escrows, sums };
}

/** Block times are whole seconds: those of a half-open period are from its rounded-up begin to its end. */
function seconds(milliseconds: number | null): number | null {
  return milliseconds === null ? null : Math.ceil(milliseconds / 1000);
}
