/** Has wallets say what settlements with a permit of their payer have cost. */
import { type Database, openDb, statement } from "../../db/client.ts";
import type { Env } from "../../env.ts";
import { log } from "../../log.ts";
import { wakeObjects } from "../../wake-objects.ts";
import { getFacilitatorWalletStub } from "../model/messages.ts";
import { toGwei } from "../networks/gas-sponsoring.ts";

const MAX_COSTS = 100;
/** Wallets store costs this long. */
const RETENTION_MS = 7 * 24 * 60 * 60_000;

interface EndedSettlement {
  id: string;
  caip2Id: string;
  /** Address of the wallet. */
  facilitator: string;
}

/**
 * Records the costs of settlements that are final, which corrects what was reserved for them. A settlement
 * without a known cost keeps its reservation.
 *
 * @param now - epoch milliseconds
 */
export async function recordGasCosts(env: Env, requestId: string, now: number): Promise<void> {
  const core = openDb(env, undefined, { writes: "idempotent" });
  // Settlements without a cost hold up no others for long, since the order differs in each run.
  const ended = await core.all<EndedSettlement>(
    `SELECT attempt_id AS id, gas.caip2_id AS caip2Id, facilitator
     FROM x402_sponsored_gas AS gas JOIN x402_payment_attempt AS attempt ON attempt.id = attempt_id
     WHERE wei IS NULL AND is_open = 0 AND updated_at > ? ORDER BY random()
     LIMIT ${MAX_COSTS}`,
    now - RETENTION_MS,
  );
  await wakeObjects(
    Map.groupBy(ended, ({ caip2Id, facilitator }) => `${caip2Id} ${facilitator}`).values(),
    (settlements) => recordOfWallet(env, core, settlements),
    (_, error) => log("warn", "x402.gas_costs_unread", { requestId, error: String(error) }),
  );
}

/** @param ended - of one wallet */
async function recordOfWallet(
  env: Env,
  core: Database,
  ended: readonly EndedSettlement[],
): Promise<void> {
  const [first] = ended;
  if (!first) return;
  const wallet = getFacilitatorWalletStub(env, first.caip2Id, first.facilitator);
  const costs = await wallet.readGasCosts(ended.map(({ id }) => id));
  const known = ended.flatMap(({ id }, i) => {
    const wei = costs[i] ?? null;
    return wei === null ? [] : { id, wei };
  });
  if (known.length === 0) return;
  await core.batch(
    known.map(({ id, wei }) =>
      statement(
        "UPDATE x402_sponsored_gas SET wei = ?, gwei = ? WHERE attempt_id = ? AND is_open = 0",
        wei,
        toGwei(BigInt(wei)),
        id,
      ),
    ),
  );
}
