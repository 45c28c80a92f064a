import { env } from "cloudflare:workers";
import { beforeAll, describe, expect, it } from "vitest";
import { hashInput } from "../../client/index.ts";
import type { Scope } from "../../src/http/scope.ts";
import { sampled } from "../support/effort.ts";
import { FIXED, type Shown } from "../support/escrow/quote-fixture.ts";
import { answerAsAgent, HOSTILE } from "./deployment/agents.ts";
import { makeOrder, NONCE } from "./deployment/escrows.ts";
import { type Deployment, openDeployment } from "./deployment/open-deployment.ts";
import { type Probes, probeWith } from "./probes/probe.ts";
import type { Resources } from "./resources.ts";
import type { Fields } from "./service.ts";
import { STRANGERS } from "./strangers.ts";
import { findFailures, findLeaks, startWalk, type Walked } from "./walk.ts";

const INPUT = { text: "Guten Tag" };
const TEN_COINS = [{ unit: "", amount: "10000000" }];

const SCOPES: Readonly<Record<string, Scope>> = {
  find_agents: "network",
  show_agent: "network",
  quote_job: "wallets",
  purchase_job: "wallets",
  purchase_status: "wallets",
  request_refund: "wallets",
  quote_resource: "public",
  pay_resource: "public",
  spending: "wallets",
};

/** A resource that asks for no payment: it is the same for every key. */
const FREE_RESOURCE = { url: `${env.AGENTS_URL}/scope/input_schema` };
const FREE_ANSWER = {
  audience: "public",
  isRevealed: (body: string) => body.includes('"paymentRequired": false'),
} as const;

/** A quote that the agent's server answers, and the order that it makes. */
let quote: Shown;

const PROBES: Probes = {
  find_agents: probeWith(({ network }) => ({ network, query: "translat" })),
  show_agent: [
    {
      fields: ({ agentIdentifier }) => ({ agentIdentifier }),
      reveals: { audience: "network", isRevealed: (body) => body.includes("Translator") },
    },
  ],
  quote_job: [
    {
      fields: ({ network, agentIdentifier }) => ({
        ...{ network, agentIdentifier, input: INPUT, identifierFromPurchaser: NONCE },
      }),
      reveals: { audience: "network", isRevealed: (body) => body.includes("order") },
    },
  ],
  purchase_job: probeWith(
    () => ({ order: makeToolOrder(quote), confirmedPrice: FIXED }),
    ({ boughtIdentifier }, { escrows }) => ({
      order: { ...makeToolOrder(escrows.bought), blockchainIdentifier: boughtIdentifier },
      confirmedPrice: FIXED,
    }),
  ),
  purchase_status: probeWith(({ network, lockedIdentifier }) => ({
    network,
    blockchainIdentifier: lockedIdentifier,
  })),
  request_refund: probeWith(({ network, lockedIdentifier }) => ({
    network,
    blockchainIdentifier: lockedIdentifier,
    confirmedAmount: TEN_COINS,
  })),
  quote_resource: [{ fields: () => FREE_RESOURCE, reveals: FREE_ANSWER }],
  pay_resource: [
    {
      fields: (_, { x402 }) => {
        const { scheme, network, asset, payTo, amount } = x402.source.requirements;
        const confirmedPayment = { scheme, network, asset, payTo, amount };
        return { ...FREE_RESOURCE, quoteId: NONCE, confirmedPayment };
      },
      reveals: FREE_ANSWER,
    },
  ],
  spending: [
    {
      fields: () => ({}),
      reveals: {
        audience: "wallets",
        isRevealed: (body) =>
          JSON.parse(body).purchases.some(({ locked }: Shown) => locked.length > 0),
      },
    },
  ],
};

/** What `POST /purchase` takes of a quote, as `quote_job` answers it: without what is null. */
function makeToolOrder(made: Shown) {
  const { metadata: _, ...order } = makeOrder(made);
  return Object.fromEntries(Object.entries(order).filter(([, value]) => value !== null));
}

let walked: Walked;

beforeAll(async () => {
  const deployment = await openDeployment();
  quote = await requestQuote(deployment);
  walked = await startWalk({
    deployment,
    ask: (...request) => deployment.service.callTool(...request),
    scopeOf: (name) => SCOPES[name] ?? "admin",
    refusal: 400,
  });
});

/** Has the owner's agent quote the job whose input the tools send. */
async function requestQuote({ service, resources, tokens, escrows }: Deployment): Promise<Shown> {
  const { payByTime, submitResultTime } = escrows.quoted;
  const made = await service.made<Shown>(
    "POST /payment",
    {
      network: resources.network,
      agentIdentifier: resources.agentIdentifier,
      inputHash: await hashInput(NONCE, INPUT),
      identifierFromPurchaser: NONCE,
      payByTime: new Date(Number(payByTime)).toISOString(),
      submitResultTime: new Date(Number(submitResultTime)).toISOString(),
      supportedPaymentSourceIndex: 0,
    },
    tokens.owner,
  );
  const { blockchainIdentifier, sellerVKey, unlockTime, externalDisputeUnlockTime } = made;
  const { sellerReturnAddress } = made;
  await answerAsAgent("start_job", {
    ...{ job_id: "job", blockchainIdentifier, sellerVKey, supportedPaymentSourceIndex: 0 },
    ...{ payByTime, submitResultTime, unlockTime, externalDisputeUnlockTime },
    ...(sellerReturnAddress !== null && { sellerReturnAddress }),
  });
  await answerAsAgent("input_schema", { input_data: [{ id: "text", type: "string" }] });
  return made;
}

describe("the probes", () => {
  it("cover every tool that a key with +PAY is shown, and no other", async () => {
    const { service, tokens } = walked.deployment;
    const { body } = await service.message("tools/list", {}, tokens.owner);
    const { result } = JSON.parse(body) as { result: { tools: { name: string }[] } };
    const names = result.tools.map(({ name }) => name).sort();
    expect([names, names]).toEqual([Object.keys(PROBES).sort(), Object.keys(SCOPES).sort()]);
  });
});

describe("an agent whose every text is hostile", () => {
  const QUOTED: [name: string, fields: (resources: Resources) => Fields][] = [
    ["find_agents", ({ network }) => ({ network, query: HOSTILE })],
    ["show_agent", ({ hostileIdentifier }) => ({ agentIdentifier: hostileIdentifier })],
  ];

  it.each(QUOTED)("is quoted by %s under untrusted_data alone", async (name, fields) => {
    const { service, resources, tokens } = walked.deployment;
    const { status, body } = await service.callTool(name, fields(resources), tokens.owner);
    expect({ status, body }).toEqual({ status: 200, body: expect.stringContaining(HOSTILE) });
    const trusted = JSON.parse(body, (member, value) =>
      member === "untrusted_data" ? undefined : value,
    );
    expect(JSON.stringify(trusted)).not.toContain(HOSTILE);
  });
});

describe.each(sampled(3, Object.keys(PROBES)))("the tool %s", (name) => {
  const probes = PROBES[name] ?? [];

  it.each(STRANGERS)(
    "shows, reveals and changes nothing of the owner's for %s",
    async (stranger) => {
      const leaks: string[] = [];
      for (const probe of probes) leaks.push(...(await findLeaks(walked, name, probe, stranger)));
      expect(leaks).toEqual([]);
    },
  );

  it("serves the owner", async () => {
    const failures: string[] = [];
    const { owner } = walked.deployment.tokens;
    for (const probe of probes) failures.push(...(await findFailures(walked, name, probe, owner)));
    expect(failures).toEqual([]);
  });
});
