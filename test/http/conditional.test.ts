import { env } from "cloudflare:workers";
import fc from "fast-check";
import { beforeAll, describe, expect, it } from "vitest";
import { hashIdentifier } from "../../src/escrow/model/escrow-record.ts";
import { app, emptyTables } from "../support/app.ts";
import { countingD1, wrapD1 } from "../support/d1.ts";
import { runs } from "../support/effort.ts";
import { ENDPOINTS, type EndpointCase } from "../support/endpoints/all.ts";
import { insertKey } from "../support/keys.ts";
import { makeRecord, Writer } from "../support/sources/records.ts";

const ADMIN = env.ADMIN_KEY ?? "";
const DIFF = "/api/v1/payment/diff/onchain-state-or-result?network=Preprod";

const answer = await app.request("/api/v1/openapi.json", {}, env);
const { paths } = (await answer.json()) as {
  paths: Record<string, Record<string, { responses: Record<string, object> }>>;
};
const CONDITIONAL = ENDPOINTS.filter(
  ({ method, path }) => paths[`/api/v1${path}`]?.[method.toLowerCase()]?.responses[304],
).map((endpoint) => ({ title: `${endpoint.method} ${endpoint.path}`, endpoint }));

const RECORD = makeRecord("payment");
let writer: Writer;

/** What changes a page. */
const CHANGES: Record<string, () => Promise<unknown>> = {
  record: () => writer.change([RECORD]),
  tip: () => growTip(),
  blocker: () =>
    env.DB.prepare(
      `INSERT INTO hot_wallet (network, vkey, version, sequence, blocker, blocker_code)
       VALUES ('Preprod', 'a', 1, 1, 'waits', 'provider')
       ON CONFLICT DO UPDATE SET blocker = blocker || '!'`,
    ).run(),
};

function growTip() {
  return env.DB.prepare(
    `INSERT INTO chain_tip (network, height) VALUES ('Preprod', 1000000)
     ON CONFLICT (network) DO UPDATE SET height = height + 1`,
  ).run();
}

beforeAll(async () => {
  await emptyTables();
  writer = await Writer.create(env.DB);
  RECORD.identifierHash = hashIdentifier(RECORD.blockchainIdentifier);
  await writer.change([RECORD]);
});

/** What a request asks for: of one record, the one that is there. */
function wanted({ valid, finds }: EndpointCase): Record<string, unknown> {
  return finds === undefined
    ? valid
    : { ...valid, blockchainIdentifier: RECORD.blockchainIdentifier };
}

/** Asks as an administrator, with the tag of an earlier answer. */
async function ask(url: string, init: RequestInit = {}, tag?: string, bindings: object = env) {
  const headers = { token: ADMIN, ...(tag !== undefined && { "if-none-match": tag }) };
  const answer = await app.request(url, { ...init, headers }, bindings);
  return { status: answer.status, etag: answer.headers.get("etag"), body: await answer.text() };
}

describe("the OpenAPI document", () => {
  it("says that every list and diff answers 304, and nothing else does", () => {
    expect(CONDITIONAL.length).toBeGreaterThan(30);
    const others = ENDPOINTS.filter(({ path }) => /diff|list|registry-entry/.test(path)).filter(
      (one) => !CONDITIONAL.some(({ endpoint }) => endpoint === one),
    );
    expect(others).toEqual([]);
  });
});

// Of purchases there is none: what asks for one is the same code as for payments.
const ANSWERED = CONDITIONAL.filter(
  ({ endpoint: { path, finds } }) => finds === undefined || path.startsWith("/payment/"),
);

describe.each(ANSWERED)("$title", ({ endpoint }) => {
  it("answers 304 without a body to the tag of the same answer", async () => {
    const { method, path } = endpoint;
    const fields = wanted(endpoint);
    const query = new URLSearchParams(
      Object.entries(fields).map(([name, value]) => [name, String(value)]),
    );
    const url = `/api/v1${path}${method === "GET" ? `?${query}` : ""}`;
    const init = method === "GET" ? {} : { method, body: JSON.stringify(fields) };
    const first = await ask(url, init);
    expect(first).toMatchObject({
      status: 200,
      etag: expect.stringMatching(/^W\/"[0-9a-f]{32}"$/),
    });
    const tag = first.etag ?? "";
    const unchanged = { status: 304, etag: tag, body: "" };
    for (const sent of [tag, tag.slice(2), `"other", ${tag}`, "*"])
      expect(await ask(url, init, sent), sent).toEqual(unchanged);
    expect(await ask(url, init, 'W/"00000000000000000000000000000000"')).toEqual(first);
  });
});

describe("GET /payment/diff/onchain-state-or-result", () => {
  it("has another tag when the tip has grown, and with it the confirmations", async () => {
    const before = await ask(DIFF);
    await growTip();
    const after = await ask(DIFF, {}, before.etag ?? "");
    expect(after.status).toBe(200);
    expect(after.body).not.toBe(before.body);
    expect(after.etag).not.toBe(before.etag);
  });

  it("asks the database once for a page and for a 304, and reads no text for a 304", async () => {
    const asked: string[] = [];
    let calls = 0;
    const DB = wrapD1(env.DB, ({ sql }, run) => {
      calls++;
      asked.push(...sql);
      return run();
    });
    const listen = async (tag?: string) => {
      asked.length = 0;
      calls = 0;
      const { status, etag } = await ask(DIFF, {}, tag, { ...env, DB });
      const texts = asked.filter((sql) => /\b(doc|metadata|funds)\b/.test(sql)).length;
      return { status, etag, calls, texts };
    };
    const page = await listen();
    expect(page).toMatchObject({ status: 200, calls: 1, texts: 1 });
    expect(await listen(page.etag ?? "")).toEqual({ ...page, status: 304, texts: 0 });
    // Only who sends an old tag waits for both.
    expect(await listen('"old"')).toEqual({ ...page, calls: 2 });
  });

  it("reads at most five rows for a client that has caught up", async () => {
    await writer.change([makeRecord("payment"), makeRecord("payment")]);
    const { body } = await ask(DIFF);
    const [last] = (
      JSON.parse(body) as { data: { Payments: Record<string, string>[] } }
    ).data.Payments.slice(-1);
    const since = new URLSearchParams({
      lastUpdate: last?.onChainStateOrResultLastChangedAt ?? "",
      cursorId: last?.id ?? "",
    });
    const { etag, ...first } = await ask(`${DIFF}&${since}`);
    expect(JSON.parse(first.body).data.Payments).toHaveLength(1);
    const { d1: DB, rowsRead } = countingD1(env.DB);
    const again = await ask(`${DIFF}&${since}`, {}, etag ?? "", { ...env, DB });
    expect(again.status).toBe(304);
    expect(rowsRead()).toBeLessThanOrEqual(5);
  });

  it("answers 304 only while the page is the same, to each key", async () => {
    const tokens = [ADMIN, await insertKey({}), await insertKey({ walletLimit: ["wallet-a"] })];
    const change = fc.constantFrom("record", "tip", "blocker", "none");
    const property = fc.asyncProperty(fc.array(change, { maxLength: 6 }), async (changes) => {
      const known = new Map<string, { etag: string; body: string }>();
      for (const one of ["none", ...changes]) {
        await CHANGES[one]?.();
        for (const token of tokens) {
          const url = `${DIFF}&includeHistory=true`;
          const fresh = await app.request(url, { headers: { token } }, env);
          const body = await fresh.text();
          for (const [owner, before] of known) {
            const headers = { token, "if-none-match": before.etag };
            const { status } = await app.request(url, { headers }, env);
            if (status === 304)
              expect({ owner, body: before.body }).toEqual({ owner: token, body });
          }
          known.set(token, { etag: fresh.headers.get("etag") ?? "", body });
        }
      }
    });
    await fc.assert(property, runs(5, 50));
  });

  it("answers 401 and 403 to a tag that it would know", async () => {
    const { etag } = await ask(DIFF);
    const token = await insertKey({ networkLimit: ["Mainnet"] });
    for (const [key, status] of [
      ["", 401],
      [token, 403],
    ] as const) {
      const headers = { token: key, "if-none-match": etag ?? "" };
      expect((await app.request(DIFF, { headers }, env)).status).toBe(status);
    }
  });
});

describe("POST /registry-diff", () => {
  it("charges a 304 like any other answer", async () => {
    const token = await insertKey({ usageLimited: true, maxUsageCredits: 2 });
    const asked = async (tag: string) => {
      const body = JSON.stringify({ network: "Preprod", statusUpdatedAfter: "2024-01-01" });
      const init = { method: "POST", headers: { token, "if-none-match": tag }, body };
      return (await app.request("/api/v1/registry-diff", init, env)).status;
    };
    expect([await asked('"none"'), await asked("*"), await asked("*")]).toEqual([200, 304, 402]);
  });
});
