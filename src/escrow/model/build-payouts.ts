/** What the steps that end an escrow pay to whom. */

import { encodeOwnReference } from "../../chain/contracts/redeemers.ts";
import type { PaymentSourceType } from "../../chain/network.ts";
import type { ProtocolParameters } from "../../chain/provider/provider.ts";
import { computeMinimumCoin } from "../../chain/transaction/select-inputs.ts";
import type { PlannedOutput } from "../../chain/transaction/transaction-plan.ts";
import { addValue, type Value } from "../../chain/transaction/value.ts";
import type { Party } from "./escrow-record.ts";
import { type Escrow, StepImpossibleError } from "./read-escrow.ts";

/** An escrow contract with its parameters, as a payment source has them. */
export interface ContractSettings {
  type: PaymentSourceType;
  address: string;
  /** Milliseconds. */
  cooldownTime: number;
  /** What a withdrawal pays; Web3ChainV2 takes none. */
  feeRatePermille: number;
  feeReceiverAddress: string | null;
}

interface PayoutContext {
  contract: ContractSettings;
  wallet: { address: string };
  payoutAddress: string | null;
  parameters: ProtocolParameters;
}

/**
 * The outputs of a withdrawal (by the seller) or a refund (by the buyer). What the contract leaves free,
 * and nobody wants elsewhere, stays in the wallet's change. An output with less than the ledger's
 * minimum is filled up, at the wallet's expense.
 *
 * @throws StepImpossibleError
 */
export function buildPayouts(escrow: Escrow, by: Party, means: PayoutContext): PlannedOutput[] {
  const { datum, value } = escrow;
  const owed = by === "seller" ? buildOwedOutputs(escrow, means.contract) : [];
  const rest: Value = new Map(value);
  for (const output of owed) addValue(rest, output.value, -1n);
  // A collateral beyond what is locked leaves nothing, and the wallet makes up for it.
  const own = new Map([...rest].filter(([unit, amount]) => unit === "" || amount > 0n));
  if ((own.get("") ?? 0n) < 0n) own.set("", 0n);
  const returnAddress = by === "seller" ? datum.sellerReturnAddress : datum.buyerReturnAddress;
  const address = returnAddress ?? means.payoutAddress ?? means.wallet.address;
  const isElsewhere = returnAddress !== null || address !== means.wallet.address;
  const outputs = isElsewhere
    ? [
        ...owed,
        { address, value: own, ...(returnAddress !== null && { datum: referenceDatumOf(escrow) }) },
      ]
    : owed;
  return outputs.map((output) => raiseToMinimumCoin(output, means.parameters));
}

/** The protocol's fee and the buyer's collateral. */
function buildOwedOutputs(escrow: Escrow, contract: ContractSettings): PlannedOutput[] {
  const { datum } = escrow;
  const collateral: Value = new Map([["", datum.collateralReturn]]);
  const buyer = datum.buyerReturnAddress ?? datum.buyer;
  return [
    ...buildFeeOutputs(escrow, contract),
    ...(datum.collateralReturn > 0n
      ? [{ address: buyer, value: collateral, datum: referenceDatumOf(escrow) }]
      : []),
  ];
}

/** What a withdrawal is told where it cannot pay the contract's fee. */
export const UNKNOWN_FEE_RECEIVER_NOTE =
  "the payment source lacks the recipient of the contract's fee: add the source again with FeeReceiverNetworkWallet";

/** Whether a contract asks every withdrawal for a fee of which nobody knows who receives it. */
export function isFeeReceiverMissing(
  source: Pick<ContractSettings, "type" | "feeRatePermille" | "feeReceiverAddress">,
): boolean {
  const { type, feeRatePermille, feeReceiverAddress } = source;
  return type === "Web3ChainV1" && feeRatePermille > 0 && feeReceiverAddress === null;
}

/** A share of everything that is locked, the collateral counted in, each unit's rounded down. */
function buildFeeOutputs(escrow: Escrow, contract: ContractSettings): PlannedOutput[] {
  const { type, feeRatePermille, feeReceiverAddress } = contract;
  if (type === "Web3ChainV2") return [];
  const shares = [...escrow.value].map(
    ([unit, amount]) => [unit, (amount * BigInt(feeRatePermille)) / 1000n] as const,
  );
  const value: Value = new Map(shares.filter(([, amount]) => amount > 0n));
  if (value.size === 0) return [];
  if (feeReceiverAddress === null) throw new StepImpossibleError(UNKNOWN_FEE_RECEIVER_NOTE);
  return [{ address: feeReceiverAddress, value, datum: referenceDatumOf(escrow) }];
}

/** By this the contract knows what an output pays for: no output counts for two escrows. */
function referenceDatumOf({ txHash, index }: Escrow): Uint8Array {
  return encodeOwnReference(txHash, index);
}

/** An output with the native coin that the ledger wants it to have. */
export function raiseToMinimumCoin<Output extends PlannedOutput>(
  output: Output,
  parameters: ProtocolParameters,
): Output {
  const least = computeMinimumCoin(output, parameters);
  const coin = output.value.get("") ?? 0n;
  if (coin >= least) return output;
  return { ...output, value: new Map([...output.value, ["", least]]) };
}
