/** A service with an agent on a local chain, the jobs that it quotes, and blocks until they are somewhere. */
import { randomBytes } from "node:crypto";
import { until } from "../../devnet/client/wait.ts";
import { publishScripts } from "../../devnet/demo/actors/publish.ts";
import { ACTOR_FUNDS } from "../../devnet/demo/actors/wallets.ts";
import type { DevnetNode } from "../../devnet/server/node.ts";
import { startDevnet } from "../../devnet/server/server.ts";
import type { PaymentSourceType } from "../../src/chain/network.ts";
import { createSource, register } from "./selling.ts";
import { type BenchContext, type BenchService, call, startBenchService } from "./service.ts";

const NETWORK = "Preprod";
const PRICE = "5000000";
const HOUR_MS = 3_600_000;
const POLL_MS = 100;
const ASK_MS = 1_000;
/** A mempool that did not grow for so long has all that the wallet hands over before a block. */
const QUIET_MS = 1_500;
const STOPPED_AFTER_MS = 60_000;

/** The body of a POST /purchase. */
interface Job extends Record<string, unknown> {
  blockchainIdentifier: string;
}

/** Where records of a side are to be. */
interface Reached {
  side: "payment" | "purchase";
  state: string;
}

/** A service with a source, a wallet that buys, and an agent on a chain of their own. */
export async function withAgent<Result>(
  context: BenchContext,
  type: PaymentSourceType,
  run: (service: BenchService, node: DevnetNode) => Promise<Result>,
): Promise<Result> {
  const devnet = await startDevnet();
  try {
    const node = devnet.createChain("bench", { funds: ACTOR_FUNDS });
    publishScripts(node.chain);
    node.chain.mine();
    const service = await startBenchService(context, {
      BLOCKFROST_URL_PREPROD: node.url,
      LOOPBACK_ORIGINS: devnet.url,
      PROVIDER_CALLS_PER_SECOND: "1000000",
    });
    try {
      await createSource(service, type);
      await openAgent(service, node);
      return await run(service, node);
    } finally {
      await service.host.close();
    }
  } finally {
    await devnet.close();
  }
}

/** Registers an agent, and waits until it is on the chain. */
export async function openAgent(service: BenchService, { chain }: DevnetNode): Promise<void> {
  const Pricing = [{ unit: "", amount: PRICE }];
  await register(service, "Measured agent", { pricingType: "Fixed", Pricing });
  const look = async () => {
    if (chain.mempool().length > 0) chain.mine();
    await service.host.scheduled();
    return (await agentOf(service)) !== null;
  };
  await until(look, { what: "an agent", everyMs: POLL_MS, limitMs: STOPPED_AFTER_MS });
}

async function agentOf(service: BenchService): Promise<string | null> {
  type Assets = { Assets: { state: string; agentIdentifier: string }[] };
  const { Assets } = await call<Assets>(service, `/api/v1/registry?network=${NETWORK}`);
  const [agent] = Assets;
  return agent?.state === "RegistrationConfirmed" ? agent.agentIdentifier : null;
}

/**
 * Has as many jobs quoted as are bought.
 *
 * @param timesOf - of each, by its number
 * @returns bodies of POST /purchase
 */
export async function quoteJobs(
  service: BenchService,
  type: PaymentSourceType,
  count: number,
  timesOf: (i: number) => object = () => ({ payByTime: inHours(2), submitResultTime: inHours(4) }),
): Promise<Job[]> {
  const agentIdentifier = await agentOf(service);
  const index = type === "Web3ChainV2" && { supportedPaymentSourceIndex: 0 };
  const bodies: Job[] = [];
  for (let i = 0; i < count; i++) {
    const job = {
      network: NETWORK,
      agentIdentifier,
      inputHash: randomBytes(32).toString("hex"),
      identifierFromPurchaser: randomBytes(10).toString("hex"),
      ...index,
    };
    const quoted = await call<Record<string, string>>(service, "/api/v1/payment", {
      method: "POST",
      body: { ...job, ...timesOf(i) },
    });
    bodies.push({
      ...job,
      blockchainIdentifier: String(quoted.blockchainIdentifier),
      sellerVkey: quoted.sellerVKey,
      payByTime: quoted.payByTime,
      submitResultTime: quoted.submitResultTime,
      unlockTime: quoted.unlockTime,
      externalDisputeUnlockTime: quoted.externalDisputeUnlockTime,
      ...(index && { sellerReturnAddress: quoted.sellerReturnAddress }),
    });
  }
  return bodies;
}

const inHours = (hours: number) => new Date(Date.now() + hours * HOUR_MS).toISOString();

/** Makes blocks until so many records are in a state. @returns how many blocks had transactions */
export async function mineUntil(
  service: BenchService,
  { chain }: DevnetNode,
  reached: Reached,
  count: number,
): Promise<number> {
  let blocks = 0;
  let [seen, since, asked] = [0, performance.now(), performance.now()];
  const look = async () => {
    const waiting = chain.mempool().length;
    if (waiting !== seen) [seen, since] = [waiting, performance.now()];
    if (waiting > 0 && performance.now() - since > QUIET_MS) {
      chain.mine();
      blocks++;
    }
    // A question costs the service CPU too.
    if (waiting > 0 || performance.now() - asked < ASK_MS) return false;
    asked = performance.now();
    // The cron's part: what was sent is looked for at once.
    await service.host.scheduled();
    return (await countIn(service, reached)) >= count;
  };
  await until(look, { what: `all ${reached.state}`, everyMs: POLL_MS, limitMs: STOPPED_AFTER_MS });
  return blocks;
}

/** Puts the contract's script on the chain, for the steps that come after it. */
export async function publishReferenceScript(
  service: BenchService,
  { chain }: DevnetNode,
): Promise<void> {
  const sources = await call<{ PaymentSources: { id: string }[] }>(
    service,
    "/api/v1/payment-source",
  );
  const id = sources.PaymentSources[0]?.id ?? "";
  const path = "/api/v1/payment-source-extended/reference-script";
  await call(service, path, { method: "POST", body: { id } });
  const look = async () => {
    if (chain.mempool().length > 0) chain.mine();
    await service.host.scheduled();
    const { state } = await call<{ state: string }>(service, `${path}?id=${id}`);
    return state === "Published";
  };
  await until(look, { what: "the script", everyMs: POLL_MS, limitMs: STOPPED_AFTER_MS });
}

/** How many records of a side are in a state. */
export async function countIn({ host }: BenchService, { side, state }: Reached): Promise<number> {
  const row = await host.d1
    .prepare("SELECT count(*) AS found FROM escrow WHERE side = ? AND on_chain_state = ?")
    .bind(side, state)
    .first<{ found: number }>();
  return row?.found ?? 0;
}
