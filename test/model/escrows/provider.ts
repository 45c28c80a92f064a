import { bytesToHex } from "../../../src/chain/hex.ts";
import type { Provider } from "../../../src/chain/provider/provider.ts";
import { formatOutputReference } from "../../../src/chain/transaction/transaction-plan.ts";
import { sumToValue } from "../../../src/chain/transaction/value.ts";
import type { ForgedBlock, ModelLedger, Sent } from "../ledger.ts";
import type { Step } from "../process-faults.ts";
import type { Output } from "../rules.ts";
import { seenBy, shown, transactionIn, utxosIn } from "../seen.ts";
import { ProviderFaults } from "./provider-faults.ts";

/**
 * A provider that also shows transactions in blocks, as the sync reads them.
 *
 * @param script - the contract's, as witnesses carry it, hex
 * @param step - see `seenBy`
 */
export function providerOf(
  ledger: ModelLedger,
  script: string,
  step: Step,
  providerFaults: ProviderFaults = new ProviderFaults(),
): Provider {
  const find = (hash: string) =>
    ledger.shown.flatMap(({ transactions }) => transactions).find((tx) => tx.hash === hash);
  const seen = seenBy(ledger, step);
  return {
    ...seen,
    addressUtxos: (address) =>
      step(() => utxosIn(ledger, address, providerFaults.shown(ledger.blocks))),
    transaction: (hash) => step(() => transactionIn(providerFaults.shown(ledger.shown), hash)),
    spenders: (hash) => (providerFaults.areListsFat ? step(() => null) : seen.spenders(hash)),
    scriptCbor: () => step(() => script),
    transactionCbor: (hash) =>
      step(() => {
        const tx = find(hash);
        return tx ? bytesToHex(tx.cbor) : null;
      }),
    addressTransactions: (address, { from = 0, page, count }) =>
      step(() => {
        const blocks = providerFaults.shown(ledger.shown);
        const all = blocks.flatMap((block) =>
          block.transactions.flatMap((tx, txIndex) =>
            isTouchedBy(blocks, tx, address)
              ? [{ txHash: tx.hash, blockHeight: block.height, txIndex, blockTime: block.time }]
              : [],
          ),
        );
        if (all.length === 0) return null;
        const listed = all.filter(({ blockHeight }) => blockHeight >= from);
        return listed.slice((page - 1) * count, page * count);
      }),
    transactionUtxos: (hash) =>
      step(() => {
        providerFaults.refuseList();
        const tx = find(hash);
        if (!tx) return null;
        const inputs = tx.inputs.flatMap((one) => {
          const output = outputOf(ledger.shown, formatOutputReference(one));
          return output ? [shown(one.txHash, one.index, output)] : [];
        });
        const outputs = tx.outputs.map(({ address, funds, datum }, index) =>
          shown(hash, index, { address, value: sumToValue(funds), datum }),
        );
        return { hash, inputs, outputs };
      }),
  };
}

/** An output that is or was there. */
export function outputOf(blocks: readonly ForgedBlock[], name: string): Output | undefined {
  const [hash, index] = name.split("#");
  for (const { transactions, unspent } of blocks) {
    const there = unspent.get(name);
    if (there) return there;
    const made = transactions.find((tx) => tx.hash === hash)?.outputs[Number(index)];
    if (made) return { address: made.address, value: sumToValue(made.funds), datum: made.datum };
  }
  return undefined;
}

/** All outputs that are or were there, by name. */
export function everyOutput(blocks: readonly ForgedBlock[]): ReadonlyMap<string, Output> {
  const all = new Map<string, Output>();
  let before: ForgedBlock["unspent"] | null = null;
  for (const { transactions, unspent } of blocks) {
    // What is made and spent in one block is unspent after none.
    for (const { hash, outputs } of transactions)
      for (const [index, { address, funds, datum }] of outputs.entries())
        all.set(formatOutputReference({ txHash: hash, index }), {
          address,
          value: sumToValue(funds),
          datum,
        });
    if (unspent !== before) for (const [name, output] of unspent) all.set(name, output);
    before = unspent;
  }
  return all;
}

/** The addresses that were asked for, and whether each transaction touches them: it always does, or never. */
const TOUCHED = new WeakMap<Sent, Map<string, boolean>>();

function isTouchedBy(blocks: readonly ForgedBlock[], tx: Sent, address: string): boolean {
  const known = TOUCHED.get(tx) ?? new Map<string, boolean>();
  TOUCHED.set(tx, known);
  const is = known.get(address) ?? touches(blocks, tx, address);
  known.set(address, is);
  return is;
}

function touches(blocks: readonly ForgedBlock[], tx: Sent, address: string): boolean {
  return (
    tx.outputs.some((one) => one.address === address) ||
    (tx.spendRedeemers.length > 0 &&
      tx.inputs.some((one) => outputOf(blocks, formatOutputReference(one))?.address === address))
  );
}
