import { env } from "cloudflare:workers";
import { beforeAll, describe, expect, it } from "vitest";
import {
  CHILD_WRITE_PATTERN,
  EMPTY_LOG_SQL,
  LOG_WRITES_SQL,
  UNRAISED_SQL,
} from "../support/child-writes.ts";
import { serialD1, wrapD1 } from "../support/d1.ts";
import { openApi } from "../support/endpoints/document.ts";
import { saveDatabase } from "../support/restore.ts";
import { type Deployment, openDeployment } from "./deployment/open-deployment.ts";
import { PROBES } from "./probes/all.ts";
import { OPERATIONS, scopeOf } from "./scopes.ts";

/** Calls to the primary that a write makes in series. Each may cross an ocean. */
const MAX_CALLS_IN_SERIES = 4;

/** Writes that make more, and how many. */
const EXCEPTIONS: Readonly<Record<string, number>> = {
  "POST /dispute/proposal": 5,
  "PATCH /payment-source-extended": 8,
  "DELETE /payment-source-extended": 18,
  "POST /wallet": 8,
  // It looks at all that may need the wallet, since its key is destroyed.
  "DELETE /wallet": 17,
  "POST /registry/update": 5,
  "POST /registry/deregister": 5,
  "POST /inbox-agents/deregister": 5,
  "POST /registry-inbox/deregister": 5,
  "POST /v1/admin/worker-bots/versions/migrate": 5,
  "POST /invoice/monthly": 11,
  "POST /invoice/monthly/internal": 10,
  "POST /x402/pay": 5,
  "POST /x402/budgets": 5,
};

/** Not the look-up of a key, which is cached, and not what only a local chain asks for. */
function isCounted([sql = ""]: readonly string[]): boolean {
  return !/token_hash|last_used_at|FROM payment_source WHERE network = .Mainnet/.test(sql);
}

/** Operations that are no GET, and no query by POST. */
const WRITES = OPERATIONS.filter((operation) => {
  const [method = "", path = ""] = operation.split(" ");
  const { responses } =
    openApi.paths[path.startsWith("/v1/") ? path : `/api/v1${path}`]?.[method.toLowerCase()] ?? {};
  return method !== "GET" && responses?.[304] === undefined;
});

/** Notes the records of which a call writes rows, and not the revision. */
function revisionsOf(inner: D1Database): { d1: D1Database; unraised: string[] } {
  const unraised: string[] = [];
  const d1 = wrapD1(inner, async ({ sql }, run) => {
    const writes = sql.filter((one) => CHILD_WRITE_PATTERN.test(one));
    if (writes.length === 0) return run();
    await inner.batch(EMPTY_LOG_SQL.map((one) => inner.prepare(one)));
    const result = await run();
    const { results } = await inner.prepare(UNRAISED_SQL).all();
    if (results.length > 0) unraised.push(...writes);
    return result;
  });
  return { d1, unraised };
}

let deployment: Deployment;
let restore: () => Promise<void>;

beforeAll(async () => {
  deployment = await openDeployment();
  restore = await saveDatabase();
  await env.DB.batch(LOG_WRITES_SQL.map((one) => env.DB.prepare(one)));
});

describe.each(WRITES)("%s", (operation) => {
  const budget = EXCEPTIONS[operation] ?? MAX_CALLS_IN_SERIES;

  it(`answers with a bookmark after at most ${budget} calls in series to the primary`, async () => {
    const { service, resources, tokens } = deployment;
    const token = scopeOf(operation) === "admin" ? undefined : tokens.owner;
    const calls: number[] = [];
    const revisions = revisionsOf(env.DB);
    for (const { fields, status = 200 } of PROBES[operation] ?? []) {
      const { d1, callsInSeries } = serialD1(revisions.d1, isCounted);
      service.database = d1;
      const answer = await service.ask(operation, fields(resources, deployment), token);
      service.database = env.DB;
      calls.push(callsInSeries());
      await restore();
      expect(answer.status, answer.body).toBe(status);
      if (status === 200)
        expect(answer.headers.get("x-d1-bookmark")).toMatch(/^[0-9a-f]+(-[0-9a-f]+)+$/);
    }
    expect(revisions.unraised).toEqual([]);
    const most = Math.max(...calls);
    if (operation in EXCEPTIONS) expect(most).toBe(budget);
    else expect(most).toBeLessThanOrEqual(budget);
  });
});
