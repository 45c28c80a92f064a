/** How the service's processes run. */
import { drizzle } from "drizzle-orm/d1";
import type { PaymentSourceType } from "../../../src/chain/network.ts";
import { ProviderError } from "../../../src/chain/provider/provider.ts";
import type { Database } from "../../../src/db/client.ts";
import { StaleCursorError } from "../../../src/indexer/cursor.ts";
import { StaleWalletError } from "../../../src/wallets/queue/errors.ts";
import { d1Of } from "../d1.ts";
import type { ModelDatabase } from "../database.ts";
import type { ModelLedger } from "../ledger.ts";
import { type Faults, ProcessCrashed, type Step, stepsOf } from "../process-faults.ts";
import { providerOf } from "./provider.ts";
import type { ProviderFaults } from "./provider-faults.ts";
import { scriptOf } from "./terms.ts";

/** What processes run on. */
interface Ground {
  type: PaymentSourceType;
  ledger: ModelLedger;
  database: ModelDatabase;
  /** What is wrong with the provider's answers. */
  providerFaults: ProviderFaults;
}

/** What a process can reach. */
export interface Reach {
  db: Database;
  /** The same, as the binding of a Worker. */
  d1: D1Database;
  provider: ReturnType<typeof providerOf>;
  step: Step;
}

const EXPECTED = [ProcessCrashed, StaleWalletError, StaleCursorError, ProviderError];

/** Runs a process until it ends, or is ended. */
export async function runProcess(
  ground: Ground,
  faults: Faults,
  work: (reach: Reach) => Promise<void>,
): Promise<void> {
  const { type, ledger, database, providerFaults } = ground;
  const step = stepsOf(faults);
  const call: Step = (run) => step(() => providerFaults.call(run));
  const script = scriptOf(type);
  const cbor = script.from === "witness" ? script.cbor : "";
  try {
    await work({
      db: databaseOf(database, step, faults.repeats),
      d1: d1Of(database, step),
      provider: providerOf(ledger, cbor, call, providerFaults),
      step,
    });
  } catch (error) {
    // What a query throws, the query builder wraps.
    const thrown =
      error instanceof Error && error.cause instanceof ProcessCrashed ? error.cause : error;
    if (!EXPECTED.some((kind) => thrown instanceof kind)) throw error;
  }
}

/** The database as a process sees it whose every step goes through `step`. */
export function databaseOf(database: ModelDatabase, step: Step, repeats = false): Database {
  const orm = drizzle(d1Of(database, step));
  return { ...database.seenBy(step, repeats), orm, bookmark: () => null } as Database;
}
