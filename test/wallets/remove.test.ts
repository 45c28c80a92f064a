import { env } from "cloudflare:workers";
import * as fc from "fast-check";
import { beforeAll, beforeEach, describe, expect, it } from "vitest";
import { generateMnemonic } from "../../src/chain/wallet-keys.ts";
import { emptyTables } from "../support/app.ts";
import { wrapD1 } from "../support/d1.ts";
import { runs } from "../support/effort.ts";
import { SourceApi } from "../support/sources/api.ts";

let api: SourceApi;
let sourceId: string;

beforeAll(async () => {
  api = await SourceApi.open();
});

beforeEach(async () => {
  await emptyTables();
  await api.chain.faults();
  sourceId = (await api.create()).data.id;
});

/** A new wallet, which holds nothing. */
async function add(walletType: "Funding" | "Selling" | "Purchasing" = "Funding") {
  const body = { network: "Preprod", paymentSourceId: sourceId, walletType };
  const { data } = await api.ask("POST", "/api/v1/wallet", {
    ...body,
    ...{ walletMnemonic: generateMnemonic(), drives: "all" },
  });
  return data.Wallet as { id: string; walletVkey: string; walletAddress: string };
}

const remove = (id: string, options = {}) => api.ask("DELETE", "/api/v1/wallet", { id }, options);

/** What a wallet's row says: whether it was removed, and whether its key is still there. */
const stateOf = async (id: string) => {
  const row = await env.DB.prepare(
    "SELECT deleted_at IS NOT NULL AS isRemoved, mnemonic <> '' AS hasKey FROM managed_wallet WHERE id = ?",
  )
    .bind(id)
    .first<{ isRemoved: number; hasKey: number }>();
  return { isRemoved: row?.isRemoved === 1, hasKey: row?.hasKey === 1 };
};

/** Has the provider tell of one output at each address. */
const hold = (amounts: { unit: string; quantity: string }[]) => ({
  match: "^/addresses/",
  status: 200,
  body: JSON.stringify([
    {
      ...{ address: "addr", tx_hash: "ab".repeat(32), tx_index: 0, output_index: 0 },
      ...{ amount: amounts, block: "cd".repeat(32) },
      ...{ data_hash: null, inline_datum: null, reference_script_hash: null },
    },
  ]),
});

/** Writes a transfer from a wallet, or to its address. */
async function transfer(
  wallet: { id: string; walletVkey: string; walletAddress: string },
  { state, isIncoming }: { state: string; isIncoming: boolean },
): Promise<void> {
  const id = crypto.randomUUID();
  const [from, to] = isIncoming ? ["other", wallet.walletAddress] : [wallet.id, "addr_test1other"];
  await env.DB.batch([
    env.DB.prepare(
      `INSERT INTO transfer (id, network, source_id, wallet_id, wallet_vkey, wallet_address, to_address, coin,
         assets, state, event_counts, created_by_id, created_at, updated_at, revision)
       VALUES (?, 'Preprod', ?, ?, ?, 'addr_test1from', ?, '5000000', '[]', ?, '{}', 'env-admin', 1, 1, 0)`,
    ).bind(id, sourceId, from, isIncoming ? "other" : wallet.walletVkey, to, state),
    ...(state === "Pending" || state === "Sent" || state === "Confirmed"
      ? [
          env.DB.prepare(
            `INSERT INTO wallet_task (feature, subject_id, id, network, wallet_vkey, source_id, requested_at,
               attempts, updated_at) VALUES ('transfer', ?1, ?1, 'Preprod', ?2, ?3, 1, 0, 1)`,
          ).bind(id, isIncoming ? "other" : wallet.walletVkey, sourceId),
        ]
      : []),
  ]);
}

describe("DELETE /wallet", () => {
  it("removes an empty wallet with its rules, and destroys its key", async () => {
    const wallet = await add();
    const rule = { walletId: wallet.id, thresholdAmount: "5000000" };
    await api.ask("POST", "/api/v1/wallet/low-balance", rule);
    const { status, data } = await remove(wallet.id);
    expect({ status, data }).toMatchObject({ status: 200, data: { id: wallet.id } });
    expect(await stateOf(wallet.id)).toEqual({ isRemoved: true, hasKey: false });
    expect((await api.ask("GET", "/api/v1/wallet/low-balance")).data.Rules).toEqual([]);
    expect((await remove(wallet.id)).status).toBe(404);
  });

  it("leaves a wallet with funds: the one of the local chain", async () => {
    const { data } = await api.update({
      ...{ id: sourceId, AddFundingWallets: [{ walletMnemonic: api.wallet("admin").mnemonic }] },
    });
    const [{ id }] = data.FundingWallets;
    expect(await remove(id)).toMatchObject({
      status: 409,
      message: "id: the wallet holds funds. Transfer them to another wallet first.",
    });
    expect(await stateOf(id)).toEqual({ isRemoved: false, hasKey: true });
  });

  it("leaves a wallet for which a transfer is requested meanwhile", async () => {
    const wallet = await add();
    let isRequested = false;
    const DB = wrapD1(env.DB, async ({ sql }, answer) => {
      if (!isRequested && sql.some((one) => one.startsWith("UPDATE managed_wallet SET note"))) {
        isRequested = true;
        await transfer(wallet, { state: "Pending", isIncoming: false });
      }
      return answer();
    });
    expect(await remove(wallet.id, { env: { DB } })).toMatchObject({ status: 409 });
    expect(isRequested).toBe(true);
    expect(await stateOf(wallet.id)).toEqual({ isRemoved: false, hasKey: true });
  });

  it("removes a wallet exactly when it is known to hold nothing and nothing needs it", async () => {
    const amounts = fc.array(
      fc.record({
        unit: fc.constantFrom("lovelace", "ab".repeat(30)),
        quantity: fc.bigInt(0n, 10n ** 15n).map(String),
      }),
      { minLength: 1, maxLength: 3 },
    );
    const fault = fc.constantFrom(
      { match: "^/addresses/", status: 500 },
      { match: "^/addresses/", status: 400 },
      { match: "^/addresses/", status: 200, body: "{" },
    );
    const balance = fc.oneof(
      fc.constant({ kind: "empty" as const }),
      fc.record({ kind: fc.constant("holds" as const), amounts }),
      fc.record({ kind: fc.constant("unknown" as const), fault }),
    );
    const transfers = fc.array(
      fc.record({
        state: fc.constantFrom("Pending", "Sent", "Confirmed", "Failed"),
        isIncoming: fc.boolean(),
      }),
      { maxLength: 2 },
    );
    const role = fc.constantFrom("Funding", "Selling", "Purchasing");
    await fc.assert(
      fc.asyncProperty(role, balance, transfers, async (walletType, held, moving) => {
        await api.chain.faults();
        const wallet = await add(walletType as "Funding");
        for (const one of moving) await transfer(wallet, one);
        if (held.kind === "holds") await api.chain.faults(hold(held.amounts));
        if (held.kind === "unknown") await api.chain.faults(held.fault);
        const { status } = await remove(wallet.id);
        const isMoving = moving.some(({ state }) => state === "Pending" || state === "Sent");
        const expected =
          isMoving || held.kind === "holds" ? 409 : held.kind === "empty" ? 200 : 503;
        expect(status).toBe(expected);
        const state = await stateOf(wallet.id);
        expect(state.isRemoved).toBe(expected === 200);
        if (expected !== 200) expect(state.hasKey).toBe(true);
        await env.DB.batch([
          env.DB.prepare("DELETE FROM transfer"),
          env.DB.prepare("DELETE FROM wallet_task"),
        ]);
      }),
      runs(25, 300),
    );
  });
});
