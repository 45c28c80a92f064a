/** Which chain provider the page of a payment source names for each use. */
import { expect, test } from "vitest";
import { countProviders, findProviderInUse } from "../../console/pages/sources/providers.ts";

const source = (outages: readonly (readonly [provider: number, use: string])[]) => ({
  PaymentSourceConfig: { rpcProvider: "Blockfrost" },
  RpcProviders: [
    { rpcProvider: "Ogmios", url: "https://node.example.com", use: ["submit", "evaluate"] },
    { rpcProvider: "Blockfrost", url: null, use: ["reads", "submit", "evaluate"] },
  ],
  RpcProviderOutages: outages.map(([provider, use]) => ({ provider, use, reason: "status 500" })),
});

test("a use has the first provider until it has an outage there, then the next one with the use", () => {
  const first = "First provider (Blockfrost)";
  expect(findProviderInUse(source([]), "submit")).toBe(first);
  const submitIsOut = source([[0, "submit"]]);
  expect(findProviderInUse(submitIsOut, "submit")).toBe("node.example.com");
  expect(findProviderInUse(submitIsOut, "reads")).toBe(first);
  expect(findProviderInUse(source([[0, "reads"]]), "reads")).toBe("Blockfrost");
});

test("a use of which each provider has an outage has none", () => {
  const outages = [0, 2].map((place) => [place, "reads"] as const);
  expect(findProviderInUse(source(outages), "reads")).toBeNull();
});

test("the first provider is counted with the further ones", () => {
  expect(countProviders(source([]))).toBe("3");
  expect(countProviders({})).toBe("1");
});
