import { toBlockchainIdentifier } from "../../chain/contracts/blockchain-identifier.ts";
import { decodeEscrowDatum, type EscrowDatum } from "../../chain/contracts/escrow-datum.ts";
import type { ChainTransaction } from "../../chain/transaction/decode-transaction.ts";
import { formatOutputReference } from "../../chain/transaction/transaction-plan.ts";
import { log } from "../../log.ts";
import { hashIdentifier } from "../model/escrow-record.ts";
import type { EarlierTransaction, EscrowOutput, EscrowSource } from "./escrow-source.ts";

/**
 * The outputs of a transaction at the contract that carry an inline escrow datum. Anybody can pay to the
 * contract with any datum: this logs and skips other outputs. The contract also accepts an escrow by datum
 * hash. The service skips it, because its datum may be nowhere on the chain.
 */
export function decodeEscrowOutputs(source: EscrowSource, tx: ChainTransaction): EscrowOutput[] {
  return tx.outputs.flatMap((output, index) => {
    if (output.address !== source.contractAddress) return [];
    const decoded = decodeDatum(source, output);
    if (decoded.ok) {
      const { datum } = decoded;
      return [{ index, datum, output, ...identifyEscrow(source, datum) }];
    }
    log("info", "sync.output_skipped", { tx: tx.hash, index, reason: decoded.reason });
    return [];
  });
}

/**
 * The datums of the outputs at the contract that a transaction spends, by outpoint (`hash#index`);
 * null where one does not read as an escrow.
 */
export async function loadSpentDatums(
  source: EscrowSource,
  { tx, spent }: Pick<EarlierTransaction, "tx" | "spent">,
): Promise<Map<string, EscrowDatum | null>> {
  const datums = new Map<string, EscrowDatum | null>();
  // The ledger lets nothing of a contract be spent without a redeemer.
  for (const { inputIndex } of tx.spendRedeemers) {
    const input = tx.inputs[inputIndex];
    const output = input ? await spent(input) : null;
    if (!input || output?.address !== source.contractAddress) continue;
    const decoded = decodeDatum(source, output);
    datums.set(formatOutputReference(input), decoded.ok ? decoded.datum : null);
  }
  return datums;
}

/** The blockchain identifier of an escrow, and its hash, by which records are looked up. */
export function identifyEscrow(
  source: EscrowSource,
  datum: EscrowDatum,
): { identifier: string; identifierHash: string } {
  const identifier = toBlockchainIdentifier(datum, source.contractAddress);
  return { identifier, identifierHash: hashIdentifier(identifier) };
}

function decodeDatum(
  { type, network, contractAddress }: EscrowSource,
  { datum, datumHash = null }: { datum: string | null; datumHash?: string | null },
): ReturnType<typeof decodeEscrowDatum> {
  if (datum !== null) return decodeEscrowDatum(datum, { version: type, network, contractAddress });
  const reason =
    datumHash === null ? "no datum" : "only a datum hash, which the service does not sync";
  return { ok: false, reason };
}
