/** D1 rows that a settlement writes. */
import { join } from "node:path";
import { developmentSecrets } from "../../devnet/secrets.ts";
import { type Database, openDb } from "../../src/db/client.ts";
import { newId } from "../../src/db/id.ts";
import type { Env } from "../../src/env.ts";
import type { Caller } from "../../src/http/context.ts";
import { dispatchEvents } from "../../src/webhooks/delivery/dispatch-events.ts";
import { purgeDeliveries } from "../../src/webhooks/delivery/sweep-deliveries.ts";
import { recordVerifiedAttempt } from "../../src/x402/attempts/record-attempts.ts";
import { recordOutcome } from "../../src/x402/attempts/record-outcomes.ts";
import type { AttemptOrder } from "../../src/x402/model/messages.ts";
import { countingWrites } from "../../test/support/d1.ts";
import type { BenchContext, BenchService } from "../support/service.ts";
import type { Row } from "../support/table.ts";
import type { PaymentChain } from "./chain.ts";

const SETTLEMENTS = 20;
const DAY_MS = 24 * 60 * 60 * 1000;
const CALLER: Caller = {
  id: "env-admin",
  permission: "Admin",
  canPay: true,
  networkLimit: null,
  isUsageLimited: false,
};

/**
 * Rows of settlements that come one by one, which is the worst case. The service's own statements run
 * from here, so that D1's counts can be read. This part must come first: it purges all events.
 */
export async function rowsWritten(
  service: BenchService,
  { folder }: BenchContext,
  chain: PaymentChain,
): Promise<Row> {
  const counting = countingWrites(service.host.d1);
  const env = {
    ...developmentSecrets(join(folder, ".dev.vars")),
    DB: counting.d1,
  } as unknown as Env;
  const core = openDb(env);
  for (let written = 0; written < SETTLEMENTS; written++) {
    await writeSettlement(core, chain.newTerms());
    await dispatchEvents(env, "bench");
  }
  await purgeDeliveries(env, Date.now() + 40 * DAY_MS);
  return {
    "attempt and settlement": counting.rowsWritten(/x402_/) / SETTLEMENTS,
    event: counting.rowsWritten(/(INTO|UPDATE|FROM) event/) / SETTLEMENTS,
  };
}

/** Writes a settlement with the service's own statements: the attempt, and that it is in a block. */
export async function writeSettlement(
  core: Database,
  requirements: AttemptOrder["requirements"],
): Promise<void> {
  const now = Date.now();
  const attemptId = newId(now);
  const payer = requirements.payTo;
  const order: AttemptOrder = {
    requestId: "bench",
    attemptId,
    caller: CALLER,
    paymentSourceId: attemptId,
    registryRequestId: null,
    resource: null,
    payloadHash: attemptId,
    claim: attemptId,
    paymentIdentifier: null,
    requirements,
  };
  const outcome = {
    success: true,
    transaction: attemptId,
    payer,
    errorReason: null,
    errorMessage: null,
  };
  const validBefore = Math.floor(now / 1000) + 60;
  await recordVerifiedAttempt({}, core, order, { payer, facilitator: payer, validBefore }, now);
  await recordOutcome(core, order, outcome, 0, now);
}
