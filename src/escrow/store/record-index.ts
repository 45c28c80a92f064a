import type { EscrowRecord, Side } from "../model/escrow-record.ts";

/** Finds the records of a run by what transactions name them with. */
export class RecordIndex {
  readonly #byUtxo = new Map<string, EscrowRecord[]>();
  readonly #byIdentifier = new Map<string, EscrowRecord>();

  constructor(records: Iterable<EscrowRecord> = []) {
    for (const record of records) this.add(record);
  }

  /** The records whose funds are in an output (`hash#index`): none, one, or one of each side. */
  findByUtxo(utxo: string): EscrowRecord[] {
    return this.#byUtxo.get(utxo) ?? [];
  }

  /** The record with an identifier, if there is one. */
  findByIdentifier(side: Side, identifierHash: string): EscrowRecord | undefined {
    return this.#byIdentifier.get(identifierKeyOf(side, identifierHash));
  }

  add(record: EscrowRecord): void {
    this.#byIdentifier.set(identifierKeyOf(record.side, record.identifierHash), record);
    const { utxo } = record.state;
    if (utxo !== null) this.#byUtxo.set(utxo, [...this.findByUtxo(utxo), record]);
  }

  /** Before its output changes: `add` finds it a new place. */
  remove({ id, state: { utxo } }: EscrowRecord): void {
    if (utxo === null) return;
    const others = this.findByUtxo(utxo).filter((one) => one.id !== id);
    this.#byUtxo.set(utxo, others);
  }
}

function identifierKeyOf(side: Side, identifierHash: string): string {
  return `${side}:${identifierHash}`;
}
