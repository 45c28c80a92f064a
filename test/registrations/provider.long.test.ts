import { beforeEach, describe, expect, it } from "vitest";
import { emptyTables } from "../support/app.ts";
import { MINTED_ONCE, requested } from "../support/registry/registration-fixture.ts";

beforeEach(emptyTables);

describe("a provider that fails", () => {
  it.each(["/utils/txs/evaluate", "/utxos", "/epochs", "/scripts", "/blocks/latest"])(
    "with 500 at %s is waited for, however long",
    async (match) => {
      const { fixture, id } = await requested();
      await fixture.chain.faults({ match, status: 500 });
      await fixture.work();
      expect(await fixture.shown(id)).toMatchObject({
        state: "RegistrationRequested",
        error: expect.stringMatching(/^waits for the chain provider: .*500/),
      });
      await fixture.chain.faults();
      await fixture.settle();
      expect(await fixture.shown(id)).toMatchObject({
        state: "RegistrationConfirmed",
        error: null,
      });
      expect(await fixture.tokens()).toMatchObject(MINTED_ONCE);
    },
  );

  it("with wrong protocol parameters does not have a fortune paid in fees", async () => {
    const { fixture, id } = await requested();
    const path = "/epochs/latest/parameters";
    const parameters = await fixture.chain.get<{ min_fee_a: number }>(path);
    const body = JSON.stringify({ ...parameters, min_fee_a: parameters.min_fee_a * 1000 });
    await fixture.chain.faults({ match: path, status: 200, body });
    await fixture.settle();
    expect(await fixture.shown(id)).toMatchObject({
      state: "RegistrationFailed",
      error: expect.stringMatching(/a fee of \d{8,} minor units/),
    });
    expect(await fixture.tokens()).toMatchObject({ minted: 0 });
  });

  it("with a script that fails says so in our words, and nothing is sent", async () => {
    const { fixture, id } = await requested();
    const body = JSON.stringify({ result: { EvaluationFailure: { ScriptFailures: "no" } } });
    await fixture.chain.faults({ match: "/utils/txs/evaluate", status: 200, body });
    await fixture.settle();
    expect(await fixture.shown(id)).toMatchObject({
      state: "RegistrationFailed",
      error: "a script of the transaction refuses it: the log has the node's words",
    });
    expect((await fixture.chain.stats()).calls["POST /tx/submit"]).toBeUndefined();
  });

  it("whose node does not know an output yet is waited for, however long, and no try is lost", async () => {
    const { fixture, id } = await requested();
    const reason = `Unknown transaction input (missing from UTxO set): ${"5a".repeat(32)}#1`;
    const EvaluationFailure = { CannotCreateEvaluationContext: { reason } };
    const body = JSON.stringify({ type: "jsonwsp/response", result: { EvaluationFailure } });
    await fixture.chain.faults({ match: "/utils/txs/evaluate", status: 200, body });
    for (let tries = 0; tries < 7; tries++) {
      await fixture.skipPauses();
      await fixture.work();
    }
    expect(await fixture.shown(id)).toMatchObject({
      state: "RegistrationRequested",
      error: expect.stringMatching(
        /^waits for the chain provider: .*does not know an output that the transaction spends or reads$/,
      ),
    });
    await fixture.chain.faults();
    await fixture.settle();
    expect(await fixture.shown(id)).toMatchObject({ state: "RegistrationConfirmed", error: null });
    expect(await fixture.tokens()).toMatchObject(MINTED_ONCE);
  });

  it("whose mempool is full is sent the same transaction again later", async () => {
    const { fixture, id } = await requested();
    await fixture.chain.faults({ match: "/tx/submit", status: 425 });
    await fixture.work();
    const { CurrentTransaction: first, state } = await fixture.shown(id);
    expect(state).toBe("RegistrationInitiated");
    await fixture.chain.faults();
    await fixture.settle();
    expect(await fixture.shown(id)).toMatchObject({
      state: "RegistrationConfirmed",
      CurrentTransaction: { txHash: first?.txHash },
    });
    expect(await fixture.tokens()).toMatchObject(MINTED_ONCE);
  });

  it("without the policy's script says which policy is missing", async () => {
    const { fixture, id } = await requested({ published: false });
    await fixture.settle();
    expect(await fixture.shown(id)).toMatchObject({
      state: "RegistrationFailed",
      error: expect.stringContaining(fixture.contract.policyId),
    });
  });
});

describe("a wallet that cannot pay", () => {
  it.each([
    ["is empty", [], /empty: send 10000000/],
    ["holds too little", [3_000_000], /lacks \d+ minor units .* send them to addr_test1/],
  ])("because it %s fails the registration and says what to do", async (_, funds, error) => {
    const { fixture, id } = await requested({ sellerFunds: funds });
    await fixture.settle();
    expect(await fixture.shown(id)).toMatchObject({
      state: "RegistrationFailed",
      error: expect.stringMatching(error),
    });
    expect(await fixture.tokens()).toMatchObject({ minted: 0 });
  });

  it("pays everything with one output, which is also the collateral", async () => {
    const { fixture, id } = await requested({ sellerFunds: [7_000_000] });
    await fixture.settle();
    expect(await fixture.shown(id)).toMatchObject({
      state: "RegistrationConfirmed",
      error: null,
    });
  });
});
