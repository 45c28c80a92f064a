import type { TestProject } from "vitest/node";
import { registerActors } from "../devnet/actors/control.ts";
import { ACTOR_FUNDS } from "../devnet/actors/wallets.ts";
import { startDevnet } from "../devnet/server.ts";

declare module "vitest" {
  interface ProvidedContext {
    /**
     * Origin of the local chain. It starts without chains: a test makes its own with
     * `POST /_control/create`, where every actor's wallet is funded unless the request says else.
     */
    devnetUrl: string;
  }
}

/** Runs one local chain server, with the actors, for all tests of the project. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const devnet = await startDevnet({ funds: ACTOR_FUNDS });
  registerActors(devnet);
  project.provide("devnetUrl", devnet.url);
  return () => devnet.close();
}
