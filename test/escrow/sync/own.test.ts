import { describe, expect, it } from "vitest";
import type { TransactionPosition } from "../../../src/chain/provider/provider.ts";
import { OwnTransactions } from "../../../src/escrow/sync/own.ts";
import { ProviderBehind } from "../../../src/indexer/checkpoints.ts";

const RETURNED = 2;

interface Stored {
  inputs?: string[];
  phase?: string;
}

/** Transactions as wallets have stored them, all of which a contract lists, and what is asked of a provider. */
async function found(stored: Record<string, Stored>, failed: readonly string[] = []) {
  const rows = Object.entries(stored).map(([hash, { inputs = [], phase = "Sent" }]) => ({
    ...{ hash, phase, cbor: Buffer.from(hash, "hex").toString("base64") },
    ...{ inputs: JSON.stringify(inputs), returned: RETURNED },
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
  await own.find(Object.keys(stored));
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
    await gone.find(["aa"]);
    await expect(gone.cborOf("aa")).rejects.toThrow(ProviderBehind);
    expect(await own.cborOf("aa")).toBe("aa");
  });
});
