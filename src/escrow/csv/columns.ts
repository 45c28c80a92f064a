/** What a line of the CSV says of a record: pure. */
import { valueName } from "../../http/names/table.ts";
import type { Unit } from "../../units/units.ts";
import type { EscrowRecord, StoredFunds } from "../record.ts";
import { nextActionOf } from "../wanted.ts";
import type { Cell } from "./text.ts";

/** Units that have a name, by unit. */
export type Units = ReadonlyMap<string, Unit>;

/** Columns in their order. Programs know them by name: new ones come last, and none changes its meaning. */
const COLUMNS: Readonly<Record<string, (record: EscrowRecord, units: Units) => Cell>> = {
  id: ({ id }) => id,
  createdAt: ({ createdAt }) => new Date(createdAt).toISOString(),
  network: ({ network }) => network,
  paymentSourceType: ({ sourceType }) => valueName(sourceType),
  onChainState: ({ state }) => state.onChainState,
  requestedAction: (record) => nextActionOf(record).requestedAction,
  errorType: (record) => nextActionOf(record).errorType,
  errorNote: (record) => nextActionOf(record).errorNote,
  agentIdentifier: ({ terms }) => terms.agentIdentifier,
  agentName: ({ terms }) => terms.agentName ?? null,
  // Most prices have one unit: then nobody has to take a list apart.
  unit: ({ terms: { funds } }) => funds[0]?.unit ?? null,
  amount: ({ terms: { funds } }) => funds[0]?.amount ?? null,
  ticker: ({ terms: { funds } }, units) => units.get(funds[0]?.unit ?? "")?.ticker ?? null,
  wholeAmount: ({ terms: { funds } }, units) => wholeAmount(funds[0], units),
  otherAmounts: ({ terms: { funds } }) => amountList(funds.slice(1)),
  sellerReceived: ({ state }) => amountList(state.settled?.seller ?? state.withdrawnForSeller),
  buyerReceived: ({ state }) => amountList(state.settled?.buyer ?? state.withdrawnForBuyer),
  protocolFee: ({ state }) => amountList(state.settled?.protocolFee ?? []),
  networkFee: ({ side, state }) => (side === "payment" ? state.sellerFees : state.buyerFees),
  payByTime: ({ terms }) => timeText(terms.payByTime),
  submitResultTime: ({ terms }) => timeText(terms.submitResultTime),
  unlockTime: ({ terms }) => timeText(terms.unlockTime),
  externalDisputeUnlockTime: ({ terms }) => timeText(terms.externalDisputeUnlockTime),
  walletAddress: ({ wallet }) => wallet?.address ?? null,
  counterpartyVkey: ({ side, terms, state }) =>
    side === "payment" ? (state.lock?.buyerVkey ?? terms.buyerVkey) : terms.sellerVkey,
  txHash: ({ state, wanted }) =>
    (wanted.underWay?.transaction ?? state.transaction)?.txHash ?? null,
  inputHash: ({ terms }) => terms.inputHash,
  resultHash: ({ state }) => state.resultHash,
  requestedById: ({ requestedById }) => requestedById,
  blockchainIdentifier: ({ blockchainIdentifier }) => blockchainIdentifier,
};

export const COLUMN_NAMES: readonly string[] = Object.keys(COLUMNS);

/** The cells of a record, one for each column. */
export function cellsOf(record: EscrowRecord, units: Units): Cell[] {
  return Object.values(COLUMNS).map((cell) => cell(record, units));
}

/** Minor units and their unit, as in `10000000 <unit>; 5 <unit>`; the native coin is `lovelace`. */
function amountList(funds: readonly StoredFunds[]): Cell {
  if (funds.length === 0) return null;
  return funds.map(({ amount, unit }) => `${amount} ${unit || "lovelace"}`).join("; ");
}

/** An amount in whole units, exactly; null where nobody has said how many decimals the unit has. */
function wholeAmount(funds: StoredFunds | undefined, units: Units): Cell {
  const known = funds && units.get(funds.unit);
  if (!known) return null;
  const digits = funds.amount.padStart(known.decimals + 1, "0");
  const point = digits.length - known.decimals;
  const fraction = digits.slice(point).replace(/0+$/, "");
  return fraction === "" ? digits.slice(0, point) : `${digits.slice(0, point)}.${fraction}`;
}

/** The last moment that a date can be. */
const LAST_DATE_MS = 8_640_000_000_000_000;

/** A time as the chain has it, Unix milliseconds of any size: those beyond any date stay as they are. */
function timeText(milliseconds: string): Cell {
  const at = Number(milliseconds);
  return Math.abs(at) <= LAST_DATE_MS ? new Date(at).toISOString() : milliseconds;
}
