/** A wallet of a stage that composes transactions, as the service's wallets do. */
import type { Wallet } from "../../../devnet/demo/actors/wallets.ts";
import COST_MODELS from "../../../devnet/ledger/cost-models.json" with { type: "json" };
import { evaluateScripts } from "../../../devnet/ledger/emulator.ts";
import { readTransaction } from "../../../devnet/ledger/transaction.ts";
import type { Provider } from "../../../src/chain/provider/provider.ts";
import { slotAt } from "../../../src/chain/slots.ts";
import { buildTransaction } from "../../../src/chain/transaction/build-transaction.ts";
import {
  createInputSelector,
  toWalletOutputs,
} from "../../../src/chain/transaction/select-inputs.ts";
import {
  formatOutputReference,
  type WalletOutput,
} from "../../../src/chain/transaction/transaction-plan.ts";
import type { TransactionPart } from "../../../src/wallets/queue/feature.ts";
import { composeTransaction } from "../../../src/wallets/spending/building/compose-transaction.ts";
import { excludeBadMembers } from "../../../src/wallets/spending/building/exclude-bad-members.ts";
import { measureScripts } from "../../../src/wallets/spending/building/measure-scripts.ts";
import { Measurements } from "../../../src/wallets/spending/context/measurements.ts";
import { PROTOCOL_PARAMETERS } from "../../support/protocol-parameters.ts";
import { timeAt } from "./escrows.ts";
import type { Stage } from "./stage.ts";

/** The parameters of the local chain's ledger. */
export const PARAMETERS = {
  ...PROTOCOL_PARAMETERS,
  plutusV3Costs: (COST_MODELS[2] ?? []).map(BigInt),
};
const NOTHING = {
  ...{ openTransactions: [], acceptedHashes: new Set<string>(), evaluator: { knowsMempool: true } },
  // Shared by all transactions here: one measurement serves every transaction of the same shape.
  measurements: new Measurements(),
};

/** The outputs that the wallet can spend. */
export function outputsOf(stage: Stage, { address }: Wallet): WalletOutput[] {
  return toWalletOutputs(
    stage.utxosAt(address).map(({ txHash, index, amount }) => ({
      address,
      txHash,
      outputIndex: index,
      amount: amount.map(({ unit, quantity }) => ({ unit, quantity: String(quantity) })),
      inlineDatum: null,
      referenceScriptHash: null,
    })),
  );
}

/** A node that has everything on the stage. */
function nodeOf(stage: Stage, addresses: readonly string[]): Pick<Provider, "evaluate"> {
  const utxos = [...new Set(addresses)].flatMap((address) => stage.utxosAt(address));
  return {
    async evaluate(cbor) {
      const { inputs, collateral } = readTransaction(cbor);
      const named = new Set([...inputs, ...collateral].map(formatOutputReference));
      const used = evaluateScripts(
        cbor,
        utxos.filter((one) => named.has(formatOutputReference(one))),
      );
      return new Map(
        used.map(({ tag, index, memory, steps }) => [
          `${tag}:${index}`,
          { memory: BigInt(memory), steps: BigInt(steps) },
        ]),
      );
    },
  };
}

/** When a transaction is valid, in seconds after the lock. */
export interface Time {
  from: number;
  to: number;
}

/**
 * The transaction of the first parts that fit.
 *
 * @param outputs - all outputs that the payer can spend, the chained ones first
 */
export async function composed(
  stage: Stage,
  parts: readonly TransactionPart[],
  payer: Wallet,
  { from, to }: Time,
  contract: string,
  outputs = outputsOf(stage, payer),
): Promise<{ cbor: Uint8Array; count: number }> {
  const [placementOutput] = outputs;
  if (!placementOutput) throw new Error("the payer has nothing");
  const validity = { from: slotAt("Preprod", timeAt(from)), to: slotAt("Preprod", timeAt(to)) };
  const funding = {
    address: payer.address,
    placementOutput,
    outputs,
    collateral: null,
    splits: 3,
  };
  const frame = { validity, parameters: PARAMETERS, signer: payer.vkey };
  const node = nodeOf(stage, [payer.address, contract]);
  const members = parts.map((part, i) => ({ task: { id: String(i) }, part }));
  const { built, failures } = await excludeBadMembers(members, async (some) => {
    const { partCount: count, ...made } = composeTransaction(
      some.map(({ part }) => part),
      funding,
      frame,
    );
    const plan = await measureScripts(
      node,
      { partCount: count, ...made },
      some.slice(0, count),
      NOTHING,
    );
    const { cbor } = buildTransaction(plan, createInputSelector(made.wallet, plan), [payer.keys]);
    return { cbor, count };
  });
  if (!built) throw failures[0]?.error ?? new Error("nothing could be built");
  return built;
}
