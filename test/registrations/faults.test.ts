import { env } from "cloudflare:workers";
import { beforeEach, describe, expect, it } from "vitest";
import { emptyTables } from "../support/app.ts";
import { settleRegistry } from "../support/registry/market.ts";
import {
  BURNED_ONCE,
  deregistering,
  MINTED_ONCE,
  type RegistrationDesk,
  requested,
} from "../support/registry/registration.ts";

/** Past the validity of any transaction made now, and past the time a provider may be late. */
const UNTIL_INVALID_MS = 15 * 60_000;

/** What a node says of the scripts of a minting. */
const USED = JSON.stringify({
  result: { EvaluationResult: { "mint:0": { memory: 1_000_000, steps: 500_000_000 } } },
});

beforeEach(emptyTables);

async function letValidityPass(desk: RegistrationDesk): Promise<void> {
  await desk.chain.advance(UNTIL_INVALID_MS);
  await desk.chain.mine();
}

describe("a submission whose answer is lost", () => {
  it("is found on the chain when the network took it", async () => {
    const { desk, id } = await requested();
    await desk.chain.faults({ match: "/tx/submit", truncate: true });
    await desk.work();
    expect(await desk.shown(id)).toMatchObject({ state: "RegistrationInitiated", error: null });
    await desk.settle();
    expect(await desk.shown(id)).toMatchObject({ state: "RegistrationConfirmed" });
    expect(await desk.tokens()).toMatchObject(MINTED_ONCE);
  });

  it("is sent again, the same bytes, when the network never saw it", async () => {
    const { desk, id } = await requested();
    await desk.chain.faults({ match: "/tx/submit", status: 504, times: 2 });
    await desk.work();
    const { CurrentTransaction } = await desk.shown(id);
    await desk.settle();
    expect(await desk.shown(id)).toMatchObject({
      state: "RegistrationConfirmed",
      CurrentTransaction: { txHash: CurrentTransaction?.txHash },
    });
    expect(await desk.tokens()).toMatchObject(MINTED_ONCE);
  });

  it.each([
    ["a registration", requested, "Registration", { ...MINTED_ONCE }],
    ["a deregistration", deregistering, "Deregistration", { ...BURNED_ONCE }],
  ] as const)(
    "goes back to requested once %s can no longer land, and is made anew",
    async (_, begin, name, tokens) => {
      const { desk, id } = await begin();
      await desk.chain.faults({ match: "/tx/submit", status: 504 });
      await desk.work();
      expect(await desk.shown(id)).toMatchObject({ state: `${name}Initiated` });
      await letValidityPass(desk);
      await desk.work();
      expect(await desk.shown(id)).toMatchObject({
        state: `${name}Requested`,
        error: expect.stringContaining("in time"),
        CurrentTransaction: { status: "FailedViaTimeout" },
      });
      await desk.chain.faults();
      await desk.settle();
      expect(await desk.shown(id)).toMatchObject({ state: `${name}Confirmed`, error: null });
      expect(await desk.tokens()).toMatchObject(tokens);
    },
  );

  it("is taken for landed when it comes after it was given up", async () => {
    const { desk, id } = await requested();
    await desk.chain.faults(
      { match: "/tx/submit", truncate: true },
      { match: "^/(txs|assets)/", status: 404 },
    );
    await desk.work();
    const { txHash } = (await desk.shown(id)).CurrentTransaction ?? {};
    await letValidityPass(desk);
    await desk.work();
    expect(await desk.shown(id)).toMatchObject({ state: "RegistrationRequested" });
    await desk.chain.faults();
    await desk.settle();
    const { held, minted } = await desk.tokens();
    expect(minted).toBe(1);
    expect(await desk.shown(id)).toMatchObject({
      state: "RegistrationConfirmed",
      agentIdentifier: held[0],
      CurrentTransaction: { txHash, status: "Confirmed" },
    });
  });

  it("is not made anew while the provider shows the token, and not yet the transaction", async () => {
    const { desk, id } = await requested();
    const lost = { match: "/tx/submit", truncate: true };
    await desk.chain.faults(lost, { match: "^/txs/", status: 404 });
    await desk.work();
    const { txHash } = (await desk.shown(id)).CurrentTransaction ?? {};
    await letValidityPass(desk);
    for (let runs = 0; runs < 5; runs++) {
      await desk.skipPauses();
      await desk.work();
    }
    await desk.chain.faults();
    await desk.settle();
    const { held, minted } = await desk.tokens();
    expect(minted).toBe(1);
    expect(await desk.shown(id)).toMatchObject({
      state: "RegistrationConfirmed",
      agentIdentifier: held[0],
      CurrentTransaction: { txHash, status: "Confirmed" },
    });
  });

  it("is taken for landed, though another was tried and refused since", async () => {
    const { desk, id } = await requested();
    const lost = { match: "/tx/submit", truncate: true };
    await desk.chain.faults(lost, { match: "^/(txs|assets)/", status: 404 });
    await desk.work();
    const { txHash } = (await desk.shown(id)).CurrentTransaction ?? {};
    await letValidityPass(desk);
    await desk.work();
    // A node that is late lets the same output be spent again, the network does not.
    await desk.chain.faults(
      { match: "/utxos", behind: 2 },
      { match: "/utils/txs/evaluate", status: 200, body: USED },
      { match: "^/(txs|assets)/", status: 404 },
    );
    await desk.skipPauses();
    await desk.work();
    expect(await desk.shown(id)).toMatchObject({
      state: "RegistrationRequested",
      CurrentTransaction: { status: "FailedViaManualReset" },
    });
    await desk.chain.faults();
    await desk.settle();
    expect(await desk.tokens()).toMatchObject(MINTED_ONCE);
    expect(await desk.shown(id)).toMatchObject({
      state: "RegistrationConfirmed",
      CurrentTransaction: { txHash },
    });
  });

  it("is given up after five tries, with the reason, and can be removed", async () => {
    const { desk, id } = await requested();
    // Of the bytes, so that it means the same when a run that died had sent them before.
    const refusal = { match: "/tx/submit", status: 400, body: '{"message":"FeeTooSmallUTxO"}' };
    await desk.chain.faults(refusal);
    await desk.settle();
    expect(await desk.shown(id)).toMatchObject({
      state: "RegistrationFailed",
      agentIdentifier: "",
      error: expect.stringContaining("FeeTooSmallUTxO"),
    });
    expect((await desk.chain.stats()).calls["POST /tx/submit"]).toBe(5);
    expect((await desk.ask("DELETE", "/registry", { id })).status).toBe(200);
  });
});

describe("a rollback beyond the confirmation", () => {
  it.each([
    ["a registration", requested, "Registration", MINTED_ONCE],
    ["a deregistration", deregistering, "Deregistration", BURNED_ONCE],
  ] as const)("has %s looked for again, and confirmed again", async (_, begin, name, tokens) => {
    const { desk, id } = await begin();
    const source = await desk.followPolicy();
    await desk.settle();
    await settleRegistry(desk.chain, source);
    const { agentIdentifier, CurrentTransaction } = await desk.shown(id);
    await desk.chain.rollback(1);
    await desk.chain.mine(2);
    await settleRegistry(desk.chain, source);
    expect(await desk.shown(id)).toMatchObject({
      state: `${name}Initiated`,
      CurrentTransaction: { status: "Pending", blockHeight: null },
    });
    // The chain lost it for good, and is sent the same bytes again.
    await desk.settle();
    expect(await desk.shown(id)).toMatchObject({
      state: `${name}Confirmed`,
      agentIdentifier,
      CurrentTransaction: { txHash: CurrentTransaction?.txHash, status: "Confirmed" },
    });
    expect(await desk.tokens()).toMatchObject(tokens);
  });

  it("keeps the agent's identifier when it must be minted anew", async () => {
    const { desk, id } = await requested();
    const source = await desk.followPolicy();
    await desk.settle();
    await settleRegistry(desk.chain, source);
    const { agentIdentifier } = await desk.shown(id);
    await desk.chain.rollback(1);
    await letValidityPass(desk);
    await desk.chain.mine();
    await settleRegistry(desk.chain, source);
    await desk.settle();
    expect(await desk.shown(id)).toMatchObject({ state: "RegistrationConfirmed", agentIdentifier });
    expect(await desk.tokens()).toMatchObject({ ...MINTED_ONCE, held: [agentIdentifier] });
  });
});

describe("a deregistration that was asked for before a rollback took the registration back", () => {
  /** Registered and followed; a deregistration is asked for, and then the minting's block is gone. */
  async function takenBack() {
    const { desk, id } = await requested();
    const source = await desk.followPolicy();
    await desk.settle();
    await settleRegistry(desk.chain, source);
    const { agentIdentifier } = await desk.shown(id);
    expect((await desk.deregister(agentIdentifier)).status).toBe(200);
    const gone = await desk.chain.rollback(1);
    await desk.chain.mine(2);
    await settleRegistry(desk.chain, source);
    return { desk, id, source, gone };
  }

  it("Rollback fault: is carried out, since the minting is sent again while it is valid", async () => {
    const { desk, id } = await takenBack();
    await desk.settle();
    expect(await desk.shown(id)).toMatchObject({ state: "DeregistrationConfirmed", error: null });
    expect(await desk.tokens()).toMatchObject(BURNED_ONCE);
  });

  it("Rollback fault: is carried out once the minting is in a block again, however often it was tried", async () => {
    const { desk, id, source, gone } = await takenBack();
    await letValidityPass(desk);
    for (let tries = 0; tries < 8; tries++) {
      await desk.skipPauses();
      await desk.work();
    }
    expect(await desk.shown(id)).toMatchObject({
      state: "DeregistrationRequested",
      error: expect.stringContaining("waits for the token"),
    });
    await desk.chain.replay(gone);
    await settleRegistry(desk.chain, source);
    await desk.settle();
    expect(await desk.shown(id)).toMatchObject({ state: "DeregistrationConfirmed", error: null });
    expect(await desk.tokens()).toMatchObject(BURNED_ONCE);
  });

  it("Rollback fault: fails with the reason once the minting can no longer come again", async () => {
    const { desk, id } = await takenBack();
    await letValidityPass(desk);
    await env.DB.prepare(
      "UPDATE registration SET last_checked_at = last_checked_at - 600000",
    ).run();
    await desk.settle();
    expect(await desk.shown(id)).toMatchObject({
      state: "DeregistrationFailed",
      error: expect.stringContaining("its registration was undone"),
    });
  });
});
