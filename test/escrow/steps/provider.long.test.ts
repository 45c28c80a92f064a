/** A chain provider that fails at each of the calls that a step needs. */
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { emptyTables } from "../../support/app.ts";
import { shortenProviderTimeouts } from "../../support/crash-at.ts";
import {
  PaymentSourceFixture,
  type ShownEscrow,
  walletTransactions,
} from "../../support/escrow/payment-source-fixture.ts";
import { RESULT } from "../../support/escrow/step-fixture.ts";
import { found, type RegistrationFixture } from "../../support/registry/registration-fixture.ts";

beforeEach(emptyTables);

afterEach(() => {
  vi.unstubAllGlobals();
  vi.restoreAllMocks();
});

/** What the provider does, and how that is told. */
const FAULTS: readonly [Record<string, unknown>, string][] = [
  [{ status: 402 }, "status 402"],
  [{ status: 418 }, "status 418"],
  [{ status: 429 }, "status 429"],
  [{ status: 500 }, "status 500"],
  [{ hang: true }, "no answer within 8000 ms"],
  [{ status: 403 }, "status 403"],
];

/** A service that has sent the result of one of two escrows, which no block has, and is asked for the other's. */
async function asked(): Promise<{
  buying: PaymentSourceFixture;
  shown: () => Promise<ShownEscrow>;
}> {
  const buying = await PaymentSourceFixture.open();
  const escrows = [await buying.buy(), await buying.buy()];
  await buying.work();
  await buying.sync();
  await buying.chain.holdBlocks();
  for (const { blockchainIdentifier } of escrows) {
    const body = { network: "Preprod", blockchainIdentifier, submitResultHash: RESULT };
    expect((await buying.fixture.ask("POST", "/payment/submit-result", body)).status).toBe(200);
    if (blockchainIdentifier === escrows[0]?.blockchainIdentifier) await buying.fixture.work();
  }
  expect(await buying.chain.mempool()).toHaveLength(1);
  const shown = async () =>
    found(
      await buying.shown("payment"),
      (one) => one.blockchainIdentifier === escrows[1]?.blockchainIdentifier,
    );
  return { buying, shown };
}

/** A key that the provider has refused is left alone for a while: another one is not. */
async function useAnotherKey(fixture: RegistrationFixture): Promise<void> {
  const body = {
    id: fixture.sourceId,
    PaymentSourceConfig: { rpcProviderApiKey: crypto.randomUUID() },
  };
  expect((await fixture.ask("PATCH", "/payment-source-extended", body)).status).toBe(200);
}

/** Lets the wallet meet a provider that fails at a call. */
async function meet(
  { fixture, chain }: PaymentSourceFixture,
  match: string,
  fault: Record<string, unknown>,
): Promise<void> {
  await useAnotherKey(fixture);
  await fixture.skipPauses();
  await chain.faults({ match, ...fault });
  const endHurry = shortenProviderTimeouts();
  await fixture.work();
  endHurry();
  await chain.faults();
}

/** Expects that both results are on the chain, each by one transaction, and nothing else of theirs. */
async function expectSubmittedOnce(buying: PaymentSourceFixture): Promise<void> {
  const { chain, fixture } = buying;
  await useAnotherKey(fixture);
  for (let runs = 0; runs < 2; runs++) {
    await fixture.skipPauses();
    await fixture.work();
    await chain.mine();
    await buying.sync();
  }
  for (const payment of await buying.shown("payment"))
    expect(payment).toMatchObject({
      onChainState: "ResultSubmitted",
      resultHash: RESULT,
      NextAction: { requestedAction: "WaitingForExternalAction", errorType: null, errorNote: null },
      CurrentTransaction: { status: "Confirmed" },
    });
  const path = `/addresses/${fixture.contract.address}/transactions`;
  const onChain = (await chain.get<{ tx_hash: string }[]>(path)).map(({ tx_hash }) => tx_hash);
  // The lock of both, and the result of each.
  expect(onChain).toHaveLength(3);
  expect((await walletTransactions()).map(({ hash }) => hash)).toEqual(onChain);
}

describe("with a provider that answers 402, 418, 429, 500 or 403, or times out,", () => {
  it.each([
    ["the tip", "/blocks/latest"],
    ["a transaction under way", "^/txs/[0-9a-f]{64}$"],
    ["the wallet's outputs", "^/addresses/[^/]+/utxos"],
    ["the evaluation", "/utils/txs/evaluate"],
  ])(
    "at %s: a result stays asked for and says why, and is submitted once the provider is well",
    async (_, match) => {
      const { buying, shown } = await asked();
      await buying.chain.stats();
      for (const [fault, told] of FAULTS) {
        await meet(buying, match, fault);
        expect(await shown(), told).toMatchObject({
          onChainState: "FundsLocked",
          NextAction: { requestedAction: "SubmitResultRequested", resultHash: RESULT },
          Next: { action: "SubmitResult", waitsFor: expect.stringMatching(`provider: .*${told}$`) },
          CurrentTransaction: { status: "Confirmed" },
        });
      }
      expect((await buying.chain.stats()).calls["POST /tx/submit"]).toBeUndefined();
      await expectSubmittedOnce(buying);
    },
  );

  it("at the submission: a result keeps its transaction, the log says why, and it is sent once the provider is well", async () => {
    const { buying, shown } = await asked();
    const warn = vi.spyOn(console, "warn");
    for (const [fault, told] of FAULTS) {
      warn.mockClear();
      await meet(buying, "/tx/submit", fault);
      const [, , mine] = await walletTransactions();
      expect(mine, told).toMatchObject({ phase: "Stored" });
      expect(await shown(), told).toMatchObject({
        NextAction: { requestedAction: "SubmitResultInitiated", errorNote: null },
        CurrentTransaction: { txHash: mine?.hash, status: "Pending" },
      });
      const lines = warn.mock.calls.map(([line]) => JSON.parse(String(line)));
      expect(lines).toContainEqual(
        expect.objectContaining({
          event: "wallet.submit_unknown",
          hash: mine?.hash,
          error: expect.stringMatching(`provider: POST /tx/submit: ${told}$`),
        }),
      );
    }
    expect(await buying.chain.mempool()).toHaveLength(1);
    await expectSubmittedOnce(buying);
  });
});
