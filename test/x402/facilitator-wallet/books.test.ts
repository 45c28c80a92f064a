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

it("a settled payment leaves the books without a read of all payments settled before", async () => {
  const { FACILITATOR_WALLET } = env;
  const object = FACILITATOR_WALLET.get(FACILITATOR_WALLET.idFromName("eip155:1:0xbooks"));
  const rowsRead = await runInDurableObject(object, (_object, { storage }) => {
    let read = 0;
    const counting: Pick<SqlStorage, "exec"> = {
      exec: (query, ...params) => {
        const cursor = storage.sql.exec(query, ...params);
        read += cursor.rowsRead;
        return cursor as never;
      },
    };
    const store = new WalletStore(counting as SqlStorage);
    const now = Date.now();
    const settleFinally = (n: number) => {
      store.addJob(jobOf(`job-${n}`), now);
      store.recordSettledJob(`job-${n}`, PLACE, now);
      store.finalizeJob(`job-${n}`, now);
    };
    for (let n = 0; n < JOBS; n++) settleFinally(n);
    read = 0;
    settleFinally(JOBS);
    return read;
  });
  expect(rowsRead).toBeLessThan(50);
});
