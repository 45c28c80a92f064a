import { encodeRedeemer } from "../../src/chain/contracts/redeemers.ts";
import { type ApiAccess, ask } from "../client/api.ts";
import { contractOf } from "../contracts/index.ts";
import type { Chain } from "../ledger/chain.ts";
import { buildTransaction } from "./actors/transaction.ts";
import type { Wallet } from "./actors/wallets.ts";

/** Anybody can make more of it. */
const { policy } = contractOf("Web3ChainV1", "open");
/** Hex of the ASCII text. */
const TICKER = "DemoDollar";
const DECIMALS = 6;
const NAME = Buffer.from(TICKER).toString("hex");
const ISSUED = 10n ** 15n;
const HELD_WITH_IT = 2_000_000n;

/** The demo's token: policy id and name, hex. */
export const DEMO_DOLLAR = policy.hash + NAME;

/** Says what the token is called, and its decimals, as an operator does for a token that agents are paid in. */
export async function nameDollar(service: ApiAccess): Promise<void> {
  await ask(service, "POST", "/units", { unit: DEMO_DOLLAR, ticker: TICKER, decimals: DECIMALS });
}

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
