import type { TestProject } from "vitest/node";
import { registerActors } from "../devnet/demo/actors/control.ts";
import { ACTOR_FUNDS } from "../devnet/demo/actors/wallets.ts";
import { startAgents } from "../devnet/demo/agents.ts";
import { startInboxProvider } from "../devnet/demo/inbox-provider.ts";
import { startPriceSource } from "../devnet/demo/price-source.ts";
import { startReceiver } from "../devnet/demo/receiver.ts";
import { startNameResolver } from "../devnet/demo/resolver.ts";
import { startEvmServer } from "../devnet/evm/server.ts";
import { startDevnet } from "../devnet/server/server.ts";
import { registerForeignWallet } from "./support/foreign-wallet.ts";

declare module "vitest" {
  interface ProvidedContext {
    /**
     * Origin of the local chain. It starts without chains: a test makes its own with
     * `POST /_control/create`, where every actor's wallet is funded unless the request says else.
     */
    devnetUrl: string;
    /** Origin of a receiver of webhooks; each test uses a separate path there. */
    receiverUrl: string;
    /** Origin of another receiver, where receivers redirect to. */
    bystanderUrl: string;
    /** Origin of agents that can be asked whether they are available; see devnet/demo/agents.ts. */
    agentsUrl: string;
    /** Origin of a DNS-over-HTTPS resolver; see devnet/demo/resolver.ts. */
    resolverUrl: string;
    /** Origin of an inbox provider; see devnet/demo/inbox-provider.ts. */
    inboxUrl: string;
    /** Origin of EVM nodes, one for each name a test asks for; see devnet/evm/server.ts. */
    evmUrl: string;
    /** Origin of a price API with recorded answers; see devnet/demo/price-source.ts. */
    pricesUrl: string;
  }
}

/** Runs one local chain server, with the actors, for all tests of the project. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const devnet = await startDevnet({ funds: ACTOR_FUNDS });
  registerActors(devnet);
  registerForeignWallet(devnet);
  project.provide("devnetUrl", devnet.url);
  const receiver = await startReceiver();
  project.provide("receiverUrl", receiver.url);
  const bystander = await startReceiver();
  project.provide("bystanderUrl", bystander.url);
  const agents = await startAgents();
  project.provide("agentsUrl", agents.url);
  const resolver = await startNameResolver();
  project.provide("resolverUrl", resolver.url);
  const inbox = await startInboxProvider();
  project.provide("inboxUrl", inbox.url);
  const prices = await startPriceSource();
  project.provide("pricesUrl", prices.url);
  const evm = await startEvmServer();
  project.provide("evmUrl", evm.url);
  return async () => {
    await evm.close();
    await prices.close();
    await inbox.close();
    await resolver.close();
    await agents.close();
    await bystander.close();
    await receiver.close();
    await devnet.close();
  };
}
