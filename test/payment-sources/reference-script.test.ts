import { env } from "cloudflare:workers";
import { beforeEach, describe, expect, it } from "vitest";
import { type Provider, ProviderError } from "../../src/chain/provider/provider.ts";
import { db } from "../../src/db/client.ts";
import type { Env } from "../../src/env.ts";
import { publishNeeded } from "../../src/payment-sources/reference-script/automatic.ts";
import { forgetSpent } from "../../src/wallets/reference-scripts/spent.ts";
import { emptyJournals, emptyTables } from "../support/app.ts";
import { BuyDesk } from "../support/escrow/buying.ts";
import { insertRows } from "../support/insert-rows.ts";
import { ASLEEP } from "../support/objects.ts";
import { RegistrationDesk } from "../support/registry/registration.ts";
import { saveDatabase } from "../support/restore.ts";

beforeEach(emptyTables);

const PATH = "/payment-source-extended/reference-script";

interface Shown {
  state: string;
  output: string | null;
  deposit: string | null;
  scriptHash: string;
  walletVkey: string;
  [field: string]: unknown;
}

const publish = (desk: RegistrationDesk, more: object = {}) =>
  desk.ask<Shown>("POST", PATH, { id: desk.sourceId, ...more });
const withdraw = (desk: RegistrationDesk) => desk.ask<Shown>("DELETE", PATH, { id: desk.sourceId });
const show = (desk: RegistrationDesk) => desk.ask<Shown>("GET", `${PATH}?id=${desk.sourceId}`);

interface Utxo {
  tx_hash: string;
  output_index: number;
  amount: { quantity: string }[];
  reference_script_hash: string | null;
}

/** The outputs at the first wallet that carry a script. */
async function carried(desk: RegistrationDesk): Promise<Utxo[]> {
  const path = `/addresses/${desk.sellers[0].address}/utxos`;
  const utxos = await desk.chain.get<Utxo[]>(path);
  return utxos.filter((one) => one.reference_script_hash !== null);
}

describe("POST and DELETE /payment-source-extended/reference-script", () => {
  it("publish the contract's script in an output of a wallet, and take its deposit back", async () => {
    const desk = await RegistrationDesk.open();
    const asked = await publish(desk);
    expect(asked).toMatchObject({
      status: 200,
      data: { state: "PublishRequested", output: null, walletVkey: desk.sellers[0].vkey },
    });
    await desk.settle();
    const { data: published } = await show(desk);
    const [output] = await carried(desk);
    expect(published).toMatchObject({
      state: "Published",
      output: `${output?.tx_hash}#${output?.output_index}`,
      deposit: output?.amount[0]?.quantity,
    });
    expect(output?.reference_script_hash).toBe(published.scriptHash);
    expect((await withdraw(desk)).data.state).toBe("WithdrawRequested");
    await desk.settle();
    expect((await show(desk)).data.state).toBe("Withdrawn");
    expect(await carried(desk)).toEqual([]);
    expect((await publish(desk)).status).toBe(200);
  });

  it("end with what has been spent already, as after a restore, and publish it again", async () => {
    const desk = await RegistrationDesk.open();
    await publish(desk);
    await desk.settle();
    const restore = await saveDatabase();
    await withdraw(desk);
    await desk.settle();
    const { data: withdrawn } = await show(desk);
    await restore();
    await emptyJournals();
    expect((await show(desk)).data.state).toBe("Published");

    await withdraw(desk);
    await desk.chain.mine(25);
    await desk.settle();
    const { output, txHash } = withdrawn;
    expect((await show(desk)).data).toMatchObject({
      state: "Withdrawn",
      output,
      txHash,
      error: null,
    });
    expect((await publish(desk)).status).toBe(200);
    await desk.settle();
    expect((await show(desk)).data.state).toBe("Published");
    expect(await carried(desk)).toHaveLength(1);
  });

  it.each(["Web3ChainV1", "Web3ChainV2"] as const)(
    "whose output somebody else has spent is read no more: the refused step goes out with the script in it (%s)",
    async (type) => {
      const buying = await BuyDesk.open(type);
      const { desk } = buying;
      const [seller] = await db(env).all<{ id: string }>(
        "SELECT id FROM managed_wallet WHERE vkey = ?",
        desk.sellers[0].vkey,
      );
      await publish(desk, { walletId: seller?.id });
      await desk.settle();
      const restore = await saveDatabase();
      await withdraw(desk);
      await desk.settle();
      const { data: spent } = await show(desk);
      await restore();
      await emptyJournals();
      await desk.chain.mine(25);
      await buying.buy();
      await buying.work();
      await buying.sync();
      const { blockchainIdentifier } = await buying.only("payment");
      await desk.ask("POST", "/payment/submit-result", {
        ...{ network: "Preprod", blockchainIdentifier, submitResultHash: "ab".repeat(32) },
      });
      await desk.settle();
      await buying.sync();
      expect((await show(desk)).data).toMatchObject({ state: "Withdrawn", txHash: spent.txHash });
      expect(await buying.only("payment")).toMatchObject({ onChainState: "ResultSubmitted" });
    },
  );

  it("keep what a late node does not know, as long as nobody says who has spent it", async () => {
    const desk = await RegistrationDesk.open();
    await publish(desk);
    await desk.settle();
    const { output } = (await show(desk)).data;
    const missed = (spenders: Provider["spenders"]) =>
      forgetSpent(db(env), { spenders }, desk.sourceId, [output ?? ""]);
    await missed(async () => null);
    await missed(async () => new Map([[7, "ab".repeat(32)]]));
    await missed(async () => {
      throw new ProviderError("busy");
    });
    expect((await show(desk)).data.state).toBe("Published");
  });

  it("refuse a second one, one that is not published, and what is not there", async () => {
    const desk = await RegistrationDesk.open();
    expect((await show(desk)).status).toBe(404);
    expect((await withdraw(desk)).status).toBe(404);
    expect((await publish(desk, { walletId: "nothing" })).status).toBe(404);
    expect((await publish(desk)).status).toBe(200);
    expect(await publish(desk)).toMatchObject({
      status: 409,
      message: "id: the payment source has a reference script already",
    });
    expect(await withdraw(desk)).toMatchObject({
      status: 409,
      message: "id: the reference script is PublishRequested, not Published",
    });
    expect((await desk.ask("POST", PATH, { id: "nothing" })).status).toBe(404);
  });
});

describe("AUTO_REFERENCE_SCRIPT", () => {
  /** A payment whose next step has room for the script beside it, or none. */
  async function holding(desk: RegistrationDesk, bytes: number): Promise<void> {
    const [{ vkey, address }] = desk.sellers;
    const output = JSON.stringify({ utxo: `${"ab".repeat(32)}#0`, datum: "00".repeat(bytes) });
    await insertRows("escrow", [
      {
        ...{ id: "e", side: "payment", network: "Preprod", source_id: desk.sourceId },
        ...{ source_type: "Web3ChainV1", on_chain_state: "ResultSubmitted", output },
        wallet: JSON.stringify({ id: "w", vkey, address }),
      },
    ]);
  }
  /** Fifty larger ones of another source, each with an error. */
  const holdingOthers = (sourceId: string, note: string) =>
    insertRows(
      "escrow",
      Array.from({ length: 50 }, (_, i) => ({
        ...{ id: `00${i}`, side: "payment", network: "Preprod", source_id: sourceId },
        ...{
          source_type: "Web3ChainV2",
          identifier_hash: `${i}`,
          on_chain_state: "ResultSubmitted",
        },
        output: JSON.stringify({ utxo: `${"ab".repeat(32)}#0`, datum: "00".repeat(9_000) }),
        error: JSON.stringify({ isManual: false, type: "Unknown", note, txHash: null }),
      })),
    );
  const check = (desk: RegistrationDesk, variables: Partial<Env> = {}) =>
    publishNeeded(desk.env({ ...ASLEEP, ...variables }), "test", Date.now() + 60_000);

  it("has the script published once, as soon as an escrow has no room for it beside it", async () => {
    const desk = await RegistrationDesk.open();
    await holding(desk, 8_000);
    await check(desk);
    expect((await show(desk)).status).toBe(404);
    await env.DB.prepare("DELETE FROM escrow").run();
    await holding(desk, 9_000);
    // What nothing can be done for takes nobody's turn.
    await insertRows("payment_source", [{ id: "removed", network: "Preprod", deleted_at: 1 }]);
    await holdingOthers("removed", "its source was removed");
    await Promise.all([check(desk), check(desk)]);
    expect((await show(desk)).data).toMatchObject({
      state: "PublishRequested",
      walletVkey: desk.sellers[0].vkey,
    });
    await desk.settle();
    expect((await show(desk)).data.state).toBe("Published");
    expect(await carried(desk)).toHaveLength(1);
    await withdraw(desk);
    await desk.settle();
    await check(desk);
    expect((await show(desk)).data.state).toBe("Withdrawn");
  });

  it("of false has the record say what it needs, and publishes nothing", async () => {
    const desk = await BuyDesk.open("Web3ChainV2");
    await desk.buy();
    await desk.work();
    await desk.sync();
    await env.DB.prepare(
      "UPDATE escrow SET output = json_set(output, '$.more', ?) WHERE side = 'payment'",
    )
      .bind("00".repeat(5_000))
      .run();
    await holdingOthers("another", "they were told before");
    await check(desk.desk, { AUTO_REFERENCE_SCRIPT: "false" });
    await env.DB.prepare("DELETE FROM escrow WHERE source_id = 'another'").run();
    expect((await desk.only("payment")).NextAction).toMatchObject({
      requestedAction: "WaitingForExternalAction",
      errorNote: expect.stringContaining("POST /payment-source-extended/reference-script"),
    });
    expect((await desk.only("purchase")).NextAction.errorNote).toBeNull();
    expect((await show(desk.desk)).status).toBe(404);
  });
});
