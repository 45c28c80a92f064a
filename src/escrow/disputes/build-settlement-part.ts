import { readContractScript } from "../../chain/contracts/contract-script.ts";
import { encodeOwnReference, encodeRedeemer, REDEEMERS } from "../../chain/contracts/redeemers.ts";
import type { ProtocolParameters, Provider } from "../../chain/provider/provider.ts";
import type { PlannedOutput } from "../../chain/transaction/transaction-plan.ts";
import { sumToValue } from "../../chain/transaction/value.ts";
import type { SourceRow } from "../../sources/source-row.ts";
import type { TransactionPart } from "../../wallets/queue/feature.ts";
import { raiseToMinimumCoin } from "../model/build-payouts.ts";
import { fundsOf } from "../model/escrow-record.ts";
import { readEscrow } from "../model/read-escrow.ts";
import type { SettlementSplit } from "../model/split.ts";
import { encodeSettlementRedeemer } from "./settlement-message.ts";
import type { ProposalRow } from "./tables.ts";

/** What is settled, and how. */
export interface Settlement extends Pick<ProposalRow, "output" | "split" | "signatures"> {
  source: Pick<SourceRow, "network" | "type" | "contractAddress">;
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
  const record = { network, contractAddress, sourceType: type };
  const { txHash, index, value, datum } = readEscrow(output, record);
  const script = await readContractScript(contractAddress, provider);
  const tag = encodeOwnReference(txHash, index);
  const toPayouts = (address: string, funds: SettlementSplit["buyer"]): PlannedOutput[] =>
    funds.length === 0 ? [] : [{ address, value: sumToValue(funds.map(fundsOf)), datum: tag }];
  const redeemer =
    type === "Web3ChainV1"
      ? encodeRedeemer(REDEEMERS.WithdrawDisputed)
      : // On Web3ChainV1 the signatures are the transaction's.
        encodeSettlementRedeemer(split, signatures);
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
