/** The programs of the guides, run as they stand there against a service of their own. */
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { type Client, createClient, unwrap } from "../../../client/index.ts";
import { until } from "../../../devnet/client/wait.ts";
import { buy, createPayer } from "../../../devnet/demo/x402/buyer.ts";
import { PAYEE } from "../../../devnet/demo/x402/resource.ts";
import { dollarsOf, giveGas } from "../../../devnet/evm/money.ts";
import {
  createSignatureHeaders,
  generateSecret,
} from "../../../src/webhooks/endpoints/signature.ts";
import {
  type Address,
  freePort,
  killCopies,
  machinePath,
  ready,
  start,
  WAIT_MS,
} from "../copies.ts";
import { PackedClient } from "../packed-client.ts";
import { Blocks, blocksOf, GUIDES, has } from "./blocks.ts";

const LINES = 30;

let service: Address;
let client: Client;
let packed: PackedClient;
let blocks: Blocks;
/** Of a receiver, which the service may reach although it is on this machine. */
let hookPort: number;
/** An agent of each payment source. */
let agent: string;
let agentOfV2: string;

beforeAll(async () => {
  hookPort = await freePort();
  const origins = `--origins=http://127.0.0.1:${hookPort}`;
  const copy = start(await freePort(), "--idle", origins);
  service = await ready(copy);
  client = createClient({ baseUrl: service.url, token: service.adminKey });
  packed = await PackedClient.open();
  blocks = new Blocks(access());
  await blocks.install(packed, "standardwebhooks", "express");
  agent = await register("Web3ChainV1");
  agentOfV2 = await register("Web3ChainV2");
});

afterAll(() => {
  killCopies();
  blocks.remove();
  packed.close();
});

it("docs/first-job.md leads from an empty folder to a job, by a program of 30 lines", async () => {
  const [program] = blocksOf("first-job.md", "js");
  expect(program?.code.trimEnd().split("\n").length).toBeLessThanOrEqual(LINES);
  expect(await firstJob(agent)).toMatch(/\ndelivered: true\nResultSubmitted closed\n$/);
});

it("docs/polling.md has programs that print each change once, also when they are run again", async () => {
  const programs = blocksOf("polling.md", "ts");
  if (has("python")) programs.push(...blocksOf("polling.md", "python"));
  for (const program of programs) {
    expect(await blocks.output(program)).toMatch(/^\w{26} \w+\n$/);
    expect(await blocks.output(program)).toMatch(/^(\w{26} \w+\n)?$/);
  }
  const [command] = blocksOf("polling.md", "sh");
  expect(JSON.parse(await blocks.output(command)).data.Purchases).toHaveLength(1);
});

it("docs/escrow-for-sellers.md and docs/escrow-for-buyers.md are two sides that trade with each other", async () => {
  const PORT = String(await freePort());
  const [server] = blocksOf("escrow-for-sellers.md", "ts");
  const seller = { SERVICE_TOKEN: await key({}) };
  const shop = blocks.start(server, { env: { ...seller, AGENT: agent, PORT } });
  const buyer = {
    SERVICE_TOKEN: await key({
      spendingLimits: [{ network: "Preprod", unit: "", amount: "5000000" }],
    }),
    AGENT_URL: `http://127.0.0.1:${PORT}`,
  };
  await answers(buyer.AGENT_URL);
  const [program] = blocksOf("escrow-for-buyers.md", "ts");
  const printed = await blocks.output(program, { env: buyer });
  expect(printed).toMatch(/^GUTEN TAG\n\w+\n$/);
  // Run again it goes on with the same purchase, for which alone its limit suffices.
  expect(await blocks.output(program, { env: buyer })).toBe(printed);
  expect(shop.stderr).toBe("");

  const IDENTIFIER = printed.split("\n")[1] ?? "";
  const [refund, spending] = blocksOf("escrow-for-buyers.md", "sh");
  const asked = JSON.parse(await blocks.output(refund, { env: { ...buyer, IDENTIFIER } }));
  expect(asked.data.NextAction.requestedAction).toBe("SetRefundRequestedRequested");
  const [income] = blocksOf("escrow-for-sellers.md", "sh");
  // With the first job's.
  const locked = { Units: [{ unit: "", gross: "10000000" }] };
  for (const [block, env] of [
    [spending, buyer],
    [income, seller],
  ] as const)
    expect(JSON.parse(await blocks.output(block, { env })).data).toMatchObject({
      TotalPending: locked,
    });
});

it("docs/x402-for-sellers.md sets a chain up and sells, each payment once", async () => {
  const { Networks } = unwrap(await client.GET("/api/v1/x402/networks"));
  const [{ caip2Id: CHAIN, rpcUrl: RPC_URL, defaultAsset }] = Networks as [(typeof Networks)[0]];
  const node = { rpc: rpcOf(RPC_URL), token: defaultAsset as `0x${string}` };
  const PORT = String(await freePort());
  const env = { CHAIN, RPC_URL, PAY_TO: PAYEE, PORT };
  const [setUp, settlements] = blocksOf("x402-for-sellers.md", "sh");
  const gasWallet = (await blocks.output(setUp, { env })).trim();
  await giveGas(node, gasWallet);
  const SERVICE_TOKEN = await key({ networkLimit: [CHAIN] });
  const [server] = blocksOf("x402-for-sellers.md", "ts");
  const shop = blocks.start(server, { env: { ...env, SERVICE_TOKEN } });
  const resource = `http://127.0.0.1:${PORT}/forecast`;
  await answers(resource);
  const before = await dollarsOf(node, PAYEE);
  const purse = await createPayer({ url: service.url, token: service.adminKey }, node);
  const { body, signature } = await buy(resource, purse, "eip3009");
  expect(JSON.parse(body)).toEqual({ forecast: "Rain until noon", replay: false });
  const again = await fetch(resource, { headers: { "payment-signature": signature } });
  expect(await again.json()).toEqual({ forecast: "Rain until noon", replay: true });
  expect((await dollarsOf(node, PAYEE)) - before).toBe(10_000n);
  const broken = await fetch(resource, { headers: { "payment-signature": "e30=" } });
  expect(broken.status).toBe(400);
  const sold = await blocks.output(settlements, { env: { SERVICE_TOKEN } });
  expect(JSON.parse(sold).data.Settlements).toMatchObject([{ success: true, amount: "10000" }]);
  expect(shop.stderr).toBe("");
});

it("docs/webhooks.md has receivers that read what is signed, and nothing else", async () => {
  const secret = generateSecret();
  const body =
    '{"id":"e1","type":"PAYMENT_ON_CHAIN_STATUS_CHANGED","data":{"onChainState":"Withdrawn"}}';
  const headers = await createSignatureHeaders([secret], "e1", Date.now(), body);
  const args = [JSON.stringify({ headers, body, secret })];
  const [standard, own] = blocksOf("webhooks.md", "ts");
  const requests = `
    const { headers, body, secret } = JSON.parse(process.argv[2] ?? "");
    const asked = (body: string) => new Request("http://x", { method: "POST", headers, body });`;
  const kept = `${requests}
    const keep = async ({ id }: Event) => console.log(id);
    for (const one of [body, body + " "]) console.log((await receive(asked(one), secret, keep)).status);`;
  expect(await blocks.output(standard, { after: kept, args })).toBe("e1\n204\n400\n");
  const read = `${requests}
    for (const one of [body, body + " "]) console.log(await read(asked(one), secret).catch(() => "refused"));`;
  expect(await blocks.output(own, { after: read, args })).toBe("Withdrawn\nrefused\n");

  const verified = "Withdrawn\nbad signature\n";
  if (has("python")) {
    const after = `
import sys
asked = json.loads(sys.argv[1])
print(verify(asked["secret"], asked["headers"], asked["body"].encode())["data"]["onChainState"])
try:
    verify(asked["secret"], asked["headers"], b"{}")
except ValueError as error:
    print(error)
`;
    const [python] = blocksOf("webhooks.md", "python");
    expect(await blocks.output(python, { after, args })).toBe(verified);
  }
  if (has("go")) {
    const before = 'package main\n\nimport "encoding/json"\nimport "os"\n';
    const after = `
func main() {
	var asked struct {
		Secret, Body string
		Headers      map[string]string
	}
	json.Unmarshal([]byte(os.Args[1]), &asked)
	header := http.Header{}
	for name, value := range asked.Headers {
		header.Set(name, value)
	}
	fmt.Println(verify(asked.Secret, header, []byte(asked.Body), time.Now()))
	fmt.Println(verify(asked.Secret, header, []byte("{}"), time.Now()))
}
`;
    const [go] = blocksOf("webhooks.md", "go");
    expect(await blocks.output(go, { before, after, args })).toBe("<nil>\nbad signature\n");
  }
  if (has("php")) {
    const after = `
$asked = json_decode($argv[1], true);
echo verify($asked['secret'], $asked['headers'], $asked['body'])['data']['onChainState'], "\\n";
try {
    verify($asked['secret'], $asked['headers'], '{}');
} catch (Exception $error) {
    echo $error->getMessage(), "\\n";
}
`;
    const [php] = blocksOf("webhooks.md", "php");
    expect(await blocks.output(php, { before: "<?php\n", after, args })).toBe(verified);
  }
});

it("docs/webhooks.md has a receiver in Express that the service reaches on one's own machine", async () => {
  const HOOK_URL = `http://127.0.0.1:${hookPort}/hook`;
  const [subscribe, test] = blocksOf("webhooks.md", "sh");
  const { data } = JSON.parse(await blocks.output(subscribe, { env: { HOOK_URL } }));
  const [receiver] = blocksOf("webhooks.md", "js");
  const env = { WEBHOOK_SECRET: data.secret, PORT: String(hookPort) };
  const copy = blocks.start(receiver, { env });
  await answers(HOOK_URL);
  const tested = await blocks.output(test, { env: { WEBHOOK_ID: data.id } });
  expect(JSON.parse(tested).data).toMatchObject({ success: true, responseCode: 204 });
  expect(copy.stdout).toMatch(/^\w{26} WEBHOOK_TEST\n$/);
  const headers = { "content-type": "application/json", "webhook-id": "e1" };
  const forged = await fetch(HOOK_URL, { method: "POST", headers, body: "{}" });
  expect(forged.status).toBe(400);
});

it("docs/first-job.md needs nothing more for an agent of Web3ChainV2", async () => {
  // The program prints the earlier purchases, too.
  expect(await firstJob(agentOfV2)).toMatch(/\ndelivered: true\n(\w+ closed\n){3}$/);
});

it("every block of the guides was run", () => {
  const missing = (["python", "go", "php"] as const).filter((language) => !has(language));
  const left = GUIDES.flatMap((guide) => blocksOf(guide)).filter(
    ({ name, language }) => !Blocks.ran.has(name) && !missing.some((one) => one === language),
  );
  expect(left.map(({ name, language }) => `${name}: ${language}`)).toEqual([]);
});

/** What the programs are told of the service. */
const access = () => ({ SERVICE_URL: service.url, SERVICE_TOKEN: service.adminKey });

/** Follows docs/first-job.md in an empty folder, with the machine's Node. */
async function firstJob(AGENT: string): Promise<string> {
  const newcomer = new Blocks({ ...access(), ...packed.env, PATH: machinePath() });
  try {
    const [commands] = blocksOf("first-job.md", "sh");
    const [program] = blocksOf("first-job.md", "js");
    const env = { AGENT, CLIENT: packed.file };
    return await newcomer.output(commands, { env, files: { "first-job.mjs": program } });
  } finally {
    newcomer.remove();
  }
}

/** Waits until a server answers, whatever it says. */
async function answers(url: string): Promise<void> {
  const asked = () => fetch(url).catch(() => null);
  await vi.waitUntil(asked, { timeout: WAIT_MS, interval: 100 });
}

/** A new key with +PAY access. */
async function key(fields: object): Promise<string> {
  const body = { canPay: true, networkLimit: ["Preprod"], ...fields };
  return unwrap(await client.POST("/api/v1/api-key", { body })).token;
}

function rpcOf(url: string) {
  return async <T>(method: string, params: unknown[] = []): Promise<T> => {
    const response = await fetch(url, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }),
    });
    return ((await response.json()) as { result: T }).result;
  };
}

/** Registers an agent at a selling wallet, and waits until the chain shows it. */
async function register(type: string): Promise<string> {
  const query = { limit: 100 };
  const { ExtendedPaymentSources } = unwrap(
    await client.GET("/api/v1/payment-source-extended", { params: { query } }),
  );
  const source = ExtendedPaymentSources.find((one) => one.paymentSourceType === type);
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
