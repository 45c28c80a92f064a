import { env } from "cloudflare:workers";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { type CborNodeOf, encodeMap, readCbor } from "../../../src/chain/cbor.ts";
import { encodeRedeemer, REDEEMERS } from "../../../src/chain/contracts/redeemers.ts";
import { bytesToHex, hexToBytes } from "../../../src/chain/hex.ts";
import { openDb } from "../../../src/db/client.ts";
import {
  DOC_OR_ROW_SQL,
  type StoredDocument,
} from "../../../src/escrow/store/outdated-documents.ts";
import { moveCursor } from "../../../src/sources/cursor.ts";
import { emptyTables } from "../../support/app.ts";
import { type StepResult, TestChain } from "../../support/chain.ts";
import { copiedFrom } from "../../support/sources/backfill.ts";
import { createSource, parseDoc, settle } from "../../support/sources/sync.ts";

const V1 = "Web3ChainV1";
const V2 = "Web3ChainV2";

interface Doc {
  onChainState: string;
  resultHash: string;
  cooldownTime: number;
  cooldownTimeOtherParty: number;
  WithdrawnForSeller: { unit: string; amount: string }[];
  WithdrawnForBuyer: { unit: string; amount: string }[];
  Settled: Record<"seller" | "buyer", { unit: string; amount: string }[]> | null;
  NextAction: { requestedAction: string; errorType: string | null; errorNote: string | null };
}

/** Both records of the escrow that a step made or moved. */
async function docsOf(step: StepResult | undefined): Promise<Doc[]> {
  const rows = await openDb(env).all<StoredDocument>(
    `SELECT ${DOC_OR_ROW_SQL} FROM escrow AS page WHERE blockchain_identifier = unhex(?) ORDER BY side`,
    step?.escrows[0]?.identifier ?? "",
  );
  return rows.map((row) => parseDoc(row) as unknown as Doc);
}

async function statesOf(step: StepResult | undefined): Promise<string[]> {
  return (await docsOf(step)).map(({ onChainState }) => onChainState);
}

/** What the provider answers. */
const ask = <T>(chain: TestChain, path: string) => chain.get<T>(path);

/** Has the source go on after a transaction that it has not read, so that steps are skipped. */
async function skipTo(chain: TestChain, source: string, step: StepResult | undefined) {
  const tx = await ask<{
    hash: string;
    block: string;
    block_height: number;
    block_time: number;
    index: number;
  }>(chain, `/txs/${step?.txHash}`);
  await openDb(env).batch(
    moveCursor(source, {
      hash: tx.hash,
      blockHash: tx.block,
      blockHeight: tx.block_height,
      txIndex: tx.index,
      blockTime: tx.block_time,
      validContract: true,
    }),
  );
}

const lock = (as: string, version: string = V1) => ({ do: "lock", as, version });
/** At a contract without rules, for steps that those of the default deployment refuse. */
const lockOpen = (as: string, version: string = V1) => ({ ...lock(as, version), rules: "open" });
const openSource = (chain: TestChain, version: typeof V1 | typeof V2) =>
  createSource(chain, version, () => true, "open");
const act = (on: string, action: string, more = {}) => ({ do: action, on, ...more });

beforeEach(emptyTables);

/** Between two steps of a party is a cooldown of minutes, and the unlock time is after seven hours. */
const MANY_STEPS_MS = 6 * 3_600_000;

describe("after skipped transactions", () => {
  /** A source that has read the lock of `a`, and skipped what came after it. */
  async function withGap(...skipped: Record<string, unknown>[]) {
    const chain = await TestChain.create();
    const source = await createSource(chain);
    const submitResultTime = String(Date.now() + MANY_STEPS_MS);
    const [locked] = await chain.act([{ ...lock("a"), submitResultTime }]);
    await settle(chain, source);
    const steps = await chain.act(skipped);
    await skipTo(chain, source, steps.at(-1));
    await settle(chain, source);
    return { chain, source, locked };
  }

  it("an escrow is followed from where its funds are now", async () => {
    const steps = [act("a", "submitResult"), act("a", "requestRefund")];
    const { chain, source, locked } = await withGap(...steps);
    expect(await statesOf(locked)).toEqual(["FundsLocked", "FundsLocked"]);
    await chain.act([act("a", "withdrawDisputed")]);
    await settle(chain, source);
    expect(await statesOf(locked)).toEqual(["DisputedWithdrawn", "DisputedWithdrawn"]);
  });

  /** Steps back and forth that leave the escrow where it was, but for its output. */
  const backAndForth = (times: number) =>
    Array.from({ length: times }, () => [
      act("a", "requestRefund"),
      act("a", "cancelRefund"),
    ]).flat();

  it("an escrow is followed over more steps than ten", async () => {
    const { chain, source, locked } = await withGap(...backAndForth(8));
    await chain.act([act("a", "submitResult")]);
    await settle(chain, source);
    expect(await statesOf(locked)).toEqual(["ResultSubmitted", "ResultSubmitted"]);
  });

  it("that many escrows went through together are read once", async () => {
    const chain = await TestChain.create();
    const source = await createSource(chain, V2);
    const escrows = ["a", "b", "c"];
    await chain.act(escrows.map((as) => lock(as, V2)));
    await settle(chain, source);
    const moves = (action: string) => ({
      do: "actAll",
      moves: escrows.map((on) => ({ on, action })),
    });
    const steps = await chain.act([moves("submitResult"), moves("submitResult")]);
    await skipTo(chain, source, steps.at(-1));
    await settle(chain, source);
    await chain.act([moves("submitResult")]);
    await chain.stats();
    await settle(chain, source);
    const states = await openDb(env).all("SELECT DISTINCT on_chain_state AS state FROM escrow");
    expect(states).toEqual([{ state: "ResultSubmitted" }]);
    // The transaction itself, the two that were skipped, and the locks.
    const { calls } = await chain.stats();
    expect(calls["GET /txs/{hash}/cbor"]).toBe(6);
    expect(calls["GET /txs/{hash}/utxos"]).toBeUndefined();
  });

  it("of which there are more than can be read in time, the operator is told, and it goes on", async () => {
    const { chain, source, locked } = await withGap(...backAndForth(8));
    const [, other] = await chain.act([act("a", "submitResult"), lock("b")]);
    const { now } = Date;
    const { fetch } = globalThis;
    let waited = 0;
    vi.spyOn(Date, "now").mockImplementation(() => now() + waited);
    vi.stubGlobal("fetch", (...args: Parameters<typeof fetch>) => {
      waited += 700;
      return fetch(...args);
    });
    const warn = vi.spyOn(console, "warn");
    await settle(chain, source);
    const lines = warn.mock.calls.map(([line]) => JSON.parse(String(line)));
    vi.unstubAllGlobals();
    vi.restoreAllMocks();
    expect(lines).toContainEqual(
      expect.objectContaining({
        event: "sync.transaction_gap",
        source,
        reason: expect.stringContaining("too many to read in time"),
      }),
    );
    expect(await statesOf(locked)).toEqual(["FundsLocked", "FundsLocked"]);
    expect(await statesOf(other)).toEqual(["FundsLocked", "FundsLocked"]);
  });

  it("a copy of its datum moves no record, and the escrow is followed on", async () => {
    const { chain, source, locked } = await withGap(lock("b"));
    await chain.act([
      { do: "lockAgain", on: "a", as: "copy" },
      act("copy", "requestRefund"),
      act("copy", "withdrawRefund"),
    ]);
    await settle(chain, source);
    expect(await statesOf(locked)).toEqual(["FundsLocked", "FundsLocked"]);
    await chain.act([act("a", "requestRefund")]);
    await settle(chain, source);
    expect(await statesOf(locked)).toEqual(["RefundRequested", "RefundRequested"]);
  });

  it("a copy in a stranger's own name moves no record and costs no look back", async () => {
    const { chain, source, locked } = await withGap(lock("b"));
    const datum = { ...copiedFrom(locked), payByTime: "0", unlockTime: "0" };
    await chain.act([{ ...lock("copy"), buyer: "stranger", datum }, act("copy", "withdrawRefund")]);
    await chain.stats();
    await settle(chain, source);
    expect(await statesOf(locked)).toEqual(["FundsLocked", "FundsLocked"]);
    // The copy, its step, and once more what that spends.
    expect((await chain.stats()).calls["GET /txs/{hash}/cbor"]).toBe(3);
  });

  it("what was made where the escrow ended does not count as its continuation", async () => {
    const chain = await TestChain.create();
    const source = await createSource(chain);
    const [locked] = await chain.act([lock("a")]);
    await settle(chain, source);
    const skipped = await chain.act([
      {
        do: "actAll",
        moves: [{ on: "a", action: "withdrawRefund" }],
        orders: [{ as: "b", version: V1, datum: copiedFrom(locked) }],
      },
    ]);
    await skipTo(chain, source, skipped.at(-1));
    await chain.act([act("b", "submitResult")]);
    await settle(chain, source);
    expect(await statesOf(locked)).toEqual(["FundsLocked", "FundsLocked"]);
  });
});

it("a copy that is spent together with another escrow of ours moves no record", async () => {
  const chain = await TestChain.create();
  const source = await createSource(chain, V2);
  const [a, b] = await chain.act([lock("a", V2), lock("b", V2)]);
  await settle(chain, source);
  await chain.act([
    { do: "lockAgain", on: "a", as: "copy" },
    {
      do: "actAll",
      moves: [
        { on: "b", action: "requestRefund" },
        { on: "copy", action: "withdrawRefund" },
      ],
    },
  ]);
  await settle(chain, source);
  expect(await statesOf(a)).toEqual(["FundsLocked", "FundsLocked"]);
  expect(await statesOf(b)).toEqual(["RefundRequested", "RefundRequested"]);
});

it("of two redeemers for one input the last counts, as it does for the ledger", async () => {
  const chain = await TestChain.create();
  const source = await createSource(chain);
  const [, submitted] = await chain.act([lock("a"), act("a", "submitResult")]);
  const path = `/txs/${submitted?.txHash}/cbor`;
  const { cbor } = await ask<{ cbor: string }>(chain, path);
  const withSecond = prependRedeemer(hexToBytes(cbor), encodeRedeemer(REDEEMERS.WithdrawRefund));
  await chain.faults({
    match: `^${path}`,
    status: 200,
    body: JSON.stringify({ cbor: bytesToHex(withSecond) }),
  });
  await settle(chain, source);
  expect(await statesOf(submitted)).toEqual(["ResultSubmitted", "ResultSubmitted"]);
});

/** A transaction with one redeemer, and before it another for the same input. */
function prependRedeemer(tx: Uint8Array, redeemer: Uint8Array): Uint8Array {
  const part = ({ start, end }: { start: number; end: number }) => tx.subarray(start, end);
  const [, witnesses] = (readCbor(tx) as CborNodeOf<"array">).items;
  const found = (witnesses as CborNodeOf<"map">).entries.find(
    ([key]) => key.kind === "int" && key.value === 5n,
  );
  const redeemers = found?.[1] as CborNodeOf<"map">;
  const [[key, value]] = redeemers.entries as [CborNodeOf<"map">["entries"][number]];
  const [data, units] = (value as CborNodeOf<"array">).items;
  if (!data || !units) throw new Error("the transaction has no redeemer");
  const other = Uint8Array.of(0x82, ...redeemer, ...part(units));
  const both = encodeMap([
    [part(key), other],
    [part(key), part(value)],
  ]);
  return Uint8Array.of(...tx.subarray(0, redeemers.start), ...both, ...tx.subarray(redeemers.end));
}

describe("disputes of Web3ChainV2 that one transaction settles", () => {
  it.each([
    ["to return addresses", true],
    ["to the parties themselves", false],
  ])("%s show what each escrow paid to each side", async (_, returned) => {
    const chain = await TestChain.create();
    const source = await createSource(chain, V2);
    const { wallets } = await chain.wallets();
    const addressOf = (name: string) => wallets.find((one) => one.name === name)?.address;
    const addresses = returned
      ? {
          buyerReturnAddress: addressOf("stranger"),
          sellerReturnAddress: addressOf("seller-1"),
        }
      : {};
    const [a, b] = await chain.act([
      { ...lock("a", V2), ...addresses },
      { ...lock("b", V2), ...addresses },
      ...["a", "b"].flatMap((on) => [act(on, "submitResult"), act(on, "requestRefund")]),
      {
        do: "actAll",
        moves: [
          { on: "a", action: "withdrawDisputed", buyerShare: "3000000" },
          { on: "b", action: "withdrawDisputed", buyerShare: "8000000" },
        ],
      },
    ]);
    await settle(chain, source);
    const native = (amount: string) => [{ amount, unit: "" }];
    for (const [step, buyer, seller] of [
      [a, "3000000", "7000000"],
      [b, "8000000", "2000000"],
    ] as const) {
      const docs = await docsOf(step);
      expect(docs).toHaveLength(2);
      for (const doc of docs)
        expect(doc).toMatchObject({
          onChainState: "DisputedWithdrawn",
          WithdrawnForBuyer: native(buyer),
          WithdrawnForSeller: native(seller),
          Settled: { buyer: native(buyer), seller: native(seller) },
        });
    }
  });
});

describe("a step with a datum that only the contract takes", () => {
  it("a result of more than a kilobyte is followed", async () => {
    const chain = await TestChain.create();
    const source = await createSource(chain);
    const resultHash = "ab".repeat(1025);
    const [locked] = await chain.act([lock("a"), act("a", "submitResult", { resultHash })]);
    await settle(chain, source);
    expect((await docsOf(locked))[0]).toMatchObject({
      onChainState: "ResultSubmitted",
      resultHash,
    });
    await chain.act([act("a", "withdraw")]);
    await settle(chain, source);
    expect(await statesOf(locked)).toEqual(["Withdrawn", "Withdrawn"]);
  });

  it("a cooldown of any size is followed, and shown as a number that is exact", async () => {
    const chain = await TestChain.create();
    const source = await createSource(chain);
    const datum = { buyerCooldownTime: String(2n ** 64n) };
    const [locked] = await chain.act([lock("a"), act("a", "requestRefund", { datum })]);
    await settle(chain, source);
    const shown = Number.MAX_SAFE_INTEGER;
    expect(await docsOf(locked)).toMatchObject([
      { onChainState: "RefundRequested", cooldownTimeOtherParty: shown },
      { onChainState: "RefundRequested", cooldownTime: shown },
    ]);
  });

  it("thirty results of 14 KB, withdrawn in one transaction, are written", async () => {
    const chain = await TestChain.create();
    const source = await openSource(chain, V2);
    const names = Array.from({ length: 30 }, (_, i) => `e${i}`);
    const funds = [{ unit: "", amount: "100000000" }];
    await chain.act(names.map((name) => ({ ...lockOpen(name, V2), funds })));
    await chain.act(
      names.map((name) => act(name, "submitResult", { resultHash: "ab".repeat(14_000) })),
    );
    await chain.act([{ do: "actAll", moves: names.map((on) => ({ on, action: "withdraw" })) }]);
    await settle(chain, source);
    const states = await openDb(env).all(
      "SELECT on_chain_state AS state, count(*) AS n FROM escrow GROUP BY 1",
    );
    expect(states).toEqual([{ state: "Withdrawn", n: 60 }]);
    // By the number of records and steps alone, the first batch would take all but the last step.
    const [cursor] = await openDb(env).all<{ version: number }>(
      "SELECT version FROM source_cursor",
    );
    expect(cursor?.version).toBeGreaterThan(3);
  });
});

describe("a step that cannot be followed", () => {
  it.each([
    [V1, "a datum that does not read", { payByTime: String(2n ** 64n) }, /no output continues/],
    [V2, "another return address", { sellerReturnAddress: "seller-1" }, /return address/],
  ] as const)("%s with %s leaves the record with an operator", async (version, _, change, why) => {
    const chain = await TestChain.create();
    const source = await openSource(chain, version);
    const { wallets } = await chain.wallets();
    const datum = Object.fromEntries(
      Object.entries(change).map(([name, value]) => [
        name,
        wallets.find((wallet) => wallet.name === value)?.address ?? value,
      ]),
    );
    const [locked] = await chain.act([
      lockOpen("a", version),
      act("a", "submitResult", { datum }),
      act("a", "requestRefund"),
    ]);
    await settle(chain, source);
    for (const doc of await docsOf(locked))
      expect(doc).toMatchObject({
        onChainState: "FundsOrDatumInvalid",
        resultHash: "",
        NextAction: {
          requestedAction: "WaitingForManualAction",
          errorType: "Unknown",
          errorNote: expect.stringMatching(why),
        },
      });
    const events = await openDb(env).all(
      "SELECT kind, count(*) AS n FROM event WHERE kind LIKE '%ERROR' GROUP BY kind ORDER BY kind",
    );
    expect(events).toEqual([
      { kind: "PAYMENT_ON_ERROR", n: 1 },
      { kind: "PURCHASE_ON_ERROR", n: 1 },
    ]);

    await chain.rollback(2);
    await chain.mine(3);
    await settle(chain, source);
    for (const doc of await docsOf(locked))
      expect(doc).toMatchObject({ onChainState: "FundsLocked", NextAction: { errorNote: null } });
  });
});
