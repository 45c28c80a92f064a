/** Has a wallet of a stage put parts of transactions together, as the service's wallets do. */
import type { Wallet } from "../../../devnet/demo/actors/wallets.ts";
import COST_MODELS from "../../../devnet/ledger/cost-models.json" with { type: "json" };
import { evaluateScripts } from "../../../devnet/ledger/emulator.ts";
import { readTransaction } from "../../../devnet/ledger/transaction.ts";
import type { Provider } from "../../../src/chain/provider/provider.ts";
import { slotAt } from "../../../src/chain/slots.ts";
import { buildTransaction } from "../../../src/chain/transaction/build.ts";
import { outputName, type WalletOutput } from "../../../src/chain/transaction/plan.ts";
import { payFrom, walletOutputs } from "../../../src/chain/transaction/selection.ts";
import { compose } from "../../../src/wallets/spending/making/compose.ts";
import { measured } from "../../../src/wallets/spending/making/measure.ts";
import { Measurements } from "../../../src/wallets/spending/making/measurements.ts";
import { withoutBad } from "../../../src/wallets/spending/making/members.ts";
import type { TransactionPart } from "../../../src/wallets/work.ts";
import { PROTOCOL_PARAMETERS } from "../../support/protocol-parameters.ts";
import { timeAt } from "./escrows.ts";
import type { Stage } from "./stage.ts";

/** Those of the local chain's ledger. */
export const PARAMETERS = {
  ...PROTOCOL_PARAMETERS,
  plutusV3Costs: (COST_MODELS[2] ?? []).map(BigInt),
};
const NOTHING = {
  ...{ open: [], accepted: new Set<string>(), evaluator: { knowsMempool: true } },
  // Of all that is composed here: what was measured once has to do for whatever has the same shape.
  measurements: new Measurements(),
};

/** What the wallet can spend. */
export function outputsOf(stage: Stage, { address }: Wallet): WalletOutput[] {
  return walletOutputs(
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
      const named = new Set([...inputs, ...collateral].map(outputName));
      const used = evaluateScripts(
        cbor,
        utxos.filter((one) => named.has(outputName(one))),
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
 * The transaction of as many parts, from the first, as it holds.
 *
 * @param outputs - all that the payer can spend, what the line goes on with first
 */
export async function composed(
  stage: Stage,
  parts: readonly TransactionPart[],
  payer: Wallet,
  { from, to }: Time,
  contract: string,
  outputs = outputsOf(stage, payer),
): Promise<{ cbor: Uint8Array; count: number }> {
  const [line] = outputs;
  if (!line) throw new Error("the payer has nothing");
  const validity = { from: slotAt("Preprod", timeAt(from)), to: slotAt("Preprod", timeAt(to)) };
  const purse = { address: payer.address, line, outputs, collateral: null, splits: 3 };
  const frame = { validity, parameters: PARAMETERS, signer: payer.vkey };
  const node = nodeOf(stage, [payer.address, contract]);
  const members = parts.map((part, i) => ({ task: { id: String(i) }, part }));
  const { built, failures } = await withoutBad(members, async (some) => {
    const { count, ...made } = compose(
      some.map(({ part }) => part),
      purse,
      frame,
    );
    const plan = await measured(node, { count, ...made }, some.slice(0, count), NOTHING);
    const { cbor } = buildTransaction(plan, payFrom(made.wallet, plan), [payer.keys]);
    return { cbor, count };
  });
  if (!built) throw failures[0]?.error ?? new Error("nothing could be built");
  return built;
}
