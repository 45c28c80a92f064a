import { afterEach, describe, expect, it } from "vitest";
import { freePort, killCopies, ready, start, stop } from "./copies.ts";

afterEach(killCopies);

describe("npm start", () => {
  it("registers agents and an inbox agent through the API, verifies it, and deregisters another", {
    timeout: 150_000,
  }, async () => {
    const copy = start(await freePort());
    const { url, adminKey } = await ready(copy);
    const ask = async (path: string, body?: object) => {
      const response = await fetch(`${url}/api/v1${path}`, {
        method: body ? "POST" : "GET",
        headers: { token: adminKey },
        ...(body && { body: JSON.stringify(body) }),
      });
      return ((await response.json()) as { data: Record<string, Record<string, string>[]> }).data;
    };
    const state = async () => {
      const { Assets: agents = [] } = await ask("/registry?network=Preprod");
      const { Assets: inboxAgents = [] } = await ask("/inbox-agents?network=Preprod");
      const { registrations = [] } = await ask("/inbox-agent-registration", { network: "Preprod" });
      return {
        agents: agents.map(({ name, state }) => `${name}: ${state}`).sort(),
        inboxAgents: inboxAgents.map(({ agentSlug, state }) => `${agentSlug}: ${state}`),
        inboxes: registrations.map(({ agentSlug, status }) => `${agentSlug}: ${status}`),
      };
    };
    await expect.poll(state, { timeout: 90_000, interval: 500 }).toEqual({
      agents: [
        "Registered adviser: RegistrationConfirmed",
        "Short-lived adviser: DeregistrationConfirmed",
      ],
      inboxAgents: ["demo-inbox: RegistrationConfirmed"],
      inboxes: ["demo-inbox: Verified"],
    });
    expect(await stop(copy)).toBe(0);
  });
});
