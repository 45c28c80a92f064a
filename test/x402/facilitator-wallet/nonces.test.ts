import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import fc from "fast-check";
import { expect, it } from "vitest";
import type { ChainSnapshot } from "../../../src/x402/evm/transactions.ts";
import { findFreeNonce } from "../../../src/x402/facilitator-wallet/nonces.ts";
import type { SignedTransaction } from "../../../src/x402/facilitator-wallet/stored-job.ts";
import { WalletStore } from "../../../src/x402/facilitator-wallet/wallet-store.ts";
import { runs } from "../../support/effort.ts";

const STATES = ["signed", "sent", "refused"] as const;
const CHAIN: ChainSnapshot = {
  chainId: 1,
  blockNumber: 1,
  blockHash: "0x",
  blockTimestamp: 1,
  nonce: 0,
  pendingNonce: 0,
  balance: 0n,
  fees: { maxFee: 1n, tip: 1n } as ChainSnapshot["fees"],
  receipts: new Map(),
};

function transactionOf(nonce: number, state: SignedTransaction["state"]): SignedTransaction {
  const [hash, rawTransaction] = [`0x${nonce}`, "0x"];
  const fees = { gas: 21_000n, maxFee: 1n, tip: 1n };
  return {
    ...{ hash, nonce, jobId: null, freedJobId: null, rawTransaction, ...fees, state },
    ...{ signedAtBlock: 1, signedAtSeconds: 1 },
  };
}

it("a wallet signs no nonce that a stored transaction uses, whatever the node counts", async () => {
  const { FACILITATOR_WALLET } = env;
  const nonce = fc.integer({ min: 0, max: 12 });
  const nonces = fc.uniqueArray(nonce, { minLength: 1 });
  const object = FACILITATOR_WALLET.get(FACILITATOR_WALLET.idFromName("eip155:1:0xnonces"));
  await runInDurableObject(object, (_object, { storage }) => {
    const check = (used: number[], nonce: number, pendingNonce: number) => {
      storage.sql.exec("DROP TABLE IF EXISTS signed");
      const store = new WalletStore(storage.sql);
      for (const [i, one] of used.entries())
        store.storeTransaction(transactionOf(one, STATES[i % STATES.length] ?? "sent"), 1);
      const free = findFreeNonce(store, { ...CHAIN, nonce, pendingNonce });
      expect(used).not.toContain(free);
      expect(free).toBeGreaterThanOrEqual(nonce);
    };
    fc.assert(fc.property(nonces, nonce, nonce, check), runs(100, 2000));
  });
});
