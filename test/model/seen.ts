/** A provider that shows a ledger in memory, late if it has to. */
import {
  type AdditionalOutput,
  EvaluationUnavailableError,
  type Provider,
  ProviderError,
  type ProviderUtxo,
  ScriptFailedError,
} from "../../src/chain/provider/provider.ts";
import { decodeTransaction } from "../../src/chain/transaction/decode-transaction.ts";
import { formatOutputReference } from "../../src/chain/transaction/transaction-plan.ts";
import { PROTOCOL_PARAMETERS } from "../support/protocol-parameters.ts";
import type { ForgedBlock, ModelLedger } from "./ledger.ts";
import type { Step } from "./process-faults.ts";
import type { Output } from "./rules.ts";

/**
 * The provider as a process sees it whose every call goes through `step`.
 *
 * @param hasCalls - whether it answers at all
 */
export function seenBy(ledger: ModelLedger, step: Step, hasCalls = true): Provider {
  const notAsked = () => {
    throw new Error("wallets do not ask for this");
  };
  return {
    latestBlock: () =>
      step(() => {
        if (ledger.isBanned) throw new ProviderError("banned", { status: 418 });
        if (!hasCalls) throw new ProviderError("no calls left for now", { status: 429 });
        return ledger.tip;
      }),
    block: (height) => step(() => ledger.blocks.find((one) => one.height === height) ?? null),
    transaction: (hash) => step(() => transactionIn(ledger.shown, hash)),
    addressUtxos: (address) => step(() => utxosIn(ledger, address)),
    protocolParameters: () => step(() => PROTOCOL_PARAMETERS),
    submit: (cbor) => step(() => ledger.submit(cbor)),
    evaluate: (cbor, additional) => step(() => evaluate(ledger, cbor, additional)),
    scriptCbor: notAsked,
    scriptRedeemers: notAsked,
    assetHolders: notAsked,
    assetMint: notAsked,
    addressFunds: notAsked,
    addressOutputs: notAsked,
    addressTransactions: notAsked,
    transactionCbor: notAsked,
    transactionUtxos: notAsked,
    spenders: (hash) => step(() => spendersIn(ledger.blocks, hash)),
  };
}

/** Where a transaction is. */
export function transactionIn(blocks: readonly ForgedBlock[], hash: string) {
  const has = ({ transactions }: ForgedBlock) => transactions.find((tx) => tx.hash === hash);
  const block = blocks.find(has);
  if (!block) return null;
  const validContract = has(block)?.isValid ?? true;
  const { height: blockHeight, hash: blockHash, time: blockTime } = block;
  const txIndex = block.transactions.findIndex((tx) => tx.hash === hash);
  return { hash, blockHash, blockHeight, txIndex, blockTime, validContract };
}

function spendersIn(blocks: readonly ForgedBlock[], txHash: string): Map<number, string> {
  const spent = blocks.flatMap((block) => [
    ...block.transactions.flatMap(({ hash, inputs }) =>
      inputs.map((input) => [formatOutputReference(input), hash] as const),
    ),
    ...(block.taken === undefined ? [] : [[block.taken, block.hash] as const]),
  ]);
  return new Map(
    spent.flatMap(([name, spender]) => {
      const [maker, index] = name.split("#");
      return maker === txHash ? [[Number(index), spender] as const] : [];
    }),
  );
}

/** What is unspent at an address. @param blocks - in which it is looked for */
export function utxosIn(
  ledger: ModelLedger,
  address: string,
  blocks: readonly ForgedBlock[] = ledger.blocks,
): ProviderUtxo[] {
  ledger.outputsAsked++;
  const at = blocks.at(-1 - ledger.outputsBehind) ?? blocks[0];
  return [...(at?.unspent ?? [])]
    .filter(([, output]) => output.address === address)
    .map(([name, output]) => {
      const [txHash = "", index] = name.split("#");
      return { ...shown(txHash, Number(index), output), inlineDatum: null };
    });
}

/** An output as a provider shows it. */
export function shown(
  txHash: string,
  outputIndex: number,
  { address, value, datum }: Output,
): ProviderUtxo {
  return {
    address,
    txHash,
    outputIndex,
    amount: [...value].map(([unit, quantity]) => ({
      unit: unit === "" ? "lovelace" : unit,
      quantity: String(quantity),
    })),
    inlineDatum: datum ?? null,
    referenceScriptHash: null,
  };
}

/** As a node without a mempool does. */
function evaluate(
  ledger: ModelLedger,
  cbor: Uint8Array,
  additional: readonly AdditionalOutput[] = [],
) {
  const { unspent } = ledger.tip;
  const tx = { ...decodeTransaction(cbor), cbor };
  const { inputs, spendRedeemers } = tx;
  const told = additional.map(formatOutputReference);
  if (told.some((name) => unspent.has(name)))
    throw new EvaluationUnavailableError("AdditionalUtxoOverlap", "known already");
  const names = inputs.map(formatOutputReference);
  const unknown = names.filter((one) => !unspent.has(one) && !told.includes(one));
  if (unknown.length > 0) throw new EvaluationUnavailableError("UnknownInput", unknown.join());
  const redeemers = spendRedeemers.map(({ inputIndex }) => `spend:${inputIndex}`);
  const refusing = ledger.refusing(tx, unspent);
  const failing = redeemers.filter((_, i) =>
    refusing.includes(spendRedeemers[i]?.inputIndex ?? -1),
  );
  if (failing.length > 0) throw new ScriptFailedError("no", ledger.namesFailures ? failing : []);
  return new Map(redeemers.map((name) => [name, { memory: 600_000n, steps: 200_000_000n }]));
}
