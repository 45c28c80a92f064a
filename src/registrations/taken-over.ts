import type { Network } from "../chain/network.ts";
import { decodeTransaction } from "../chain/transaction/decode.ts";
import { outputName } from "../chain/transaction/plan.ts";
import { sumOf } from "../chain/transaction/value.ts";
import type { Database } from "../db/client.ts";
import type { Phase } from "../wallets/spending/life.ts";
import type { OwnOutput } from "../wallets/spending/transaction.ts";
import type { TakenOver } from "../wallets/work.ts";
import { isInitiated, purposeOfState, taskIdOf } from "./states.ts";
import { unknownToWallet } from "./store.ts";
import type { RegistrationRow } from "./tables.ts";
import type { RegistrationTransaction } from "./token.ts";
import { identifierOfSeed, type RegistrationDetail } from "./transaction.ts";

/**
 * Transactions of registrations that a wallet does not know, as if it had stored them: those under
 * way are watched and sent again, and those given up before may still land.
 */
export async function transactionsBefore(
  db: Database,
  network: Network,
  vkey: string,
): Promise<TakenOver[]> {
  const rows = await unknownToWallet(db, network, vkey);
  return rows.flatMap((row) => (row.tx === null ? [] : [transactionOf(row, row.tx)]));
}

function transactionOf(row: RegistrationRow, tx: RegistrationTransaction): TakenOver {
  const cbor = row.txCbor === null ? null : Uint8Array.from(Buffer.from(row.txCbor, "hex"));
  const { seed } = row;
  const known =
    cbor === null ? { inputs: seed === null ? [] : [seed], made: [] } : partsOf(row, cbor);
  const detail: RegistrationDetail = {
    purpose: purposeOfState(row.state) ?? "Registration",
    agentIdentifier: identifierOfSeed(row) ?? row.agentIdentifier ?? "",
    seed,
  };
  const change = known.made.at(-1);
  // Another mint is built on the output that this one spends; a burn spends the token itself.
  const isOfLine = detail.purpose === "Registration" && seed !== null;
  return {
    ...known,
    hash: tx.hash,
    phase: phaseOf(row, tx),
    sourceId: row.sourceId,
    tasks: [{ work: "registration", id: taskIdOf(row.id, detail.purpose), detail }],
    lineIn: isOfLine ? seed : null,
    lineOut: isOfLine && change ? outputName({ txHash: tx.hash, index: change.index }) : null,
    canBeOvertaken: false,
    collateral: null,
    validFrom: 0,
    validTo: tx.validTo,
    fee: BigInt(tx.fees),
    size: cbor?.length ?? 0,
    memory: 0,
    blockHeight: null,
    blockHash: null,
    blockTime: null,
    overHeight: null,
    error: null,
    movedAt: row.updatedAt,
    cbor,
  };
}

function phaseOf({ state }: RegistrationRow, { status }: RegistrationTransaction): Phase {
  if (isInitiated(state)) return "Stored";
  return status === "FailedViaTimeout" ? "Expired" : "Refused";
}

function partsOf(
  { wallet }: RegistrationRow,
  cbor: Uint8Array,
): { inputs: string[]; made: OwnOutput[] } {
  const { inputs, outputs } = decodeTransaction(cbor);
  return {
    inputs: inputs.map(outputName),
    made: outputs.flatMap(({ address, funds }, index) =>
      address === wallet.address ? [{ index, value: sumOf(funds) }] : [],
    ),
  };
}
