/**
 * The demo's registrations. Agents and an inbox agent are registered through the service's API, and
 * one agent is deregistered, as agents' owners do.
 */
import { type ApiAccess, ask, Refused } from "../client/api.ts";
import { until } from "../client/wait.ts";
import { CASTS, type Wallet } from "./actors/wallets.ts";
import type { Agents } from "./agents.ts";
import type { InboxProvider } from "./inbox-provider.ts";

const TYPE = "Web3ChainV1";
const POLL_MS = 500;
const INBOX_SLUG = "demo-inbox";

interface Registration {
  id: string;
  state: string;
  error: string | null;
  agentIdentifier: string;
}

/** What the registrations of the demo are made with. */
export interface RegistrationScene extends ApiAccess {
  agents: Agents;
  inbox: InboxProvider;
}

/**
 * Requests the registrations. Each takes a block or two in the background.
 *
 * @returns a promise of the inbox agent's publication and one deregistration
 * @throws when the service refuses
 */
export async function playRegistrations(
  scene: RegistrationScene,
): Promise<(signal: AbortSignal) => Promise<void>> {
  const [first, second] = CASTS[TYPE].sellers;
  if (!first || !second) throw new Error("the demo's payment source lacks a wallet");
  await ask(scene, "POST", "/registry", agent(scene.agents, "Registered adviser", first));
  const leaving = await ask<Registration>(
    scene,
    "POST",
    "/registry",
    agent(scene.agents, "Short-lived adviser", second),
  );
  const inbox = await ask<Registration>(scene, "POST", "/inbox-agents", {
    network: "Preprod",
    sellingWalletVkey: second.vkey,
    name: "Demo inbox",
    description: "An inbox agent of the local chain's demo.",
    agentSlug: INBOX_SLUG,
  });

  return async (signal) => {
    try {
      const confirmed = await confirmation(scene, "/registry", leaving.id, signal);
      await ask(scene, "DELETE", "/registry", {
        network: "Preprod",
        agentIdentifier: confirmed.agentIdentifier,
      });
      const { agentIdentifier } = await confirmation(scene, "/inbox-agents", inbox.id, signal);
      scene.inbox.publish(INBOX_SLUG, {
        body: { agentIdentifier, linkedEmail: "inbox@example.com", signingPublicKey: "demo key" },
      });
      await refreshed(scene, { network: "Preprod", agentIdentifier }, signal);
    } catch (error) {
      if (!signal.aborted) throw error;
    }
  };
}

/** What registers an agent of a selling wallet. */
export function agent(agents: Agents, name: string, { vkey }: Wallet) {
  return {
    network: "Preprod",
    sellingWalletVkey: vkey,
    name,
    description: "An agent that was registered through the service's API.",
    apiBaseUrl: `${agents.url}/${name.toLowerCase().replaceAll(" ", "-")}`,
    Tags: ["demo", "advice"],
    Capability: { name: "advice", version: "1.0.0" },
    Author: { name: "The demo" },
    AgentPricing: { pricingType: "Fixed", Pricing: [{ unit: "", amount: "5000000" }] },
  };
}

/** Waits until a registration is on the chain. @throws when it fails, or the signal aborts. */
async function confirmation(
  scene: RegistrationScene,
  path: string,
  id: string,
  signal: AbortSignal,
): Promise<Registration> {
  const look = async () => {
    const list = `${path}?network=Preprod&searchQuery=${id}`;
    const { Assets } = await ask<{ Assets: Registration[] }>(scene, "GET", list);
    const found = Assets[0];
    if (!found || found.state === "RegistrationFailed")
      throw new Error(`registration ${id}: ${found?.error ?? "is gone"}`);
    return found.state === "RegistrationConfirmed" && found;
  };
  return until(look, { what: `registration ${id}`, everyMs: POLL_MS, signal });
}

/** Has a registration verified as soon as the service has seen it on the chain. */
async function refreshed(service: ApiAccess, body: object, signal: AbortSignal): Promise<void> {
  const look = async () => {
    try {
      await ask(service, "POST", "/inbox-agent-registration-refresh", body);
      return true;
    } catch (error) {
      if (!(error instanceof Refused) || error.status !== 404) throw error;
      return false;
    }
  };
  await until(look, { what: "the inbox agent on the chain", everyMs: POLL_MS, signal });
}
