import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, it } from "vitest";
import { WalletStore } from "../../../src/x402/facilitator-wallet/wallet-store.ts";
import type { SettlementJob } from "../../../src/x402/model/messages.ts";

const JOBS = 2_000;
const PLACE = { transaction: `0x${"1".repeat(64)}`, block: 1, blockHash: `0x${"2".repeat(64)}` };

function jobOf(id: string): SettlementJob {
  return {
    id,
    to: "0x",
    data: "0x",
    kind: "eip3009",
    asset: "0x",
    from: "0x",
    payTo: "0x",
    amount: "1",
    nonce: "0x",
    validBefore: "0",
    signBefore: 0,
  };
}

/** What counts the rows that a wallet's statements read and write. */
interface Counted {
  read: number;
  written: number;
}

/** Runs a wallet's books with an own object, and counts its rows. */
function keepBooks(name: string, run: (store: WalletStore, counted: Counted) => void) {
  const { FACILITATOR_WALLET } = env;
  const object = FACILITATOR_WALLET.get(FACILITATOR_WALLET.idFromName(`eip155:1:${name}`));
  return runInDurableObject(object, (_object, { storage }) => {
    const counted = { read: 0, written: 0 };
    const counting: Pick<SqlStorage, "exec"> = {
      exec: (query, ...params) => {
        const cursor = storage.sql.exec(query, ...params);
        counted.read += cursor.rowsRead;
        counted.written += cursor.rowsWritten;
        return cursor as never;
      },
    };
    run(new WalletStore(counting as SqlStorage), counted);
    return counted;
  });
}

it("a settled payment leaves the books without a read of all payments settled before", async () => {
  const { read } = await keepBooks("0xbooks", (store, counted) => {
    const now = Date.now();
    const settleFinally = (n: number) => {
      store.addJob(jobOf(`job-${n}`), now);
      store.recordSettledJob(`job-${n}`, PLACE, now);
      store.finalizeJob(`job-${n}`, now);
    };
    for (let n = 0; n < JOBS; n++) settleFinally(n);
    counted.read = 0;
    settleFinally(JOBS);
  });
  expect(read).toBeLessThan(50);
});

it("a settled payment writes eleven rows from its arrival until it is final", async () => {
  const { written } = await keepBooks("0xrows", (store, counted) => {
    const now = Date.now();
    store.setValue("nonce_floor", "0");
    counted.written = 0;
    store.addJob(jobOf("job"), now);
    const fees = { gas: 1n, maxFee: 1n, tip: 1n };
    const { transaction: hash } = PLACE;
    const signedAt = { signedAtBlock: 1, signedAtSeconds: 1 };
    const signed = {
      hash,
      nonce: 0,
      jobId: "job",
      freedJobId: null,
      rawTransaction: "0x",
      ...fees,
      ...signedAt,
    };
    store.storeTransaction({ ...signed, state: "signed" }, now);
    store.setTransactionState(hash, "sent");
    store.recordMinedTransaction(hash, 0);
    store.recordSettledJob("job", PLACE, now);
    store.finalizeJob("job", now);
  });
  expect(written).toBeLessThanOrEqual(11);
});
