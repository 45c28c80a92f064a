import { env } from "cloudflare:workers";
import { beforeEach, describe, expect, it } from "vitest";
import { emptyTables } from "../support/app.ts";
import { RegistrationDesk } from "../support/registration.ts";

const MINTED_ONCE = { minted: 1, burned: 0 };
const BURNED_ONCE = { minted: 1, burned: 1, held: [] };
/** Past the validity of any transaction made now, and past the time a provider may be late. */
const UNTIL_INVALID_MS = 15 * 60_000;

beforeEach(emptyTables);

/** A desk with one registration requested. */
async function requested(options?: Parameters<typeof RegistrationDesk.open>[0]) {
  const desk = await RegistrationDesk.open(options);
  const { id } = (await desk.register()).data;
  return { desk, id };
}

/** A desk with one agent registered and its deregistration requested. */
async function deregistering() {
  const { desk, id } = await requested();
  await desk.settle();
  await desk.deregister((await desk.shown(id)).agentIdentifier);
  return { desk, id };
}

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
      { match: "^/txs/", status: 404 },
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

  it("is given up after five tries, with the reason, and can be removed", async () => {
    const { desk, id } = await requested();
    const refusal = { match: "/tx/submit", status: 400, body: '{"message":"BadInputsUTxO"}' };
    await desk.chain.faults(refusal);
    await desk.settle();
    expect(await desk.shown(id)).toMatchObject({
      state: "RegistrationFailed",
      agentIdentifier: null,
      error: expect.stringContaining("BadInputsUTxO"),
    });
    expect((await desk.chain.stats()).calls["POST /tx/submit"]).toBe(5);
    expect((await desk.ask("DELETE", "/registry", { id })).status).toBe(200);
  });
});

describe("a provider that fails", () => {
  it.each(["/utils/txs/evaluate", "/utxos", "/epochs", "/scripts", "/blocks/latest"])(
    "with 500 at %s is waited for, however long",
    async (match) => {
      const { desk, id } = await requested();
      await desk.chain.faults({ match, status: 500 });
      await desk.work();
      expect(await desk.shown(id)).toMatchObject({
        state: "RegistrationRequested",
        error: expect.stringMatching(/^waits for the chain provider: .*500/),
      });
      await desk.chain.faults();
      await desk.settle();
      expect(await desk.shown(id)).toMatchObject({ state: "RegistrationConfirmed", error: null });
      expect(await desk.tokens()).toMatchObject(MINTED_ONCE);
    },
  );

  it("with a script that fails gives the node's reason, and nothing is sent", async () => {
    const { desk, id } = await requested();
    const body = JSON.stringify({ result: { EvaluationFailure: { ScriptFailures: "no" } } });
    await desk.chain.faults({ match: "/utils/txs/evaluate", status: 200, body });
    await desk.settle();
    expect(await desk.shown(id)).toMatchObject({
      state: "RegistrationFailed",
      error: expect.stringContaining("ScriptFailures"),
    });
    expect((await desk.chain.stats()).calls["POST /tx/submit"]).toBeUndefined();
  });

  it("without the policy's script says which policy is missing", async () => {
    const { desk, id } = await requested({ published: false });
    await desk.settle();
    expect(await desk.shown(id)).toMatchObject({
      state: "RegistrationFailed",
      error: expect.stringContaining(desk.contract.policyId),
    });
  });
});

describe("a wallet that cannot pay", () => {
  it.each([
    ["is empty", [], /empty: send 10000000/],
    ["holds too little", [3_000_000], /lacks \d+ minor units .* send them to addr_test1/],
    ["has no output for collateral", Array(20).fill(1_400_000), /collateral: send 5000000/],
  ])("because it %s fails the registration and says what to do", async (_, funds, error) => {
    const { desk, id } = await requested({ sellerFunds: funds });
    await desk.settle();
    expect(await desk.shown(id)).toMatchObject({
      state: "RegistrationFailed",
      error: expect.stringMatching(error),
    });
    expect(await desk.tokens()).toMatchObject({ minted: 0 });
  });

  it("pays with one output for everything, the collateral included", async () => {
    const { desk, id } = await requested({ sellerFunds: [7_000_000] });
    await desk.settle();
    expect(await desk.shown(id)).toMatchObject({
      state: "RegistrationConfirmed",
      error: null,
    });
  });
});

describe("at once", () => {
  it("two deregistrations of one agent burn its token once", async () => {
    const { desk, id } = await requested();
    await desk.settle();
    const { agentIdentifier } = await desk.shown(id);
    const answers = await Promise.all([1, 2].map(() => desk.deregister(agentIdentifier)));
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 409]);
    await desk.settle();
    expect(await desk.tokens()).toEqual(BURNED_ONCE);
  });

  it("two wallets, with three registrations each, mint six tokens", async () => {
    const desk = await RegistrationDesk.open();
    for (const { vkey } of desk.sellers)
      for (let i = 0; i < 3; i++) await desk.register({ sellingWalletVkey: vkey });
    await Promise.all(desk.sellers.map((wallet) => desk.settle(wallet)));
    expect(await desk.tokens()).toMatchObject({ minted: 6, burned: 0 });
  });

  it.each([
    ["a registration", requested, MINTED_ONCE],
    ["a deregistration", deregistering, BURNED_ONCE],
  ])("two objects for one wallet make %s once", async (_, begin, tokens) => {
    const { desk, id } = await begin();
    await Promise.all([1, 2, 3].map(() => desk.work()));
    await desk.settle();
    expect((await desk.shown(id)).state).toMatch(/Confirmed$/);
    expect(await desk.tokens()).toMatchObject(tokens);
  });
});

describe("a wallet or a source that is removed", () => {
  it("fails what was not begun, and says so", async () => {
    const { desk, id } = await requested();
    await env.DB.prepare("UPDATE managed_wallet SET deleted_at = 1, mnemonic = ''").run();
    await desk.settle();
    expect(await desk.shown(id)).toMatchObject({
      state: "RegistrationFailed",
      error: expect.stringContaining("add it again"),
    });
  });

  it("lets what was sent come to its end", async () => {
    const { desk, id } = await requested();
    await desk.chain.faults({ match: "/tx/submit", truncate: true });
    await desk.work();
    await env.DB.prepare("UPDATE managed_wallet SET deleted_at = 1, mnemonic = ''").run();
    await desk.settle();
    expect(await desk.shown(id)).toMatchObject({ state: "RegistrationConfirmed" });
  });

  it("fails what has no provider left", async () => {
    const { desk, id } = await requested();
    await env.DB.prepare("UPDATE payment_source SET deleted_at = 1").run();
    await desk.settle();
    expect(await desk.shown(id)).toMatchObject({
      state: "RegistrationFailed",
      error: expect.stringContaining("source was removed"),
    });
  });
});
