import { readContractScript } from "../../chain/contracts/contract-script.ts";
import { encodeOwnReference, encodeRedeemer, REDEEMERS } from "../../chain/contracts/redeemers.ts";
import type { Network, PaymentSourceType } from "../../chain/network.ts";
import type { ProtocolParameters, Provider } from "../../chain/provider/provider.ts";
import type { PlannedOutput } from "../../chain/transaction/transaction-plan.ts";
import { sumToValue } from "../../chain/transaction/value.ts";
import type { TransactionPart } from "../../wallets/queue/feature.ts";
import { raiseToMinimumCoin } from "../model/build-payouts.ts";
import { fundsOf, type LiveOutput } from "../model/escrow-record.ts";
import { readEscrow } from "../model/read-escrow.ts";
import type { SettlementSplit } from "../model/split.ts";
import { type AdminSignature, encodeSettlementRedeemer } from "./settlement-message.ts";

/** What is settled, and how. */
export interface Settlement {
  source: { network: Network; type: PaymentSourceType; contractAddress: string };
  output: LiveOutput;
  split: SettlementSplit;
  /** Web3ChainV2's, which the redeemer has; on Web3ChainV1 they are the transaction's. */
  signatures: readonly AdminSignature[];
}

/**
 * The part of a transaction that settles a dispute. On Web3ChainV1 the contract does not look at what is
 * paid to whom: there it is what the administrators sign.
 *
 * @throws StepImpossibleError, ProviderError
 */
export async function buildSettlementPart(
  { source, output, split, signatures }: Settlement,
  provider: Pick<Provider, "scriptCbor">,
  parameters: ProtocolParameters,
): Promise<TransactionPart> {
  const { network, type, contractAddress } = source;
  const { txHash, index, value, datum } = readEscrow(output, {
    ...{ network, contractAddress, sourceType: type },
  });
  const script = await readContractScript(contractAddress, provider);
  const tag = encodeOwnReference(txHash, index);
  const toPayouts = (address: string, funds: SettlementSplit["buyer"]): PlannedOutput[] =>
    funds.length === 0 ? [] : [{ address, value: sumToValue(funds.map(fundsOf)), datum: tag }];
  const redeemer =
    type === "Web3ChainV1"
      ? encodeRedeemer(REDEEMERS.WithdrawDisputed)
      : encodeSettlementRedeemer(split, signatures);
  return {
    scriptInputs: [{ txHash, index, value, script, redeemer }],
    mints: [],
    spends: [],
    outputs: [
      ...toPayouts(datum.buyerReturnAddress ?? datum.buyer, split.buyer),
      ...toPayouts(datum.sellerReturnAddress ?? datum.seller, split.seller),
    ].map((one) => raiseToMinimumCoin(one, parameters)),
    metadata: new Map(),
    maxParts: 1,
    detail: { spends: output.utxo },
  };
}
