/** The guides for production, followed against a service of their own without the demo's purchases. */
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { until } from "../../../devnet/client/wait.ts";
import { type Address, freePort, killCopies, ready, start, stop, WAIT_MS } from "../copies.ts";
import { PackedClient } from "../packed-client.ts";
import { Blocks, blocksLeft, blocksOf, commandOf, GUIDES, has, orderWrongly } from "./blocks.ts";

const [SELLERS, BUYERS] = ["escrow-for-sellers.md", "escrow-for-buyers.md"] as const;

let service: Address;
/** Of the seller's agent, which the service may call. */
let PORT: string;
let packed: PackedClient;
let blocks: Blocks;

beforeAll(async () => {
  PORT = String(await freePort());
  const origins = `--origins=http://127.0.0.1:${PORT}`;
  service = await ready(start(await freePort(), "--idle", origins));
  packed = await PackedClient.open();
  const access = { SERVICE_URL: service.url, SERVICE_TOKEN: service.adminKey };
  blocks = new Blocks({ ...packed.env, ...access });
  await blocks.install(packed);
});

afterAll(() => {
  killCopies();
  blocks.remove();
  packed.close();
});

it("docs/escrow-for-sellers.md leads to an agent from which docs/escrow-for-buyers.md leads to a job", async () => {
  const [install, variables, register, id, read, agent, sellersKey, newest, income] = blocksOf(
    SELLERS,
    "sh",
  );
  await blocks.output(install, { folder: "." });
  for (const block of [variables, id, agent]) await blocks.output(block);
  const ID = (await blocks.output(register, { env: { LISTEN_PORT: PORT } })).trim();
  const readAgent = async () => {
    const [state, identifier] = (await blocks.output(read, { env: { ID } })).trim().split(" ");
    return state === "RegistrationConfirmed" && identifier;
  };
  const AGENT_IDENTIFIER = await until(readAgent, { what: "the registration", limitMs: WAIT_MS });
  const seller = { SERVICE_TOKEN: tokenOf(await blocks.output(sellersKey)) };
  const [server] = blocksOf(SELLERS, "ts");
  const shop = blocks.start(commandOf(SELLERS, "seller.mts"), {
    env: { ...seller, AGENT_IDENTIFIER, LISTEN_PORT: PORT },
    files: { "seller.mts": server },
  });
  const AGENT_URL = `http://127.0.0.1:${PORT}`;
  const request = () => fetch(AGENT_URL).catch(() => null);
  await vi.waitUntil(request, { timeout: WAIT_MS, interval: 100 });
  expect(await orderWrongly(AGENT_URL)).toBe(400);
  const readSchema = async () => (await fetch(`${AGENT_URL}/input_schema`)).json();
  const schema = { input_data: [{ id: "text", type: "string", name: "Text" }] };
  expect(await readSchema()).toEqual(schema);

  const [installAgain, names, list, url, buyersKey, tooDear, another, refund, left, spending] =
    blocksOf(BUYERS, "sh");
  await blocks.output(installAgain, { folder: "." });
  for (const block of [names, url]) await blocks.output(block);
  const isListed = async () =>
    (await blocks.output(list)).includes(`${AGENT_URL}  Loud translator\n`);
  await until(isListed, { what: "the agent in the list", limitMs: WAIT_MS });
  const buyer = { SERVICE_TOKEN: tokenOf(await blocks.output(buyersKey)), AGENT_URL };
  const [program] = blocksOf(BUYERS, "ts");
  const files = { "buy.mts": program };
  const buy = (folder = "order-1") =>
    blocks.output(commandOf(BUYERS, "buy.mts"), { folder, env: buyer, files });
  const inFolder = { folder: "order-1", env: buyer, files };
  expect(await blocks.output(tooDear, { ...inFolder, exitCode: 1 })).toMatch(
    /^\w+\nThe price is 5000000 .*1000000/,
  );
  const printed = await buy();
  expect(printed).toMatch(/^\w+\nGUTEN TAG\n$/);
  // The second run continues the same purchase: the key's limit is enough for one.
  expect(await buy()).toBe(printed);
  expect(await blocks.output(another, inFolder)).toMatch(/^\w+\nThe API key's spending limits /);
  expect(await buy()).toBe(printed);
  expect(shop.stderr).toBe("");
  const key = JSON.parse(await blocks.output(left, { env: buyer })).data;
  expect(key).toMatchObject({
    spendingLimits: [{ amount: "5000000" }],
    RemainingUsageCredits: [{ amount: "0" }],
  });

  const [IDENTIFIER = ""] = printed.split("\n");
  const { data } = JSON.parse(await blocks.output(refund, { env: { ...buyer, IDENTIFIER } }));
  expect(data.NextAction.requestedAction).toBe("SetRefundRequestedRequested");
  expect(data.PaymentSource.paymentSourceType).toBe("Web3ChainV1");
  const TotalPending = { Units: [{ unit: "", gross: "5000000" }] };
  for (const [block, env] of [
    [spending, buyer],
    [income, { ...seller, AGENT_IDENTIFIER }],
  ] as const)
    expect(JSON.parse(await blocks.output(block, { env })).data).toMatchObject({ TotalPending });

  const shown = await blocks.output(newest, { env: { ...seller, AGENT_IDENTIFIER } });
  const states = shown
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line).onChainState);
  // The newest quote was beyond the key's limit, and the oldest above `atMost`.
  expect(states).toEqual([null, expect.any(String), null]);
  // As at(10) and at(41) of the seller's program, which the guide names.
  expect(Math.round((data.unlockTime - data.payByTime) / 60_000)).toBe(31);

  if (!has("py")) return;
  await stop(shop);
  const [pythonServer] = blocksOf(SELLERS, "py");
  const other = blocks.start(commandOf(SELLERS, "seller.py"), {
    env: { ...seller, AGENT_IDENTIFIER, LISTEN_PORT: PORT },
    files: { "seller.py": pythonServer },
  });
  await vi.waitUntil(request, { timeout: WAIT_MS, interval: 100 });
  expect(await orderWrongly(AGENT_URL)).toBe(400);
  expect(await readSchema()).toEqual(schema);
  buyer.SERVICE_TOKEN = tokenOf(await blocks.output(buyersKey));
  expect(await buy("order-2")).toMatch(/\nGUTEN TAG\n$/);
  expect(other.stderr).toBe("");
});

it("docs/polling.md has programs that print each change once, also when they are run again", async () => {
  // The sellers in TypeScript and in Python have sold one each.
  const jobs = has("py") ? 2 : 1;
  const programs = blocksOf("polling.md", "ts");
  if (has("py")) programs.push(...blocksOf("polling.md", "py"));
  for (const program of programs) {
    expect((await blocks.output(program)).match(/^\w{26} \w+\n/gm)).toHaveLength(jobs);
    expect(await blocks.output(program)).toMatch(/^(\w{26} \w+\n)?$/);
  }
  const [command] = blocksOf("polling.md", "sh");
  expect(JSON.parse(await blocks.output(command)).data.Purchases).toHaveLength(jobs);
});

it("every block of these guides was run", () => {
  expect(blocksLeft(GUIDES)).toEqual([]);
});

/** The API key in an answer that created it. */
function tokenOf(answer: string): string {
  return JSON.parse(answer).data.token;
}
