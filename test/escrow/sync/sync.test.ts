import { env } from "cloudflare:workers";
import { beforeEach, describe, expect, it } from "vitest";
import { openDb } from "../../../src/db/client.ts";
import {
  DOC_OR_ROW_SQL,
  type StoredDocument,
} from "../../../src/escrow/store/outdated-documents.ts";
import { moveCursor, readSyncStatuses, startBackfill } from "../../../src/sources/cursor.ts";
import { emptyTables } from "../../support/app.ts";
import { TestChain } from "../../support/chain.ts";
import {
  addWallet,
  createSource,
  leftBehind,
  parseDoc,
  runPass,
  settle,
} from "../../support/sources/sync.ts";

const V1 = "Web3ChainV1";
const V2 = "Web3ChainV2";

interface Doc {
  onChainState: string | null;
  resultHash: string;
  totalBuyerChainFees: number;
  totalSellerChainFees: number;
  NextAction: { requestedAction: string; errorType: string | null; errorNote: string | null };
  CurrentTransaction: {
    txHash: string;
    status: string;
    previousOnChainState: string | null;
  } | null;
  WithdrawnForSeller: { amount: string; unit: string }[];
  WithdrawnForBuyer: { amount: string; unit: string }[];
  Settled: Record<"seller" | "buyer" | "protocolFee", { unit: string; amount: string }[]> | null;
}

/** The records of an identifier, by side. */
async function docsOf(identifier: string | undefined): Promise<{ payment?: Doc; purchase?: Doc }> {
  const rows = await openDb(env).all<StoredDocument & { side: string }>(
    `SELECT side, ${DOC_OR_ROW_SQL} FROM escrow AS page WHERE blockchain_identifier = unhex(?)`,
    identifier ?? "",
  );
  return Object.fromEntries(rows.map(({ side, ...row }) => [side, parseDoc(row)]));
}

async function countRows(table: string): Promise<number> {
  const [row] = await openDb(env).all<{ n: number }>(`SELECT count(*) AS n FROM ${table}`);
  return row?.n ?? -1;
}

const LOCK = { do: "lock", as: "a", version: V1 };

/** One escrow's life: the lock and the steps after it. */
function life(version: string, ...steps: string[]) {
  return [{ ...LOCK, version }, ...steps.map((step) => ({ do: step, on: "a" }))];
}

beforeEach(emptyTables);

describe("a life driven from outside", () => {
  it.each([
    [V1, [], "FundsLocked"],
    [V1, ["submitResult"], "ResultSubmitted"],
    [V1, ["submitResult", "withdraw"], "Withdrawn"],
    [V1, ["requestRefund"], "RefundRequested"],
    [V1, ["requestRefund", "cancelRefund"], "FundsLocked"],
    [V1, ["requestRefund", "withdrawRefund"], "RefundWithdrawn"],
    [V1, ["submitResult", "requestRefund"], "Disputed"],
    [V1, ["requestRefund", "submitResult"], "Disputed"],
    [V1, ["submitResult", "requestRefund", "authorizeRefund"], "RefundRequested"],
    [V1, ["submitResult", "requestRefund", "withdrawDisputed"], "DisputedWithdrawn"],
    [V2, ["submitResult", "requestRefund", "authorizeWithdrawal"], "WithdrawAuthorized"],
    [V2, ["submitResult", "requestRefund", "authorizeWithdrawal", "withdraw"], "Withdrawn"],
    [V2, ["requestRefund", "authorizeRefund"], "RefundAuthorized"],
    [V2, ["submitResult", "authorizeRefund", "withdrawRefund"], "RefundWithdrawn"],
    [V2, ["submitResult", "requestRefund", "withdrawDisputed"], "DisputedWithdrawn"],
  ] as const)("%s %j ends in %s on both sides, without an error", async (version, steps, state) => {
    const chain = await TestChain.create();
    const source = await createSource(chain, version);
    const played = await chain.act(life(version, ...steps));
    await settle(chain, source);

    const { payment, purchase } = await docsOf(played[0]?.escrows[0]?.identifier);
    const ended = /Withdrawn$/.test(state);
    for (const doc of [payment, purchase]) {
      expect(doc?.onChainState).toBe(state);
      expect(doc?.NextAction).toMatchObject({
        requestedAction: ended ? "None" : "WaitingForExternalAction",
        errorType: null,
        errorNote: null,
      });
      expect(doc?.CurrentTransaction?.txHash).toBe(played.at(-1)?.txHash);
    }
    const events = await openDb(env).all<{ kind: string }>("SELECT kind FROM event");
    expect(events.filter(({ kind }) => kind.endsWith("ON_ERROR"))).toEqual([]);
  });

  it("a cleared result is cleared, and fees go to who acted", async () => {
    const chain = await TestChain.create();
    const source = await createSource(chain, V2);
    const played = await chain.act(life(V2, "submitResult", "authorizeRefund"));
    await settle(chain, source);
    const { payment } = await docsOf(played[0]?.escrows[0]?.identifier);
    expect(payment?.resultHash).toBe("");
    expect(payment?.totalBuyerChainFees).toBeGreaterThan(0);
    expect(payment?.totalSellerChainFees).toBeGreaterThan(payment?.totalBuyerChainFees ?? 0);
  });

  it("a settled dispute shows what each side got, and only it does", async () => {
    const chain = await TestChain.create();
    const source = await createSource(chain);
    const disputed = await chain.act(life(V1, "submitResult", "requestRefund", "withdrawDisputed"));
    const withdrawn = await chain.act(
      life(V1, "submitResult", "withdraw").map((step) => ({
        ...step,
        ...("as" in step ? { as: "b" } : { on: "b" }),
      })),
    );
    await settle(chain, source);
    const native = (amount: string) => [{ amount, unit: "" }];
    const { payment } = await docsOf(disputed[0]?.escrows[0]?.identifier);
    const sum = [...(payment?.WithdrawnForBuyer ?? []), ...(payment?.WithdrawnForSeller ?? [])]
      .map(({ amount }) => BigInt(amount))
      .reduce((a, b) => a + b, 0n);
    expect(sum).toBe(10_000_000n);
    const plain = await docsOf(withdrawn[0]?.escrows[0]?.identifier);
    expect(plain.payment?.WithdrawnForSeller).toEqual([]);
    // Of ten coins the contract takes 50 permille, and the ledger wants the output to hold more.
    expect(plain.payment?.Settled).toEqual({
      seller: native("8564770"),
      buyer: [],
      protocolFee: native("1435230"),
    });
    expect(payment?.Settled).toEqual({
      seller: payment?.WithdrawnForSeller,
      buyer: payment?.WithdrawnForBuyer,
      protocolFee: [],
    });
  });
});

describe("a lock that is genuine but wrong is FundsOrDatumInvalid, with the reason", () => {
  it.each([
    ["a cooldown", { datum: { sellerCooldownTime: "5" } }, /cooldown/],
    ["a collateral return below the minimum", { collateral: "1000" }, /collateral/],
    ["a late lock", { payByTime: "1700000000000" }, /payByTime/],
    ["another state", { datum: { state: "Disputed" } }, /Disputed/],
    ["a result", { datum: { resultHash: "ab".repeat(32) } }, /result/],
  ])("%s", async (_, terms, reason) => {
    const chain = await TestChain.create();
    const source = await createSource(chain);
    const [locked] = await chain.act([{ ...LOCK, ...terms }]);
    await settle(chain, source);
    const { payment, purchase } = await docsOf(locked?.escrows[0]?.identifier);
    for (const doc of [payment, purchase]) {
      expect(doc?.onChainState).toBe("FundsOrDatumInvalid");
      expect(doc?.NextAction.requestedAction).toBe("WaitingForManualAction");
      expect(doc?.NextAction.errorType).toBe("Unknown");
      expect(doc?.NextAction.errorNote).toMatch(reason);
    }
    const kinds = await openDb(env).all<{ kind: string }>("SELECT kind FROM event ORDER BY kind");
    expect(kinds.map(({ kind }) => kind)).toEqual([
      "PAYMENT_ON_CHAIN_STATUS_CHANGED",
      "PAYMENT_ON_ERROR",
      "PURCHASE_ON_CHAIN_STATUS_CHANGED",
      "PURCHASE_ON_ERROR",
    ]);
  });
});

describe("strangers on the chain", () => {
  const deep = (depth: number) => `${"9f".repeat(depth)}${"ff".repeat(depth)}`;

  it("cannot stop the sync with datums of any kind: it finds the locks after them", async () => {
    const chain = await TestChain.create();
    const source = await createSource(chain);
    await chain.act(
      ["d87980", "00", "d8799f01ff", "a0", "1b7fffffffffffffff", "d905019f00ff", deep(900)].map(
        (datum) => ({
          do: "lockRaw",
          locks: [{ version: V1, datum, funds: [{ unit: "", amount: "20000000" }] }],
        }),
      ),
    );
    await chain.act([
      { do: "lockRaw", locks: [{ version: V1, funds: [{ unit: "", amount: "5000000" }] }] },
    ]);
    const [good] = await chain.act([LOCK]);
    await settle(chain, source);
    expect(await countRows("escrow")).toBe(2);
    const { payment } = await docsOf(good?.escrows[0]?.identifier);
    expect(payment?.onChainState).toBe("FundsLocked");
  });

  it("a V2 lock that could never be paid out, or with a negative number, is passed over", async () => {
    const chain = await TestChain.create();
    const source = await createSource(chain, V2);
    const { contracts } = await chain.wallets();
    const address = contracts.find(({ type }) => type === V2)?.address;
    await chain.act([
      { ...LOCK, as: "b", version: V2, datum: { buyerReturnAddress: address } },
      { ...LOCK, as: "c", version: V2, datum: { sellerReturnAddress: address } },
      { ...LOCK, as: "d", version: V2, datum: { collateralReturn: "-1" } },
      { ...LOCK, as: "e", version: V2, datum: { unlockTime: "-5" } },
      { ...LOCK, as: "f", version: V2, datum: { payByTime: String(2n ** 80n) } },
      { ...LOCK, version: V2 },
    ]);
    await settle(chain, source);
    expect(await countRows("escrow")).toBe(2);
  });

  it("a forged lock in our wallets' name is counted and leaves no record", async () => {
    const chain = await TestChain.create();
    const source = await createSource(chain);
    await chain.act([
      { ...LOCK, as: "forged", datum: { inputHash: "cd".repeat(32) } },
      LOCK,
      { do: "lockAgain", on: "a", as: "again", payer: "stranger" },
    ]);
    await settle(chain, source);
    expect(await countRows("escrow")).toBe(2);
    const [cursor] = await openDb(env).all<{ n: number }>(
      "SELECT ignored_locks AS n FROM source_cursor",
    );
    // The one that repeats an identifier is not even looked at.
    expect(cursor?.n).toBe(1);
  });

  it("a lock that somebody else pays for leaves no record", async () => {
    const chain = await TestChain.create();
    const source = await createSource(chain);
    // Both are real and signed; the second names a buyer who has no input in it.
    await chain.act([LOCK]);
    await chain.act([
      {
        do: "lockAll",
        orders: [
          { as: "b", version: V1, buyer: 0 },
          { as: "c", version: V1, buyer: 1 },
        ],
      },
    ]);
    await settle(chain, source);
    expect(await countRows("escrow")).toBe(4);
    const [cursor] = await openDb(env).all<{ n: number }>(
      "SELECT ignored_locks AS n FROM source_cursor",
    );
    expect(cursor?.n).toBe(1);
  });

  it("change nothing with a transaction that failed phase 2", async () => {
    const chain = await TestChain.create();
    const source = await createSource(chain);
    const [locked] = await chain.act([LOCK, { do: "failToSpend", on: "a" }]);
    await settle(chain, source);
    const { payment } = await docsOf(locked?.escrows[0]?.identifier);
    expect(payment?.onChainState).toBe("FundsLocked");
  });

  it("a repeated identifier never touches the first record", async () => {
    const chain = await TestChain.create();
    const source = await createSource(chain);
    const [locked] = await chain.act([LOCK, { do: "lockAgain", on: "a", as: "again" }]);
    await chain.act([{ do: "submitResult", on: "again" }]);
    await settle(chain, source);
    const { payment } = await docsOf(locked?.escrows[0]?.identifier);
    expect(payment?.onChainState).toBe("FundsLocked");
    expect(await countRows("escrow")).toBe(2);
  });
});

describe("what is done twice changes nothing", () => {
  it("a second pass over the same chain makes one call to the provider and no record", async () => {
    const chain = await TestChain.create();
    const source = await createSource(chain);
    await chain.act(life(V1, "submitResult", "withdraw"));
    await settle(chain, source);
    const first = await leftBehind(source);
    await chain.stats();
    await runPass(chain, source);
    expect((await chain.stats()).total).toBe(1);
    expect(await leftBehind(source)).toEqual(first);
  });

  it("reading the whole history again changes no record and writes no event", async () => {
    const chain = await TestChain.create();
    const source = await createSource(chain);
    await chain.act(life(V2, "submitResult", "requestRefund", "withdrawDisputed"));
    await chain.act(life(V1, "submitResult", "requestRefund", "withdrawDisputed"));
    await settle(chain, source);
    const first = await leftBehind(source);
    await openDb(env).batch(moveCursor(source, null));
    await settle(chain, source);
    expect(await leftBehind(source)).toEqual(first);
  });

  it("two passes at once leave what one leaves", async () => {
    const chain = await TestChain.create();
    const source = await createSource(chain);
    await chain.act(life(V1, "submitResult", "withdraw"));
    await Promise.all([runPass(chain, source), runPass(chain, source), runPass(chain, source)]);
    await settle(chain, source);
    const together = await leftBehind(source);
    await emptyTables();
    const again = await createSource(chain);
    await settle(chain, again);
    expect(await leftBehind(again)).toEqual(together);
  });
});

it("a wallet added later gets its past, and the other side's records stay as they are", async () => {
  const chain = await TestChain.create();
  const source = await createSource(chain, V1, (name) => name.startsWith("seller"));
  await chain.act(life(V1, "submitResult", "withdraw"));
  await settle(chain, source);
  const before = await leftBehind(source);
  expect(before.escrows.map(({ side }) => side)).toEqual(["payment"]);

  const { wallets } = await chain.wallets();
  const buyers = wallets.filter(({ name }) => name.startsWith("buyer"));
  const added = buyers.map(({ vkey }) => ({ role: "Purchasing" as const, vkey }));
  await openDb(env).batch([
    ...buyers.map((one) => addWallet(source, one)),
    startBackfill(source, added),
  ]);
  const status = await readSyncStatuses(openDb(env), [source], Date.now());
  expect(status.get(source)?.syncInProgress).toBe(true);
  await settle(chain, source);

  const after = await leftBehind(source);
  expect(after.escrows.filter(({ side }) => side === "payment")).toEqual(before.escrows);
  expect(after.escrows.filter(({ side }) => side === "purchase")).toHaveLength(1);
  expect(after.escrows.at(-1)?.doc).toMatchObject({ onChainState: "Withdrawn" });
});

it("one failing source never stops another, and keeps its error for operators", async () => {
  const chain = await TestChain.create();
  const good = await createSource(chain, V1, (name) => name.endsWith("-0"));
  const bad = await createSource(chain, V2, (name) => name.endsWith("-1"));
  await openDb(env).batch([
    {
      sql: "UPDATE payment_source SET rpc_provider_api_key = 'v1.broken' WHERE id = ?",
      params: [bad],
    },
  ]);
  await chain.act([LOCK]);
  await Promise.all([settle(chain, bad), settle(chain, good)]);
  const status = await readSyncStatuses(openDb(env), [good, bad], Date.now());
  expect(status.get(good)).toMatchObject({ error: null });
  expect(status.get(good)?.lastCheckedAt).not.toBeNull();
  expect(status.get(bad)?.error).toEqual(expect.any(String));
  expect(await countRows("escrow")).toBe(2);
});
