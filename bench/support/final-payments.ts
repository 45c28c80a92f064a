/** Final x402 payments and entries of the audit log, as months leave them. */
import type { D1Database } from "@cloudflare/workers-types";
import { makePaymentsAndAuditOlder } from "../../devnet/drills/archives.ts";
import { openDb } from "../../src/db/client.ts";
import { newId } from "../../src/db/id.ts";
import { writeSettlement } from "../x402/rows.ts";

const TERMS = {
  network: "eip155:84532",
  asset: `0x${"a".repeat(40)}`,
  amount: "10000",
  payTo: `0x${"b".repeat(40)}`,
};

/** Settles payments with the service's own statements, and makes them older. */
export async function makeFinalPayments(d1: D1Database, count: number): Promise<void> {
  // Each has its own time to answer.
  for (let i = 0; i < count; i++)
    await writeSettlement(openDb({ DB: d1 } as never), TERMS as never);
  await d1.batch(makePaymentsAndAuditOlder(d1));
}

/** Writes entries of the audit log, and makes them older. */
export async function makeFinalAudit(d1: D1Database, count: number): Promise<void> {
  const now = Date.now();
  const detail = JSON.stringify({ network: "Preprod", name: "An agent" });
  const insert = d1.prepare(
    `INSERT INTO audit (id, at, api_key_id, request_id, action, target, detail)
     VALUES (?, ?, 'env-admin', ?, 'agent.deregister', ?, ?)`,
  );
  await d1.batch(
    Array.from({ length: count }, () =>
      insert.bind(newId(now), now, newId(now), newId(now), detail),
    ),
  );
  await d1.batch(makePaymentsAndAuditOlder(d1));
}
