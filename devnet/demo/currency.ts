import { encodeRedeemer } from "../../src/chain/contracts/redeemers.ts";
import { contractOf } from "../contracts/index.ts";
import type { Chain } from "../ledger/chain.ts";
import { buildTransaction } from "./actors/transaction.ts";
import type { Wallet } from "./actors/wallets.ts";

/** Anybody can make more of it. */
const { policy } = contractOf("Web3ChainV1", "open");
/** Hex of the ASCII text. */
const NAME = Buffer.from("DemoDollar").toString("hex");
const ISSUED = 10n ** 15n;
const HELD_WITH_IT = 2_000_000n;

/** The demo's token: policy id and name, hex. */
export const DEMO_DOLLAR = policy.hash + NAME;

/**
 * Gives a wallet the demo's token, unless it has some.
 *
 * @throws LedgerRejection when the ledger refuses it.
 */
export function provideDollars(chain: Chain, holder: Wallet): void {
  const held = chain.utxosAt(holder.address).flatMap(({ amount }) => amount);
  if (held.some(({ unit }) => unit === DEMO_DOLLAR)) return;
  const funds = [
    { unit: "", amount: HELD_WITH_IT },
    { unit: DEMO_DOLLAR, amount: ISSUED },
  ];
  const mint = {
    policyId: policy.hash,
    assetName: NAME,
    quantity: ISSUED,
    redeemer: encodeRedeemer(0),
  };
  const outputs = [{ address: holder.address, funds }];
  const plan = { payer: holder, outputs, mints: [mint], scripts: [policy] };
  chain.submit(buildTransaction(chain, plan));
}
