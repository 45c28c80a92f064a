import { beforeEach, describe, expect, it } from "vitest";
import { emptyTables } from "../support/app.ts";
import { openInbox } from "../support/registry/inbox.ts";
import type { ShownRegistration } from "../support/registry/registration-fixture.ts";

beforeEach(emptyTables);

/** Two registered inbox agents and an agent of one wallet, and how to read them. */
async function registered() {
  const inbox = await openInbox();
  const { fixture, slug } = inbox;
  for (const name of ["a", "b"]) await inbox.register({ name, agentSlug: `${slug}-${name}` });
  await fixture.register({ name: "an agent" });
  await fixture.settle();
  const get = <Data>(path: string, query: object = {}) => {
    const params = new URLSearchParams({ network: "Preprod", ...query });
    return fixture.ask<Data>("GET", `${path}?${params}`);
  };
  return { ...inbox, get };
}

interface Token {
  agentIdentifier: string;
  Metadata: { name: string };
}

const PATHS = ["/inbox-agents", "/registry-inbox"];

describe.each(PATHS)("%s", (path) => {
  it("pages through the changes of inbox agents, and counts them", async () => {
    const { fixture, get } = await registered();
    const diff = async (query: object) =>
      (await get<{ Assets: ShownRegistration[] }>(`${path}/diff`, query)).data.Assets;
    const [a, b, ...others] = await diff({});
    expect([a?.name, b?.name, others]).toEqual(["a", "b", []]);
    const point = { lastUpdate: b?.registrationStateLastChangedAt, cursorId: b?.id };
    expect(await diff(point)).toMatchObject([{ name: "b" }]);
    await fixture.ask("POST", `${path}/deregister`, {
      network: "Preprod",
      agentIdentifier: a?.agentIdentifier,
    });
    expect(await diff(point)).toMatchObject([
      { name: "b" },
      { name: "a", state: "DeregistrationRequested" },
    ]);
    expect((await get(`${path}/count`)).data).toEqual({
      total: 2,
      byState: [
        { state: "DeregistrationRequested", count: 1 },
        { state: "RegistrationConfirmed", count: 1 },
      ],
    });
  });

  it("shows the inbox agents among a wallet's tokens, and each by its identifier", async () => {
    const { fixture, get, slug } = await registered();
    const { vkey } = fixture.sellers[0];
    const { data } = await get<{ Assets: Token[] }>(`${path}/wallet`, { walletVKey: vkey });
    const assets = data.Assets.toSorted((a, b) => (a.Metadata.name < b.Metadata.name ? -1 : 1));
    const token = (name: string) => ({
      policyId: fixture.contract.policyId,
      assetName: expect.stringMatching(/^[0-9a-f]{64}$/),
      agentIdentifier: expect.stringContaining(fixture.contract.policyId),
      Metadata: {
        name,
        description: "Takes letters",
        agentSlug: `${slug}-${name}`,
        metadataVersion: 1,
      },
    });
    expect(assets).toEqual([token("a"), token("b")]);
    const [first] = assets;
    const { agentIdentifier = "" } = first ?? {};
    expect((await get(`${path}/agent-identifier`, { agentIdentifier })).data).toEqual(first);
    const unknown = { agentIdentifier: `${fixture.contract.policyId}00` };
    expect((await get(`${path}/agent-identifier`, unknown)).status).toBe(404);
  });

  it("shows no agent that is no inbox agent", async () => {
    const { fixture, get } = await registered();
    const { vkey } = fixture.sellers[0];
    const agents = await get<{ Assets: Token[] }>("/registry/wallet", { walletVKey: vkey });
    const [agent] = agents.data.Assets;
    expect(agents.data.Assets).toMatchObject([{ Metadata: { name: "an agent" } }]);
    const { agentIdentifier = "" } = agent ?? {};
    expect(await get(`${path}/agent-identifier`, { agentIdentifier })).toMatchObject({
      status: 404,
      message: expect.stringContaining("it is no inbox agent's"),
    });
  });
});
