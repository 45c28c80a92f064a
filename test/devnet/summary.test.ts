import { expect, it } from "vitest";
import { EvmUnavailable } from "../../devnet/evm/node.ts";
import { type StartedService, summaryOf } from "../../devnet/summary.ts";

const SERVICE: StartedService = {
  url: "http://127.0.0.1:8787",
  adminKey: "key",
  extent: "demo",
  hasRegistry: true,
  isKept: false,
  controls: "http://127.0.0.1:1/_control/demo",
  receiver: "http://127.0.0.1:2",
  sold: "http://127.0.0.1:3/forecast",
  invoiceScript: "state/invoice.sh",
  log: "state/service.log",
};

it("summaryOf prints the addresses, the key and three things to try in 15 lines", () => {
  expect(summaryOf(SERVICE)).toEqual([
    "Ready. Ctrl-C stops everything, and deletes the records.",
    "  Console    http://127.0.0.1:8787/console",
    "  Admin key  key",
    "  API        http://127.0.0.1:8787/api/v1",
    "  Docs       http://127.0.0.1:8787/docs",
    "  MCP        http://127.0.0.1:8787/mcp",
    "  Webhooks   http://127.0.0.1:2",
    "  x402       http://127.0.0.1:3/forecast",
    "  Invoice    sh 'state/invoice.sh'",
    "  Log        state/service.log",
    "",
    "Try:",
    "  curl -s -H 'token: key' 'http://127.0.0.1:8787/api/v1/purchase/diff/onchain-state-or-result?network=Preprod&limit=1'",
    "  npm run example -- buy-a-job",
    "  sign in to http://127.0.0.1:8787/console with the admin key",
  ]);
});

it("summaryOf names the service to the example when it has another port", () => {
  expect(summaryOf({ ...SERVICE, url: "http://127.0.0.1:8788" })).toContain(
    "  SERVICE_URL=http://127.0.0.1:8788 npm run example -- buy-a-job",
  );
});

it("summaryOf offers the second chain provider of a demo with troubles", () => {
  const lines = summaryOf({ ...SERVICE, secondProvider: "http://127.0.0.1:1/demo/mirror/v0" });
  expect(lines).toContain("  add the chain provider http://127.0.0.1:1/demo/mirror/v0 to a source");
  expect(lines).toHaveLength(15);
});

it("summaryOf says why there is no x402, and offers nothing of it", () => {
  const lines = summaryOf({ ...SERVICE, extent: "idle", sold: new EvmUnavailable("no anvil") });
  expect(lines).toContain("  x402       left out: no anvil");
  expect(lines.join("\n")).not.toContain("curl -i");
});

it("summaryOf leads through the first steps where nothing is set up, and names no part of the demo", () => {
  const text = summaryOf({ ...SERVICE, extent: "nothing", isKept: true }).join("\n");
  expect(text).toMatch(/^Ready\. Ctrl-C stops everything; --keep continues later\.$/m);
  expect(text).toContain("follow its first steps");
  expect(text).toContain("http://127.0.0.1:1/_control/demo/fund");
  expect(text).not.toMatch(/x402|Webhooks|example/);
});
