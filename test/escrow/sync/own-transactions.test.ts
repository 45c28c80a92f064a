import { describe, expect, it } from "vitest";
import type { Block, TransactionPosition } from "../../../src/chain/provider/provider.ts";
import { OwnTransactions } from "../../../src/escrow/sync/own-transactions.ts";
import { ProviderBehindError } from "../../../src/indexer/checkpoints.ts";

const RETURNED = 2;

const TIP: Block = { height: 9, hash: "tip", previousHash: "eighth", slot: 90, time: 90 };

interface Stored {
  inputs?: string[];
  phase?: string;
  block?: [height: number, hash: string];
}

const listed = (hashes: readonly string[]) =>
  hashes.map((txHash) => ({ txHash, blockHeight: 8, txIndex: 3, blockTime: 80 }));

/** Transactions as wallets have stored them, all of which a contract lists, and what is asked of a provider. */
async function found(stored: Record<string, Stored>, failed: readonly string[] = []) {
  const rows = Object.entries(stored).map(([hash, { inputs = [], phase = "Sent", block }]) => ({
    ...{ hash, phase, cbor: Buffer.from(hash, "hex").toString("base64") },
    ...{ inputs: JSON.stringify(inputs), returned: RETURNED },
    ...{ blockHeight: block?.[0] ?? null, blockHash: block?.[1] ?? null, blockTime: 80 },
  }));
  const asked: string[] = [];
  const own = new OwnTransactions(
    { all: async <Row>() => rows as Row[] },
    {
      async transaction(hash) {
        asked.push(hash);
        if (stored[hash] === undefined) return null;
        return { hash, validContract: !failed.includes(hash) } as TransactionPosition;
      },
    },
  );
  await own.loadListedTransactions(listed(Object.keys(stored)), TIP);
  return { own, asked };
}

describe("the bytes of the service's own transactions", () => {
  it("are those that were stored, without a call, of each that a wallet has seen or another one spends from", async () => {
    const { own, asked } = await found({
      aa: { phase: "InBlock" },
      bb: {},
      cc: { inputs: ["bb#0"] },
    });
    expect([await own.cborOf("aa"), await own.cborOf("bb")]).toEqual(["aa", "bb"]);
    expect(asked).toEqual([]);
    // The last of a line is asked for, which tells its place, too.
    expect(await own.cborOf("cc")).toBe("cc");
    expect(await own.transaction("cc")).toMatchObject({ hash: "cc" });
    expect(asked).toEqual(["cc"]);
  });

  it("are left to the provider of one whose script failed, and of strangers'", async () => {
    const stored = { aa: {}, bb: { inputs: [`aa#${RETURNED}`] } };
    const { own } = await found(stored, ["aa"]);
    expect(await own.cborOf("aa")).toBeNull();
    expect(await own.cborOf("dd")).toBeNull();
  });

  it("wait for a provider that does not show the transaction any more", async () => {
    const { own } = await found({ aa: {} });
    const gone = new OwnTransactions(
      {
        all: async <Row>() =>
          [{ hash: "aa", phase: "Sent", cbor: "qg==", inputs: "[]", returned: null }] as Row[],
      },
      { transaction: async () => null },
    );
    await gone.loadListedTransactions(listed(["aa"]), TIP);
    await expect(gone.cborOf("aa")).rejects.toThrow(ProviderBehindError);
    expect(await own.cborOf("aa")).toBe("aa");
  });
});

describe("the place of one of the service's own transactions", () => {
  it("is where its wallet has seen it, if that is where it is listed and the tip tells that the block stands", async () => {
    const { own, asked } = await found({ aa: { phase: "Confirmed", block: [8, "eighth"] } });
    expect(await own.transaction("aa")).toEqual({
      ...{ hash: "aa", blockHash: "eighth", blockHeight: 8, txIndex: 3, blockTime: 80 },
      validContract: true,
    });
    expect(asked).toEqual([]);
  });

  it.each<[string, Stored]>([
    ["another block has taken that one's place", { phase: "Confirmed", block: [8, "other"] }],
    ["it is listed at another height", { phase: "Confirmed", block: [9, "tip"] }],
    ["the tip does not tell of its block", { phase: "Confirmed", block: [7, "seventh"] }],
    ["its block was taken back", { phase: "RolledBack", block: [8, "eighth"] }],
    ["its script failed there", { phase: "Failed", block: [8, "eighth"] }],
  ])("is asked for where %s", async (_, stored) => {
    const { own, asked } = await found({ aa: stored });
    await own.transaction("aa");
    expect(asked).toEqual(["aa"]);
  });
});
