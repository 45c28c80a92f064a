import { env } from "cloudflare:workers";
import { beforeEach, describe, expect, it } from "vitest";
import { type Provider, ProviderError } from "../../src/chain/provider/provider.ts";
import { openDb } from "../../src/db/client.ts";
import type { Env } from "../../src/env.ts";
import { publishNeededScripts } from "../../src/payment-sources/reference-script/publish-needed-scripts.ts";
import { markSpentScriptWithdrawn } from "../../src/wallets/reference-scripts/withdraw-spent-script.ts";
import { emptyJournals, emptyTables } from "../support/app.ts";
import { PaymentSourceFixture } from "../support/escrow/payment-source-fixture.ts";
import { insertRows } from "../support/insert-rows.ts";
import { ASLEEP } from "../support/objects.ts";
import { RegistrationFixture } from "../support/registry/registration-fixture.ts";
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

const publish = (fixture: RegistrationFixture, more: object = {}) =>
  fixture.ask<Shown>("POST", PATH, { id: fixture.sourceId, ...more });
const withdraw = (fixture: RegistrationFixture) =>
  fixture.ask<Shown>("DELETE", PATH, { id: fixture.sourceId });
const show = (fixture: RegistrationFixture) =>
  fixture.ask<Shown>("GET", `${PATH}?id=${fixture.sourceId}`);

interface Utxo {
  tx_hash: string;
  output_index: number;
  amount: { quantity: string }[];
  reference_script_hash: string | null;
}

/** The outputs at the first wallet that carry a script. */
async function carried(fixture: RegistrationFixture): Promise<Utxo[]> {
  const path = `/addresses/${fixture.sellers[0].address}/utxos`;
  const utxos = await fixture.chain.get<Utxo[]>(path);
  return utxos.filter((one) => one.reference_script_hash !== null);
}

describe("POST and DELETE /payment-source-extended/reference-script", () => {
  it("publish the contract's script in an output of a wallet, and take its deposit back", async () => {
    const fixture = await RegistrationFixture.open();
    const asked = await publish(fixture);
    expect(asked).toMatchObject({
      status: 200,
      data: { state: "PublishRequested", output: null, walletVkey: fixture.sellers[0].vkey },
    });
    await fixture.settle();
    const { data: published } = await show(fixture);
    const [output] = await carried(fixture);
    expect(published).toMatchObject({
      state: "Published",
      output: `${output?.tx_hash}#${output?.output_index}`,
      deposit: output?.amount[0]?.quantity,
    });
    expect(output?.reference_script_hash).toBe(published.scriptHash);
    expect((await withdraw(fixture)).data.state).toBe("WithdrawRequested");
    await fixture.settle();
    expect((await show(fixture)).data.state).toBe("Withdrawn");
    expect(await carried(fixture)).toEqual([]);
    expect((await publish(fixture)).status).toBe(200);
  });

  it("end with what has been spent already, as after a restore, and publish it again", async () => {
    const fixture = await RegistrationFixture.open();
    await publish(fixture);
    await fixture.settle();
    const restore = await saveDatabase();
    await withdraw(fixture);
    await fixture.settle();
    const { data: withdrawn } = await show(fixture);
    await restore();
    await emptyJournals();
    expect((await show(fixture)).data.state).toBe("Published");

    await withdraw(fixture);
    await fixture.chain.mine(25);
    await fixture.settle();
    const { output, txHash } = withdrawn;
    expect((await show(fixture)).data).toMatchObject({
      state: "Withdrawn",
      output,
      txHash,
      error: null,
    });
    expect((await publish(fixture)).status).toBe(200);
    await fixture.settle();
    expect((await show(fixture)).data.state).toBe("Published");
    expect(await carried(fixture)).toHaveLength(1);
  });

  it.each(["Web3ChainV1", "Web3ChainV2"] as const)(
    "whose output somebody else has spent is read no more: the refused step goes out with the script in it (%s)",
    async (type) => {
      const buying = await PaymentSourceFixture.open(type);
      const { fixture } = buying;
      const [seller] = await openDb(env).all<{ id: string }>(
        "SELECT id FROM managed_wallet WHERE vkey = ?",
        fixture.sellers[0].vkey,
      );
      await publish(fixture, { walletId: seller?.id });
      await fixture.settle();
      const restore = await saveDatabase();
      await withdraw(fixture);
      await fixture.settle();
      const { data: spent } = await show(fixture);
      await restore();
      await emptyJournals();
      await fixture.chain.mine(25);
      await buying.buy();
      await buying.work();
      await buying.sync();
      const { blockchainIdentifier } = await buying.only("payment");
      await fixture.ask("POST", "/payment/submit-result", {
        ...{ network: "Preprod", blockchainIdentifier, submitResultHash: "ab".repeat(32) },
      });
      await fixture.settle();
      await buying.sync();
      expect((await show(fixture)).data).toMatchObject({
        state: "Withdrawn",
        txHash: spent.txHash,
      });
      expect(await buying.only("payment")).toMatchObject({ onChainState: "ResultSubmitted" });
    },
  );

  it("keep what a late node does not know, as long as nobody says who has spent it", async () => {
    const fixture = await RegistrationFixture.open();
    await publish(fixture);
    await fixture.settle();
    const { output } = (await show(fixture)).data;
    const missed = (spenders: Provider["spenders"]) =>
      markSpentScriptWithdrawn(openDb(env), { spenders }, fixture.sourceId, [output ?? ""]);
    await missed(async () => null);
    await missed(async () => new Map([[7, "ab".repeat(32)]]));
    await missed(async () => {
      throw new ProviderError("busy");
    });
    expect((await show(fixture)).data.state).toBe("Published");
  });

  it("refuse a second one, one that is not published, and what is not there", async () => {
    const fixture = await RegistrationFixture.open();
    expect((await show(fixture)).status).toBe(404);
    expect((await withdraw(fixture)).status).toBe(404);
    expect((await publish(fixture, { walletId: "nothing" })).status).toBe(404);
    expect((await publish(fixture)).status).toBe(200);
    expect(await publish(fixture)).toMatchObject({
      status: 409,
      message: "id: the payment source already has a reference script",
    });
    expect(await withdraw(fixture)).toMatchObject({
      status: 409,
      message: "id: the reference script is PublishRequested, not Published",
    });
    expect((await fixture.ask("POST", PATH, { id: "nothing" })).status).toBe(404);
  });
});

describe("AUTO_REFERENCE_SCRIPT", () => {
  /** A payment whose next step has room for the script beside it, or none. */
  async function holding(fixture: RegistrationFixture, bytes: number): Promise<void> {
    const [{ vkey, address }] = fixture.sellers;
    await insertRows("escrow", [
      {
        ...{ id: "e", side: "payment", network: "Preprod", source_id: fixture.sourceId },
        ...{ source_type: "Web3ChainV1", on_chain_state: "ResultSubmitted" },
        output_length: JSON.stringify({ utxo: `${"ab".repeat(32)}#0`, datum: "00".repeat(bytes) })
          .length,
        ...{ wallet_id: "w", wallet_vkey: vkey, wallet_address: address },
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
        output_length: 18_000,
        error: JSON.stringify({ isManual: false, type: "Unknown", note, txHash: null }),
      })),
    );
  const check = (fixture: RegistrationFixture, variables: Partial<Env> = {}) =>
    publishNeededScripts(fixture.env({ ...ASLEEP, ...variables }), "test", Date.now() + 60_000);

  it("has the script published once, as soon as an escrow has no room for it beside it", async () => {
    const fixture = await RegistrationFixture.open();
    await holding(fixture, 8_000);
    await check(fixture);
    expect((await show(fixture)).status).toBe(404);
    await env.DB.prepare("DELETE FROM escrow").run();
    await holding(fixture, 9_000);
    // What nothing can be done for takes nobody's turn.
    await insertRows("payment_source", [{ id: "removed", network: "Preprod", deleted_at: 1 }]);
    await holdingOthers("removed", "its source was removed");
    await Promise.all([check(fixture), check(fixture)]);
    expect((await show(fixture)).data).toMatchObject({
      state: "PublishRequested",
      walletVkey: fixture.sellers[0].vkey,
    });
    await fixture.settle();
    expect((await show(fixture)).data.state).toBe("Published");
    expect(await carried(fixture)).toHaveLength(1);
    await withdraw(fixture);
    await fixture.settle();
    await check(fixture);
    expect((await show(fixture)).data.state).toBe("Withdrawn");
  });

  it("of false has the record say what it needs, and publishes nothing", async () => {
    const fixture = await PaymentSourceFixture.open("Web3ChainV2");
    await fixture.buy();
    await fixture.work();
    await fixture.sync();
    await env.DB.prepare(
      "UPDATE escrow SET output_length = output_length + 10000 WHERE side = 'payment'",
    ).run();
    await holdingOthers("another", "they were told before");
    await check(fixture.fixture, { AUTO_REFERENCE_SCRIPT: "false" });
    await env.DB.prepare("DELETE FROM escrow WHERE source_id = 'another'").run();
    expect((await fixture.only("payment")).NextAction).toMatchObject({
      requestedAction: "WaitingForExternalAction",
      errorNote: expect.stringContaining("Publish the reference script"),
    });
    expect((await fixture.only("purchase")).NextAction.errorNote).toBeNull();
    expect((await show(fixture.fixture)).status).toBe(404);
  });
});
