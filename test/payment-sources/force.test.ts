import { env } from "cloudflare:workers";
import { beforeAll, beforeEach, describe, expect, it } from "vitest";
import { openDb } from "../../src/db/client.ts";
import { applyAllWalletChanges } from "../../src/payment-sources/apply-wallet-changes.ts";
import { destroyUnneededKeys } from "../../src/payment-sources/destroy-unneeded-keys.ts";
import { addRecord } from "../support/administration.ts";
import { emptyTables } from "../support/app.ts";
import { requested } from "../support/registry/registration-fixture.ts";
import { SourceApi } from "../support/sources/api.ts";

let api: SourceApi;

beforeAll(async () => {
  api = await SourceApi.open();
});

beforeEach(emptyTables);

interface Shown {
  NextAction: { requestedAction: string; errorNote: string | null };
}

async function payments(): Promise<Shown[]> {
  return (await api.ask("GET", "/api/v1/payment?network=Preprod")).data.Payments;
}

/** A source with a selling wallet that has payments which are not finished. */
async function unfinished(count = 1) {
  const { data: source } = await api.create(api.selling());
  const [wallet] = source.SellingWallets;
  for (let i = 0; i < count; i++) await addRecord(source.id, wallet, "SubmitResult");
  return { source, wallet };
}

/** Of each wallet and source whether its secret is still kept. */
async function kept(): Promise<{ wallets: boolean[]; sources: boolean[] }> {
  const core = openDb(env);
  const isKept = (rows: { secret: string }[]) => rows.map(({ secret }) => secret !== "");
  return {
    wallets: isKept(await core.all("SELECT mnemonic AS secret FROM managed_wallet ORDER BY id")),
    sources: isKept(await core.all("SELECT rpc_provider_api_key AS secret FROM payment_source")),
  };
}

const destroy = () => destroyUnneededKeys(env, Date.now() + 60_000);
const NOTE = "Its wallet or payment source was removed, so the service does not act on it.";

describe("force of DELETE and PATCH /payment-source-extended", () => {
  it("is asked for while payments are not finished, with their number (409)", async () => {
    const { source, wallet } = await unfinished(2);
    const refused = {
      status: 409,
      message:
        "force: 2 payments and purchases are not finished; with true, the service stops work on them",
    };
    expect(await api.remove(source.id)).toMatchObject(refused);
    const RemoveSellingWallets = [{ id: wallet.id }];
    expect(await api.update({ id: source.id, RemoveSellingWallets })).toMatchObject(refused);
    expect(await kept()).toEqual({ wallets: [true], sources: [true] });
  });

  it("ends open work with a clear note, and keeps the keys that the work still needs", async () => {
    const { source } = await unfinished(2);
    expect((await api.remove(source.id, {}, true)).status).toBe(200);
    for (const { NextAction } of await payments())
      expect(NextAction).toMatchObject({
        requestedAction: "WaitingForManualAction",
        errorNote: expect.stringContaining(NOTE),
      });
    expect(await kept()).toEqual({ wallets: [true], sources: [true] });
    expect((await api.ask("GET", "/api/v1/wallet/list")).data.Wallets).toEqual([]);
    const due = await openDb(env).all("SELECT 1 FROM escrow WHERE due_at IS NOT NULL");
    expect(due).toEqual([]);
    await env.DB.prepare("UPDATE escrow SET on_chain_state = 'Withdrawn'").run();
    await destroy();
    expect(await kept()).toEqual({ wallets: [false], sources: [false] });
  });

  it.each(["PATCH /payment-source-extended", "POST /wallet"])(
    "is undone by adding the wallet again with %s",
    async (by) => {
      const { source, wallet } = await unfinished();
      const RemoveSellingWallets = [{ id: wallet.id }];
      await api.update({ id: source.id, RemoveSellingWallets, force: true });
      expect((await payments())[0]?.NextAction.requestedAction).toBe("WaitingForManualAction");
      const walletMnemonic = api.wallet("seller-0").mnemonic;
      const { status } = by.startsWith("PATCH")
        ? await api.update({ id: source.id, AddSellingWallets: [{ walletMnemonic }] })
        : await api.ask("POST", "/api/v1/wallet", {
            ...{ network: "Preprod", paymentSourceId: source.id, walletType: "Selling" },
            walletMnemonic,
          });
      expect(status).toBe(200);
      expect((await payments())[0]?.NextAction).toMatchObject({
        requestedAction: "SubmitResultInitiated",
        errorNote: null,
      });
      expect(await kept()).toEqual({ wallets: [true], sources: [true] });
      expect((await api.ask("GET", "/api/v1/wallet/list")).data.Wallets).toMatchObject([
        { id: wallet.id, drives: wallet.drives },
      ]);
    },
  );

  it.each(["DELETE", "PATCH"])(
    "of %s is carried out by the cron where the request's time runs out, and so is its undoing",
    async (method) => {
      const { source, wallet } = await unfinished(2);
      const inNoTime = { env: { REQUEST_DEADLINE_MS: "5000" } };
      const RemoveSellingWallets = [{ id: wallet.id }];
      const { status } =
        method === "DELETE"
          ? await api.remove(source.id, inNoTime, true)
          : await api.update({ id: source.id, RemoveSellingWallets, force: true }, inNoTime);
      expect(status).toBe(200);
      const actions = async () =>
        (await payments()).map(({ NextAction }) => NextAction.requestedAction);
      const tell = () => applyAllWalletChanges(env, Date.now() + 60_000);
      expect(await actions()).toEqual(Array(2).fill("SubmitResultInitiated"));
      await tell();
      expect(await actions()).toEqual(Array(2).fill("WaitingForManualAction"));
      if (method === "PATCH") {
        const AddSellingWallets = [{ walletMnemonic: api.wallet("seller-0").mnemonic }];
        await api.update({ id: source.id, AddSellingWallets }, inNoTime);
        expect(await actions()).toEqual(Array(2).fill("WaitingForManualAction"));
        await tell();
        expect(await actions()).toEqual(Array(2).fill("SubmitResultInitiated"));
      }
      expect(await openDb(env).all("SELECT 1 FROM job")).toEqual([]);
    },
  );

  it("leaves what other wallets of the source do alone", async () => {
    const { source, wallet } = await unfinished();
    const { data } = await api.update({
      id: source.id,
      AddSellingWallets: [{ walletMnemonic: api.wallet("seller-1").mnemonic }],
    });
    const other = data.SellingWallets.find(({ id }: { id: string }) => id !== wallet.id);
    expect(
      (await api.update({ id: source.id, RemoveSellingWallets: [{ id: other.id }] })).status,
    ).toBe(200);
    expect((await payments())[0]?.NextAction.errorNote).toBeNull();
  });
});

describe("the key of a removed wallet", () => {
  it("stays until the wallet's transactions are final, and the sync follows them until then", async () => {
    const { fixture } = await requested();
    await fixture.work();
    const removal = { id: fixture.sourceId, force: true };
    expect((await fixture.ask("DELETE", "/payment-source-extended", removal)).status).toBe(200);
    expect((await kept()).wallets).toContain(true);
    await fixture.chain.mine(25);
    await fixture.settle();
    await destroy();
    expect(await kept()).toEqual({ wallets: [false, false], sources: [false] });
  });
});
