import { describe, expect, it } from "vitest";
import { classifyBroadcast } from "../../../src/x402/evm/classify-broadcast.ts";
import { RpcRefusal } from "../../../src/x402/evm/rpc.ts";

const TEXTS = {
  sent: [
    "already known",
    "AlreadyKnown",
    "Known transaction",
    "transaction already imported",
    "existing txn with same hash",
    "replacement transaction underpriced",
    "could not replace existing tx",
    // Nobody knows what these nodes did with the transaction.
    "internal error",
    "context deadline exceeded",
    "header not found",
    "",
  ],
  stale: ["nonce too low", "Nonce too low", "nonce too low: next nonce 5, tx nonce 4", "OldNonce"],
  unsupported: [
    "transaction type not supported",
    "transaction type not supported: type 2 rejected, pool not yet in London",
    "transaction type not supported: tx type 2 not supported by this pool",
    "fork supporting this transaction type is not activated yet",
    "InvalidTxType: Transaction type in Custom is not supported.",
    "Invalid transaction type",
    "Transaction type EIP1559 is invalid, accepted transaction types are [FRONTIER]",
    "transaction format is invalid, accepted transaction types are [FRONTIER]",
    "EIP-1559 transactions are disabled",
    "EIP-1559 style fee params (maxFeePerGas or maxPriorityFeePerGas) received but they are not supported by the current hardfork.",
    "unknown transaction type",
    "rlp: expected input list for types.LegacyTx",
  ],
  refused: [
    "insufficient funds for gas * price + value",
    "InsufficientFunds",
    "Upfront cost exceeds account balance",
    "max fee per gas less than block base fee: address 0x1, maxFeePerGas: 1, baseFee: 7",
    "gasPrice is less than the current BaseFee",
    "Gas price below configured minimum gas price",
    "transaction underpriced",
    "FeeTooLow, EffectivePriorityFeePerGas too low",
    "fee too low",
    "max priority fee per gas higher than max fee per gas",
    "tx fee (2.00 ether) exceeds the configured cap (1.00 ether)",
    "Transaction fee cap exceeded",
    "intrinsic gas too low",
    "exceeds block gas limit",
    "GasLimitExceeded",
    "invalid sender",
    "invalid chain id for signer",
    "Invalid signature",
    "nonce too high",
    "NonceGap",
    "txpool is full",
    "pending sub-pool is full",
    "rate limit exceeded",
    "25/second request limit reached",
  ],
} as const;

describe("classifyBroadcast", () => {
  const cases = Object.entries(TEXTS).flatMap(([outcome, texts]) =>
    texts.map((text) => [text, outcome] as const),
  );
  it.each(cases)("reads '%s' as %s", (text, outcome) => {
    expect(classifyBroadcast(new RpcRefusal(-32000, text, null))).toBe(outcome);
  });

  it.each([-32601, -32005])("reads the code %i as refused, whatever the text", (code) => {
    expect(classifyBroadcast(new RpcRefusal(code, "no", null))).toBe("refused");
  });

  it("reads a result as sent, whatever the result", () => {
    for (const result of ["0x12", null, {}]) expect(classifyBroadcast(result)).toBe("sent");
  });
});
