/** An immutable ledger: a transaction results in another ledger. */
import { sha256 } from "@noble/hashes/sha2.js";
import { utf8ToBytes } from "@noble/hashes/utils.js";
import type { Outputs } from "../../../devnet/demo/actors/selection.ts";
import { encodeValue, sumToValue } from "../../../devnet/demo/actors/value.ts";
import { WALLETS } from "../../../devnet/demo/actors/wallets.ts";
import { slotAt } from "../../../devnet/ledger/blocks.ts";
import { type Ledger, openLedger } from "../../../devnet/ledger/emulator.ts";
import { NETWORK_LIMITS, requireWithinLimits } from "../../../devnet/ledger/limits.ts";
import { type LedgerOutput, readTransaction } from "../../../devnet/ledger/transaction.ts";
import { addressToBytes } from "../../../src/chain/address.ts";
import { encodeArray, encodeBytes } from "../../../src/chain/cbor.ts";
import { bytesToHex } from "../../../src/chain/hex.ts";
import type { Funds } from "../../../src/chain/network.ts";

interface Unspent {
  txHash: string;
  index: number;
  output: Pick<LedgerOutput, "address" | "amount" | "dataHash" | "inlineDatum" | "cbor">;
}

export interface Stage extends Outputs {
  /**
   * @param time - Unix milliseconds at which the ledger validates it
   * @throws LedgerRejection
   */
  after(transaction: Uint8Array, time: number): Stage;
}

/** Two tokens that every wallet has. */
export const TOKENS = ["aa", "bb"].map((byte) => `${byte.repeat(28)}746f6b656e`) as [
  string,
  string,
];

const GENESIS = bytesToHex(sha256(utf8ToBytes("genesis of the contracts' tests")));

function purse(address: string): { address: string; funds: Funds[] }[] {
  const coins = (amount: bigint) => ({ unit: "", amount });
  const tokens = TOKENS.map((unit) => ({ unit, amount: 1_000_000n }));
  return [[coins(10n ** 12n)], [coins(10n ** 11n)], [coins(10n ** 10n), ...tokens]].map(
    (funds) => ({ address, funds }),
  );
}

/** A ledger on which each wallet of the local chain has coins and tokens. */
export function openStage(): Stage {
  const unspent = WALLETS.flatMap(({ address }) => purse(address)).map(
    ({ address, funds }, index): Unspent => ({
      txHash: GENESIS,
      index,
      output: {
        address,
        amount: funds.map(({ unit, amount }) => ({ unit: unit || "lovelace", quantity: amount })),
        dataHash: null,
        inlineDatum: null,
        cbor: encodeArray([encodeBytes(addressToBytes(address)), encodeValue(sumToValue(funds))]),
      },
    }),
  );
  return stageOf(
    openLedger(unspent.map((entry) => ({ ...entry, cbor: entry.output.cbor }))),
    unspent,
  );
}

function stageOf(ledger: Ledger, unspent: readonly Unspent[]): Stage {
  return {
    utxosAt: (address) =>
      unspent
        .filter(({ output }) => output.address === address)
        .map(({ txHash, index, output }) => ({ txHash, index, ...output })),
    after(cbor, time) {
      const transaction = readTransaction(cbor);
      requireWithinLimits(transaction, NETWORK_LIMITS);
      const next = ledger.snapshot();
      next.submit(cbor, slotAt(time));
      const { hash, spent, produced } = transaction;
      const isSpent = ({ txHash, index }: Unspent) =>
        spent.some((input) => input.txHash === txHash && input.index === index);
      return stageOf(next, [
        ...unspent.filter((entry) => !isSpent(entry)),
        ...produced.map(({ index, output }) => ({ txHash: hash, index, output })),
      ]);
    },
  };
}
