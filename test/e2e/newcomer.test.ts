import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, expect, it } from "vitest";
import { createClient, unwrap } from "../../client/index.ts";
import { until } from "../../devnet/client/wait.ts";
import { freePort, killCopies, ready, root, run, start, WAIT_MS } from "./copies.ts";

const LINES = 30;
const PROGRAM = join(root, "test/e2e/newcomer.program.ts");

afterAll(() => {
  killCopies();
  rmSync(PROGRAM, { force: true });
});

it("docs/first-job.md is a program of 30 lines that quotes, buys, waits, delivers and follows", async () => {
  const guide = readFileSync(join(root, "docs/first-job.md"), "utf8");
  const [, program = ""] = /```ts\n([\s\S]*?)```/.exec(guide) ?? [];
  expect(program.trimEnd().split("\n").length).toBeLessThanOrEqual(LINES);
  writeFileSync(
    PROGRAM,
    program.replace('"agent-payment-service-client"', '"../../client/index.ts"'),
  );

  const { url, adminKey } = await ready(start(await freePort(), "--no-demo"));
  const client = createClient({ baseUrl: url, token: adminKey });
  const env = { SERVICE_URL: url, SERVICE_TOKEN: adminKey, AGENT: await register(client) };
  const copy = run(process.execPath, [PROGRAM], env);
  const options = { what: `the program ends: ${copy.stderr}`, limitMs: WAIT_MS };
  await until(() => copy.process.exitCode !== null, options);
  expect(copy.stderr).toBe("");
  expect(copy.stdout).toBe("delivered: true\nResultSubmitted closed\n");
});

/** Registers an agent at a selling wallet, and waits until the chain shows it. */
async function register(client: ReturnType<typeof createClient>): Promise<string> {
  const query = { limit: 100 };
  const { ExtendedPaymentSources } = unwrap(
    await client.GET("/api/v1/payment-source-extended", { params: { query } }),
  );
  const source = ExtendedPaymentSources.find((one) => one.paymentSourceType === "Web3ChainV1");
  const sellingWalletVkey = source?.SellingWallets[0]?.walletVkey ?? "";
  const agent = unwrap(
    await client.POST("/api/v1/registry", {
      body: {
        network: "Preprod",
        sellingWalletVkey,
        name: "Translator",
        apiBaseUrl: "https://translator.example.com",
        Tags: ["translation"],
        Capability: { name: "translate", version: "1" },
        Author: { name: "A newcomer" },
        AgentPricing: { pricingType: "Fixed", Pricing: [{ unit: "", amount: "5000000" }] },
      },
    }),
  );
  return until(
    async () => {
      const params = { query: { network: "Preprod" } } as const;
      const { Assets } = unwrap(await client.GET("/api/v1/registry", { params }));
      const { agentIdentifier, state } = Assets.find(({ id }) => id === agent.id) ?? {};
      return state === "RegistrationConfirmed" && agentIdentifier;
    },
    { what: "the registration", limitMs: WAIT_MS },
  );
}
