/** Each operation of the peer's OpenAPI document, called live. */
import { readFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { callKeys, callService, callWebhooks } from "./calls/administration.ts";
import { callEscrows, callLists } from "./calls/escrows.ts";
import { callInvoices, callReveal } from "./calls/invoices.ts";
import { callInboxAgents, callRegistry } from "./calls/registrations.ts";
import { callFunds, callSources, callWallets } from "./calls/wallets.ts";
import { callX402Payments, callX402Wallets } from "./calls/x402.ts";
import { findCopy } from "./folder.ts";
import { createCaller, type Outcome } from "./peer-caller.ts";
import { readPeerDocument } from "./peer-document.ts";
import { type Scene, startScene } from "./scene.ts";

/** Operations that answer 501. */
const NOT_OFFERED = [
  "POST /swap",
  "GET /swap/confirm",
  "GET /swap/transactions",
  "GET /swap/estimate",
  "POST /swap/cancel",
  "POST /swap/acknowledge-timeout",
  "POST /signature/sign/create-invoice/monthly",
  "POST /signature/sign/verifyAndPublishAgent",
  "POST /monitoring/trigger-cycle",
  "POST /monitoring/start",
  "POST /monitoring/stop",
];

const GUIDE = readFileSync("docs/coming-from-another-service.md", "utf8");

const path = findCopy(
  "masumi-payment-service",
  "src/utils/generator/swagger-generator/openapi-docs.json",
  "each operation of its document",
);
const document = path === null ? null : readPeerDocument(path);

describe.runIf(document)("the peer's OpenAPI document", () => {
  let scene: Scene;
  let outcomes: Map<string, Outcome>;
  const failures: string[] = [];

  beforeAll(async () => {
    if (!document) return;
    scene = await startScene();
    const caller = createCaller(document, scene.access);
    outcomes = caller.outcomes;
    const { call } = caller;
    const attempt = async (what: string, story: () => Promise<void>) => {
      await story().catch((error: Error) => failures.push(`${what}: ${error.stack}`));
    };
    await attempt("keys", () => callKeys(call));
    await attempt("webhooks", () => callWebhooks(call, scene));
    await attempt("service", () => callService(call));
    await attempt("sources", () => callSources(call));
    await attempt("wallets", () => callWallets(call, scene));
    await attempt("invoices", () => callInvoices(call, scene));
    await attempt("reveal", () => callReveal(call, scene));
    await attempt("x402 wallets", () => callX402Wallets(call, scene));
    await attempt("inbox agents", () => callInboxAgents(call, scene));
    await attempt("agents", async () => {
      const agents = await callRegistry(call, scene);
      await attempt("x402 payments", () => callX402Payments(call, scene, agents.evmSourceId));
      await attempt("escrows", () => callEscrows(call, scene, agents));
    });
    await attempt("lists", () => callLists(call));
    await attempt("funds", () => callFunds(call, scene));
  });
  afterAll(() => scene?.close());

  it("has its operations in the table of docs/coming-from-another-service.md, each once", () => {
    const rows = [...GUIDE.matchAll(/^\| (.+?) \| (same|differs|not here) \|/gm)];
    const listed = rows.flatMap(([, cell = "", here]) =>
      [...cell.matchAll(/`([A-Z ]+) (\/[^`]+)`/g)].flatMap(([, methods = "", route]) =>
        methods.split(" ").map((method) => ({ operation: `${method} ${route}`, here })),
      ),
    );
    const operations = listed.map(({ operation }) => operation);
    expect(operations.toSorted()).toEqual(document?.operations.toSorted());
    const missing = listed.filter(({ here }) => here === "not here");
    expect(missing.map(({ operation }) => operation).toSorted()).toEqual(NOT_OFFERED.toSorted());
  });

  it("has 117 operations", () => expect(document?.operations).toHaveLength(117));

  it("is called to the end", () => expect(failures).toEqual([]));

  it.each(document?.operations ?? [])("%s answers as it says", (operation) => {
    const { statuses, problems } = outcomes.get(operation) ?? { statuses: [], problems: [] };
    expect(problems).toEqual([]);
    const expected = NOT_OFFERED.includes(operation) ? 501 : 200;
    expect([...new Set(statuses)]).toEqual([expected]);
  });
});
