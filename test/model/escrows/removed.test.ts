import { expect, it, vi } from "vitest";
import { sameEachTime } from "../same-each-time.ts";
import { QUOTES } from "./quotes.ts";
import { Service } from "./service.ts";
import { BEGINS } from "./terms.ts";

const [, QUOTE] = QUOTES.Web3ChainV2;
/** Longer than a transaction is valid. */
const OVER_MS = 15 * 60_000;

sameEachTime();

/** A lock that a node lost is under way when its wallet is removed. */
async function removedAmidALock() {
  vi.setSystemTime(BEGINS);
  const service = new Service("Web3ChainV2", { seller: [100], buyer: [100, 50] });
  const pass = (ms: number) => {
    service.ledger.now += ms;
    vi.setSystemTime(service.ledger.now);
  };
  await service.request("purchase", 1);
  service.ledger.submitFaults = ["lostBefore"];
  pass(2_000);
  await service.run("buyer");
  await service.toggle("buyer");
  return { service, pass, progress: () => QUOTE && service.record("purchase", QUOTE)?.progress };
}

it("tells a record that its transaction has ended when the wallet was removed meanwhile", async () => {
  const { service, pass, progress } = await removedAmidALock();
  expect(progress()?.pendingTransaction).not.toBeNull();
  pass(OVER_MS);
  service.ledger.mine();
  await service.run("buyer");
  expect(progress()).toMatchObject({ pendingTransaction: null, intent: { step: "FundsLocking" } });
  const [row] = service.database.all("SELECT status FROM escrow_transaction");
  expect(row).toEqual({ status: "FailedViaTimeout" });
});

it("begins nothing with a wallet that was removed, and all once it is added again", async () => {
  const { service, pass, progress } = await removedAmidALock();
  const goOn = async (rounds: number) => {
    for (let i = 0; i < rounds; i++) {
      pass(60_000);
      service.ledger.mine();
      await service.sync();
      await service.run("buyer");
    }
  };
  pass(OVER_MS);
  await goOn(3);
  const count = () => service.database.all("SELECT 1 FROM wallet_transaction").length;
  expect(count()).toBe(1);
  await service.toggle("buyer");
  await goOn(8);
  expect(count()).toBe(2);
  expect(progress()).toMatchObject({ intent: null, pendingTransaction: null });
  expect(QUOTE && service.record("purchase", QUOTE)?.state.onChainState).toBe("FundsLocked");
});
