/** Updates of agents with several ways to be paid: whatever happens on the way, one token says what was asked last. */
import { env } from "cloudflare:workers";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { emptyTables } from "../support/app.ts";
import { runs, sweep } from "../support/effort.ts";
import { RegistrationFixture } from "../support/registry/registration-fixture.ts";
import { diff, settleRegistry } from "../support/registry/registry-sync.ts";
import { stopAt } from "../support/stop-at.ts";
import { X402Fixture } from "../x402/x402-fixture.ts";

const V2 = "Web3ChainV2";
let x402: X402Fixture;

beforeEach(async () => {
  await emptyTables();
  x402 ??= await X402Fixture.create("84532-updates");
  await x402.setUp();
});
afterEach(() => {
  vi.unstubAllGlobals();
});

const price = (amount: number) => ({
  chain: "Chain",
  network: "Preprod",
  pricing: { pricingType: "Fixed", fixed: [{ asset: "", amount: String(amount) }] },
});
const resource = (amount: number) => ({
  chain: "EVM",
  network: x402.caip2,
  payTo: `0x${"ab".repeat(20)}`,
  pricing: {
    pricingType: "Fixed",
    fixed: [{ asset: x402.contracts.token, amount: String(amount) }],
  },
});
const selling = (SupportedPaymentSources: object[]) => ({
  AgentPricing: undefined,
  SupportedPaymentSources,
});

describe("POST /registry/update, stopped at any awaited step and sent again", () => {
  it.each(["before", "after"] as const)("is requested once (%s the step)", async (when) => {
    const fixture = await RegistrationFixture.open({ type: V2 });
    const begin = async () => {
      const { id } = (await fixture.register()).data;
      await fixture.settle();
      return { id, agentIdentifier: (await fixture.shown(id)).agentIdentifier };
    };
    const resources = () =>
      env.DB.prepare("SELECT count(*) AS n FROM x402_payment_source").first<number>("n");
    const update = (agentIdentifier: string | null, key: string) =>
      fixture.update(agentIdentifier, selling([price(5_000_000), resource(7)]), {
        "idempotency-key": key,
      });
    const { agentIdentifier } = await begin();
    const counting = stopAt(Number.POSITIVE_INFINITY, when);
    fixture.bindings = counting.overrides;
    await update(agentIdentifier, "counting");
    fixture.bindings = {};
    vi.unstubAllGlobals();
    expect(counting.count()).toBeGreaterThanOrEqual(10);
    let expected = 1;
    for (const k of sweep(8, counting.count())) {
      const agent = await begin();
      const stopping = stopAt(k, when);
      fixture.bindings = stopping.overrides;
      await update(agent.agentIdentifier, `key-${k}`).catch(() => undefined);
      fixture.bindings = {};
      vi.unstubAllGlobals();
      const again = await update(agent.agentIdentifier, `key-${k}`);
      expect(again, `stopped at step ${k}`).toMatchObject({
        status: 200,
        data: { state: "UpdateRequested", SupportedPaymentSources: [{}, {}] },
      });
      expect(await resources()).toBe(++expected);
      await fixture.settle();
      expect(await fixture.shown(agent.id)).toMatchObject({
        state: "UpdateConfirmed",
        SupportedPaymentSources: [{}, { id: expect.any(String) }],
      });
    }
  });
});

describe("any story of updates", () => {
  const amounts = fc.integer({ min: 2_000_000, max: 2_000_003 });
  const step = fc.oneof(
    fc.record({
      do: fc.constant("update" as const),
      ledger: fc.uniqueArray(amounts, { maxLength: 3 }),
      evm: fc.uniqueArray(amounts, { minLength: 1, maxLength: 2 }),
      isKept: fc.boolean(),
    }),
    fc.record({
      do: fc.constantFrom("work" as const, "lose" as const, "rollback" as const, "sync" as const),
    }),
  );

  it("ends with one token, which says in the registry what was asked last", async () => {
    const property = fc.asyncProperty(
      fc.array(step, { minLength: 3, maxLength: 8 }),
      async (steps) => {
        await emptyTables();
        await x402.setUp();
        const fixture = await RegistrationFixture.open({ type: V2 });
        const { id } = (await fixture.register(selling([resource(1), price(5_000_000)]))).data;
        await fixture.settle();
        const source = await fixture.followPolicy();
        // No rollback reaches the first token: without one there is nothing to update.
        await fixture.chain.mine();
        for (const one of steps) {
          const { agentIdentifier } = await fixture.shown(id);
          if (one.do === "update") {
            const sources = [...one.ledger.map(price), ...one.evm.map(resource)];
            const body = one.isKept ? { AgentPricing: undefined } : selling(sources);
            // 404 after a rollback of the token, 409 while an update is under way.
            expect([200, 404, 409]).toContain((await fixture.update(agentIdentifier, body)).status);
          } else if (one.do === "work") await fixture.work();
          else if (one.do === "sync") await settleRegistry(fixture.chain, source);
          else if (one.do === "lose") {
            await fixture.chain.faults({ match: "/tx/submit", truncate: true, times: 1 });
            await fixture.work();
          } else {
            // A registry source that has seen the block notices that the block is gone.
            await settleRegistry(fixture.chain, source);
            await fixture.chain.rollback(1);
            await fixture.chain.mine(2);
          }
        }
        await fixture.chain.faults();
        // The wallet sends again what a rollback removed, until its validity ends.
        await fixture.chain.advance(15 * 60_000);
        await fixture.chain.mine();
        for (let turns = 0; turns < 3; turns++) {
          await fixture.settle();
          await settleRegistry(fixture.chain, source);
        }
        const shown = await fixture.shown(id);
        const { held } = await fixture.tokens();
        expect(held).toEqual([shown.agentIdentifier]);
        const entries = (await diff({ limit: 50 })).filter(
          ({ status }) => status !== "Deregistered",
        );
        const listed = (shown.SupportedPaymentSources as { id?: string }[]).map(
          ({ id: _, ...rest }) => rest,
        );
        expect(entries).toMatchObject([
          { agentIdentifier: shown.agentIdentifier, SupportedPaymentSources: listed },
        ]);
      },
    );
    await fc.assert(property, { ...runs(3, 60), endOnFailure: true });
  });
});
