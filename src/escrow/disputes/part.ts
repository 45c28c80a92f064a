import type { Network, PaymentSourceType } from "../../chain/network.ts";
import type { ProtocolParameters, Provider } from "../../chain/provider/provider.ts";
import { encodeRedeemer, ownReferenceDatum, REDEEMERS } from "../../chain/redeemer.ts";
import type { PlannedOutput } from "../../chain/transaction/plan.ts";
import { sumOf } from "../../chain/transaction/value.ts";
import type { TransactionPart } from "../../wallets/work.ts";
import { scriptOf } from "../actions/contract-script.ts";
import { readEscrow } from "../actions/escrow.ts";
import { atLeastMinimum } from "../actions/payouts.ts";
import type { Split } from "../actions/split.ts";
import { fundsOf } from "../fold/escrow-outputs.ts";
import type { LiveOutput } from "../record.ts";
import { type AdminSignature, settlementRedeemer } from "./message.ts";

/** What is settled, and how. */
export interface Settlement {
  source: { network: Network; type: PaymentSourceType; contractAddress: string };
  output: LiveOutput;
  split: Split;
  /** Web3ChainV2's, which the redeemer has; on Web3ChainV1 they are the transaction's. */
  signatures: readonly AdminSignature[];
}

/**
 * The part of a transaction that settles a dispute. On Web3ChainV1 the contract does not look at what is
 * paid to whom: there it is what the administrators sign.
 *
 * @throws StepImpossible, ProviderError
 */
export async function settlementPart(
  { source, output, split, signatures }: Settlement,
  provider: Pick<Provider, "scriptCbor">,
  parameters: ProtocolParameters,
): Promise<TransactionPart> {
  const { network, type, contractAddress } = source;
  const { txHash, index, value, datum } = readEscrow(output, {
    ...{ network, contractAddress, sourceType: type },
  });
  const script = await scriptOf(contractAddress, provider);
  const tag = ownReferenceDatum(txHash, index);
  const paid = (address: string, funds: Split["buyer"]): PlannedOutput[] =>
    funds.length === 0 ? [] : [{ address, value: sumOf(funds.map(fundsOf)), datum: tag }];
  const redeemer =
    type === "Web3ChainV1"
      ? encodeRedeemer(REDEEMERS.WithdrawDisputed)
      : settlementRedeemer(split, signatures);
  return {
    scriptInputs: [{ txHash, index, value, script, redeemer }],
    mints: [],
    spends: [],
    outputs: [
      ...paid(datum.buyerReturnAddress ?? datum.buyer, split.buyer),
      ...paid(datum.sellerReturnAddress ?? datum.seller, split.seller),
    ].map((one) => atLeastMinimum(one, parameters)),
    metadata: new Map(),
    most: 1,
    detail: { spends: output.utxo },
  };
}
