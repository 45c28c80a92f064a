import { env } from "cloudflare:workers";
import { beforeEach, describe, expect, it } from "vitest";
import { applyAllWalletChanges } from "../../../src/payment-sources/apply-wallet-changes.ts";
import { emptyTables } from "../../support/app.ts";
import type { ChainWallet } from "../../support/chain.ts";
import { wrapD1 } from "../../support/d1.ts";
import { PaymentSourceFixture } from "../../support/escrow/payment-source-fixture.ts";
import { RESULT } from "../../support/escrow/step-fixture.ts";
import { settle } from "../../support/sources/sync.ts";

beforeEach(emptyTables);

const MINUTE = 60_000;

async function change({ fixture }: PaymentSourceFixture, fields: object): Promise<void> {
  const body = { id: fixture.sourceId, ...fields };
  const { status, message } = await fixture.ask("PATCH", "/payment-source-extended", body);
  expect(status, message).toBe(200);
}

/** Removes a wallet by force, in one of its roles. */
async function remove(buying: PaymentSourceFixture, wallet: ChainWallet | undefined, role: string) {
  const id = await env.DB.prepare(
    "SELECT id FROM managed_wallet WHERE vkey = ? AND role = ? AND deleted_at IS NULL",
  )
    .bind(wallet?.vkey, role)
    .first("id");
  await change(buying, { [`Remove${role}Wallets`]: [{ id }], force: true });
}

describe("a lock that is written while its wallet is removed by force", () => {
  it("is told of it by the cron, and one of a wallet that is there is not", async () => {
    const buying = await PaymentSourceFixture.open();
    const { chain, fixture } = buying;
    const [seller, other] = fixture.sellers;
    await chain.act(
      [seller, other].map(({ name }) => ({
        ...{ do: "lock", version: "Web3ChainV1", seller: name, buyer: "admin" },
      })),
    );
    let isRemoved = false;
    const DB = wrapD1(env.DB, async ({ kind, sql }, run) => {
      if (kind === "batch" && !isRemoved && sql.some((one) => one.includes("INTO escrow "))) {
        isRemoved = true;
        await remove(buying, seller, "Selling");
      }
      return run();
    });
    await settle(chain, fixture.sourceId, { env: { DB } });
    await applyAllWalletChanges(env, Date.now() + MINUTE);
    const payments = await buying.shown("payment");
    const saysOf = ({ vkey }: ChainWallet) =>
      payments.find((one) => one.SmartContractWallet?.walletVkey === vkey)?.NextAction;
    expect(saysOf(seller)).toMatchObject({
      requestedAction: "WaitingForManualAction",
      errorNote: expect.stringMatching(/^Its wallet or payment source was removed/),
    });
    expect(saysOf(other)).toMatchObject({ requestedAction: "WaitingForExternalAction" });
  });
});

describe("a lock that lands after its wallet was removed by force", () => {
  it.each(["Selling", "Purchasing"] as const)("is found, and what follows it: %s", async (role) => {
    const buying = await PaymentSourceFixture.open();
    await buying.buy();
    await buying.work();
    const [seller] = buying.fixture.sellers;
    await remove(buying, role === "Selling" ? seller : buying.buyers["buyer-0"], role);
    await buying.sync();
    for (const side of ["payment", "purchase"] as const)
      expect(await buying.only(side)).toMatchObject({
        onChainState: "FundsLocked",
        CurrentTransaction: { status: "Confirmed" },
      });
    await buying.chain.rollback(1, true);
    await buying.chain.mine(2);
    await buying.sync();
    for (const side of ["payment", "purchase"] as const)
      expect((await buying.only(side)).onChainState).toBe("FundsLocked");
  });

  it("is followed in order where the wallet is added again before it is read", async () => {
    const buying = await PaymentSourceFixture.open();
    await buying.buy();
    await buying.work();
    const [seller] = buying.fixture.sellers;
    await remove(buying, seller, "Selling");
    await change(buying, {
      AddSellingWallets: [{ walletMnemonic: seller.mnemonic, drives: "all" }],
    });
    await buying.sync();
    for (const side of ["payment", "purchase"] as const)
      expect((await buying.only(side)).onChainState).toBe("FundsLocked");
    expect(
      await buying.fixture.ask("POST", "/payment/submit-result", {
        network: "Preprod",
        blockchainIdentifier: (await buying.only("payment")).blockchainIdentifier,
        submitResultHash: RESULT,
      }),
    ).toMatchObject({ status: 200 });
    await buying.fixture.work();
    await buying.sync();
    expect(await buying.only("purchase")).toMatchObject({ onChainState: "ResultSubmitted" });
  });

  it("of somebody else's quote in the removed wallet's name makes no record", async () => {
    const buying = await PaymentSourceFixture.open();
    await remove(buying, buying.buyers["buyer-0"], "Purchasing");
    await buying.chain.act([{ do: "lock", as: "a", version: "Web3ChainV1", buyer: "buyer-0" }]);
    await buying.sync();
    expect(await buying.shown("purchase")).toEqual([]);
    expect(await buying.shown("payment")).toHaveLength(1);
  });
});
