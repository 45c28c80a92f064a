/** The programs of the guides, run as they stand there against a service of their own. */
import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, beforeAll, expect, it } from "vitest";
import { createClient, unwrap } from "../../client/index.ts";
import { until } from "../../devnet/client/wait.ts";
import { newSecret, signatureHeaders } from "../../src/webhooks/delivery/signature.ts";
import { type Address, freePort, killCopies, ready, root, run, start, WAIT_MS } from "./copies.ts";

const LINES = 30;
const CLIENT = pathToFileURL(join(root, "client/index.ts")).href;

let folder: string;
let service: Address;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "newcomer-"));
  service = await ready(start(await freePort(), "--no-demo"));
});

afterAll(() => {
  killCopies();
  rmSync(folder, { recursive: true });
});

/** The code blocks of a guide in a language. */
function blocks(guide: string, language: string): string[] {
  const text = readFileSync(join(root, "docs", guide), "utf8");
  return [...text.matchAll(/^```(\w+)\n([\s\S]*?)^```$/gm)].flatMap(([, name, code = ""]) =>
    name === language ? [code.replace(/"agent-payment-service-client"/, `"${CLIENT}"`)] : [],
  );
}

/** Runs a program in a folder of its own and answers what it printed. */
async function output(
  command: string,
  args: string[],
  program: string,
  more: Record<string, string> = {},
): Promise<string> {
  const path = join(folder, `program${args.length > 0 ? ".ts" : ".py"}`);
  writeFileSync(path, program);
  const env = { SERVICE_URL: service.url, SERVICE_TOKEN: service.adminKey, ...more };
  const copy = run(command, [...args, path], env, folder);
  const options = { what: "the end of the program", limitMs: WAIT_MS };
  await until(() => copy.process.exitCode !== null, options);
  expect(copy.stderr).toBe("");
  return copy.stdout;
}

const TYPESCRIPT = [process.execPath, ["--disable-warning=MODULE_TYPELESS_PACKAGE_JSON"]] as const;

it("docs/first-job.md is a program of 30 lines that quotes, buys, waits, delivers and follows", async () => {
  const [program = ""] = blocks("first-job.md", "ts");
  expect(program.trimEnd().split("\n").length).toBeLessThanOrEqual(LINES);
  const client = createClient({ baseUrl: service.url, token: service.adminKey });
  const [node, flags] = TYPESCRIPT;
  const printed = await output(node, [...flags], program, { AGENT: await register(client) });
  expect(printed).toBe("delivered: true\nResultSubmitted closed\n");
});

it("docs/polling.md has programs that print each change once, also when they are run again", async () => {
  const [node, flags] = TYPESCRIPT;
  const programs = [[node, [...flags], ...blocks("polling.md", "ts")]] as [
    string,
    string[],
    string,
  ][];
  if (spawnSync("python3", ["--version"]).status === 0)
    programs.push(["python3", [], ...(blocks("polling.md", "python") as [string])]);
  for (const [command, args, program] of programs) {
    rmSync(join(folder, "position"), { force: true });
    expect(await output(command, args, program)).toMatch(/^\w{26} \w+\n$/);
    expect(await output(command, args, program)).toMatch(/^(\w{26} \w+\n)?$/);
  }
  const env = { ...process.env, SERVICE_URL: service.url, SERVICE_TOKEN: service.adminKey };
  const [command = ""] = blocks("polling.md", "sh");
  const { data } = JSON.parse(execFileSync("sh", ["-c", command], { env, encoding: "utf8" }));
  expect(data.Purchases).toHaveLength(1);
});

it("docs/webhooks.md has receivers that read what is signed, and nothing else", async () => {
  const secret = newSecret();
  const body =
    '{"id":"e1","type":"PAYMENT_ON_CHAIN_STATUS_CHANGED","data":{"onChainState":"Withdrawn"}}';
  const headers = await signatureHeaders([secret], "e1", Date.now(), body);
  const [, reader = ""] = blocks("webhooks.md", "ts");
  const [python = ""] = blocks("webhooks.md", "python");
  const [node, flags] = TYPESCRIPT;
  const asked = JSON.stringify({ headers, body, secret });
  const read = `${reader}
    const { headers, body, secret } = ${asked};
    const ask = (body: string) =>
      read(new Request("http://x", { method: "POST", headers, body }), secret).catch(() => "refused");
    console.log(await ask(body), await ask(body + " "));`;
  expect(await output(node, [...flags], read)).toBe("Withdrawn refused\n");
  if (spawnSync("python3", ["--version"]).status !== 0) return;
  const verified = `${python}
asked = json.loads(${JSON.stringify(asked)})
print(verify(asked["secret"], asked["headers"], asked["body"].encode())["data"]["onChainState"])
try:
    verify(asked["secret"], asked["headers"], b"{}")
except ValueError as error:
    print(error)
`;
  expect(await output("python3", [], verified)).toBe("Withdrawn\nbad signature\n");
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
