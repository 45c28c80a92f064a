import { env } from "cloudflare:workers";
import { beforeEach, describe, expect, it } from "vitest";
import { emptyTables } from "../support/app.ts";
import {
  BURNED_ONCE,
  deregistering,
  MINTED_ONCE,
  type RegistrationFixture,
  requested,
  UPDATED_ONCE,
  updating,
} from "../support/registry/registration-fixture.ts";
import { settleRegistry } from "../support/registry/registry-sync.ts";

/** Past the validity of any transaction made now, and past the time a provider may be late. */
const UNTIL_INVALID_MS = 15 * 60_000;

/** What a node says of the scripts of a minting. */
const USED = JSON.stringify({
  result: { EvaluationResult: { "mint:0": { memory: 1_000_000, steps: 500_000_000 } } },
});

beforeEach(emptyTables);

async function letValidityPass(fixture: RegistrationFixture): Promise<void> {
  await fixture.chain.advance(UNTIL_INVALID_MS);
  await fixture.chain.mine();
}

describe("a submission whose answer is lost", () => {
  it("is found on the chain when the network took it", async () => {
    const { fixture, id } = await requested();
    await fixture.chain.faults({ match: "/tx/submit", truncate: true });
    await fixture.work();
    expect(await fixture.shown(id)).toMatchObject({ state: "RegistrationInitiated", error: null });
    await fixture.settle();
    expect(await fixture.shown(id)).toMatchObject({ state: "RegistrationConfirmed" });
    expect(await fixture.tokens()).toMatchObject(MINTED_ONCE);
  });

  it("is sent again, the same bytes, when the network never saw it", async () => {
    const { fixture, id } = await requested();
    await fixture.chain.faults({ match: "/tx/submit", status: 504, times: 2 });
    await fixture.work();
    const { CurrentTransaction } = await fixture.shown(id);
    await fixture.settle();
    expect(await fixture.shown(id)).toMatchObject({
      state: "RegistrationConfirmed",
      CurrentTransaction: { txHash: CurrentTransaction?.txHash },
    });
    expect(await fixture.tokens()).toMatchObject(MINTED_ONCE);
  });

  it.each([
    ["a registration", requested, "Registration", { ...MINTED_ONCE }],
    ["a deregistration", deregistering, "Deregistration", { ...BURNED_ONCE }],
    ["an update", updating, "Update", { ...UPDATED_ONCE }],
  ] as const)(
    "goes back to requested once %s can no longer land, and is made anew",
    async (_, begin, name, tokens) => {
      const { fixture, id } = await begin();
      await fixture.chain.faults({ match: "/tx/submit", status: 504 });
      await fixture.work();
      expect(await fixture.shown(id)).toMatchObject({ state: `${name}Initiated` });
      await letValidityPass(fixture);
      await fixture.work();
      expect(await fixture.shown(id)).toMatchObject({
        state: `${name}Requested`,
        error: expect.stringContaining("in time"),
        CurrentTransaction: { status: "FailedViaTimeout" },
      });
      await fixture.chain.faults();
      await fixture.settle();
      expect(await fixture.shown(id)).toMatchObject({ state: `${name}Confirmed`, error: null });
      expect(await fixture.tokens()).toMatchObject(tokens);
    },
  );

  it("is taken for landed when it comes after it was given up", async () => {
    const { fixture, id } = await requested();
    await fixture.chain.faults(
      { match: "/tx/submit", truncate: true },
      { match: "^/(txs|assets)/", status: 404 },
    );
    await fixture.work();
    const { txHash } = (await fixture.shown(id)).CurrentTransaction ?? {};
    await letValidityPass(fixture);
    await fixture.work();
    expect(await fixture.shown(id)).toMatchObject({ state: "RegistrationRequested" });
    await fixture.chain.faults();
    await fixture.settle();
    const { held, minted } = await fixture.tokens();
    expect(minted).toBe(1);
    expect(await fixture.shown(id)).toMatchObject({
      state: "RegistrationConfirmed",
      agentIdentifier: held[0],
      CurrentTransaction: { txHash, status: "Confirmed" },
    });
  });

  it("is not made anew while the provider shows the token, and not yet the transaction", async () => {
    const { fixture, id } = await requested();
    const lost = { match: "/tx/submit", truncate: true };
    await fixture.chain.faults(lost, { match: "^/txs/", status: 404 });
    await fixture.work();
    const { txHash } = (await fixture.shown(id)).CurrentTransaction ?? {};
    await letValidityPass(fixture);
    for (let runs = 0; runs < 5; runs++) {
      await fixture.skipPauses();
      await fixture.work();
    }
    await fixture.chain.faults();
    await fixture.settle();
    const { held, minted } = await fixture.tokens();
    expect(minted).toBe(1);
    expect(await fixture.shown(id)).toMatchObject({
      state: "RegistrationConfirmed",
      agentIdentifier: held[0],
      CurrentTransaction: { txHash, status: "Confirmed" },
    });
  });

  it("is taken for landed, though another was tried and refused since", async () => {
    const { fixture, id } = await requested();
    const lost = { match: "/tx/submit", truncate: true };
    await fixture.chain.faults(lost, { match: "^/(txs|assets)/", status: 404 });
    await fixture.work();
    const { txHash } = (await fixture.shown(id)).CurrentTransaction ?? {};
    await letValidityPass(fixture);
    await fixture.work();
    // A node that is late lets the same output be spent again, the network does not.
    await fixture.chain.faults(
      { match: "/utxos", behind: 2 },
      { match: "/utils/txs/evaluate", status: 200, body: USED },
      { match: "^/(txs|assets)/", status: 404 },
    );
    await fixture.skipPauses();
    await fixture.work();
    expect(await fixture.shown(id)).toMatchObject({
      state: "RegistrationRequested",
      CurrentTransaction: { status: "FailedViaManualReset" },
    });
    await fixture.chain.faults();
    await fixture.settle();
    expect(await fixture.tokens()).toMatchObject(MINTED_ONCE);
    expect(await fixture.shown(id)).toMatchObject({
      state: "RegistrationConfirmed",
      CurrentTransaction: { txHash },
    });
  });

  it("is given up after five tries, with the reason, and can be removed", async () => {
    const { fixture, id } = await requested();
    // Of the bytes, so that it means the same when a run that died had sent them before.
    const refusal = { match: "/tx/submit", status: 400, body: '{"message":"FeeTooSmallUTxO"}' };
    await fixture.chain.faults(refusal);
    await fixture.settle();
    expect(await fixture.shown(id)).toMatchObject({
      state: "RegistrationFailed",
      agentIdentifier: "",
      error: expect.stringContaining("FeeTooSmallUTxO"),
    });
    expect((await fixture.chain.stats()).calls["POST /tx/submit"]).toBe(5);
    expect((await fixture.ask("DELETE", "/registry", { id })).status).toBe(200);
  });
});

describe("a rollback beyond the confirmation", () => {
  it.each([
    ["a registration", requested, "Registration", MINTED_ONCE],
    ["a deregistration", deregistering, "Deregistration", BURNED_ONCE],
    ["an update", updating, "Update", UPDATED_ONCE],
  ] as const)("has %s looked for again, and confirmed again", async (_, begin, name, tokens) => {
    const { fixture, id } = await begin();
    const source = await fixture.followPolicy();
    await fixture.settle();
    await settleRegistry(fixture.chain, source);
    const { agentIdentifier, CurrentTransaction } = await fixture.shown(id);
    await fixture.chain.rollback(1);
    await fixture.chain.mine(2);
    await settleRegistry(fixture.chain, source);
    expect(await fixture.shown(id)).toMatchObject({
      state: `${name}Initiated`,
      CurrentTransaction: { status: "Pending", blockHeight: null },
    });
    // The chain lost it for good, and is sent the same bytes again.
    await fixture.settle();
    expect(await fixture.shown(id)).toMatchObject({
      state: `${name}Confirmed`,
      agentIdentifier,
      CurrentTransaction: { txHash: CurrentTransaction?.txHash, status: "Confirmed" },
    });
    expect(await fixture.tokens()).toMatchObject(tokens);
  });

  it("keeps the agent's identifier when it must be minted anew", async () => {
    const { fixture, id } = await requested();
    const source = await fixture.followPolicy();
    await fixture.settle();
    await settleRegistry(fixture.chain, source);
    const { agentIdentifier } = await fixture.shown(id);
    await fixture.chain.rollback(1);
    await letValidityPass(fixture);
    await fixture.chain.mine();
    await settleRegistry(fixture.chain, source);
    await fixture.settle();
    expect(await fixture.shown(id)).toMatchObject({
      state: "RegistrationConfirmed",
      agentIdentifier,
    });
    expect(await fixture.tokens()).toMatchObject({ ...MINTED_ONCE, held: [agentIdentifier] });
  });
});

describe("a deregistration that was asked for before a rollback took the registration back", () => {
  /** Registered and followed; a deregistration is asked for, and then the minting's block is gone. */
  async function takenBack() {
    const { fixture, id } = await requested();
    const source = await fixture.followPolicy();
    await fixture.settle();
    await settleRegistry(fixture.chain, source);
    const { agentIdentifier } = await fixture.shown(id);
    expect((await fixture.deregister(agentIdentifier)).status).toBe(200);
    const gone = await fixture.chain.rollback(1);
    await fixture.chain.mine(2);
    await settleRegistry(fixture.chain, source);
    return { fixture, id, source, gone };
  }

  it("Rollback fault: is carried out, since the wallet sends the minting again while it is valid", async () => {
    const { fixture, id } = await takenBack();
    await fixture.settle();
    expect(await fixture.shown(id)).toMatchObject({
      state: "DeregistrationConfirmed",
      error: null,
    });
    expect(await fixture.tokens()).toMatchObject(BURNED_ONCE);
  });

  it("Rollback fault: is carried out once the minting is in a block again, after any number of tries", async () => {
    const { fixture, id, source, gone } = await takenBack();
    await letValidityPass(fixture);
    for (let tries = 0; tries < 8; tries++) {
      await fixture.skipPauses();
      await fixture.work();
    }
    expect(await fixture.shown(id)).toMatchObject({
      state: "DeregistrationRequested",
      error: expect.stringContaining("waits for the token"),
    });
    await fixture.chain.replay(gone);
    await settleRegistry(fixture.chain, source);
    await fixture.settle();
    expect(await fixture.shown(id)).toMatchObject({
      state: "DeregistrationConfirmed",
      error: null,
    });
    expect(await fixture.tokens()).toMatchObject(BURNED_ONCE);
  });

  it("Rollback fault: fails with the reason once the minting can no longer land", async () => {
    const { fixture, id } = await takenBack();
    await letValidityPass(fixture);
    await env.DB.prepare(
      "UPDATE registration SET last_checked_at = last_checked_at - 600000",
    ).run();
    await fixture.settle();
    expect(await fixture.shown(id)).toMatchObject({
      state: "DeregistrationFailed",
      error: expect.stringContaining("its registration was undone"),
    });
  });
});
