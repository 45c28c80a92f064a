/** Answers of nodes to `eth_sendRawTransaction`. */
import { RpcRefusal } from "./rpc.ts";

/**
 * The meaning of an answer. `stale`: the transaction's nonce is used, perhaps by the transaction
 * itself. `unsupported`: the chain does not take this type of transaction. `refused`: the node
 * refused it for another reason. `sent`: everything else, since the node may have the transaction.
 */
export type BroadcastOutcome = "sent" | "stale" | "unsupported" | "refused";

const INSUFFICIENT_FUNDS_PATTERN = /insufficient ?funds|exceeds? (the )?(account )?balance/i;

/** Texts of geth, erigon, nethermind, besu, reth and anvil. The first pattern that matches decides. */
const OUTCOME_PATTERNS: readonly [BroadcastOutcome, RegExp][] = [
  // The node has this transaction, or another one with the nonce.
  ["sent", /already ?(known|imported)|\bknown transaction|same hash|\breplace/i],
  ["stale", /nonce (is )?too (low|small)|old ?nonce/i],
  [
    "unsupported",
    /(transaction|tx) ?type .*\b(not (yet )?(supported|activated|enabled)|is invalid)/i,
  ],
  [
    "unsupported",
    /(invalid|unsupported|unknown) ?(transaction|tx) ?type|accepted transaction types/i,
  ],
  ["unsupported", /EIP-?1559 .*(not (yet )?supported|disabled|not enabled)/i],
  // A node from before EIP-2718 cannot decode the type.
  ["unsupported", /rlp: expected|typed transaction too short/i],
  ["refused", INSUFFICIENT_FUNDS_PATTERN],
  [
    "refused",
    /(less than|below) (the )?(current |block )?base ?fee|below (the )?(configured )?minimum/i,
  ],
  ["refused", /underpriced|fee ?too ?low|fee cap|max priority fee|exceeds the configured cap/i],
  ["refused", /intrinsic ?gas|gas ?limit|gas ?uint(64)? ?overflow/i],
  ["refused", /invalid (sender|chain|signature)|failed to ?(recover|resolve) ?sender/i],
  ["refused", /nonce (is )?too (high|distant)|nonce ?gap/i],
  ["refused", /pool is full|oversized|rlp ?too ?long|spammer/i],
  ["refused", /rate limit|too many requests|limit exceeded|limit reached/i],
];

/** JSON-RPC codes of nodes that did not look at the transaction: unknown method, limit exceeded. */
const NOT_BROADCAST_RPC_CODES = [-32601, -32005];

/** The meaning of a node's answer to `eth_sendRawTransaction`. */
export function classifyBroadcast(answer: unknown): BroadcastOutcome {
  if (!(answer instanceof RpcRefusal)) return "sent";
  const { code, message } = answer;
  const known = OUTCOME_PATTERNS.find(([, pattern]) => pattern.test(message));
  return known?.[0] ?? (NOT_BROADCAST_RPC_CODES.includes(code) ? "refused" : "sent");
}

/** Whether a node says that the sender cannot pay for the gas. */
export function isInsufficientFunds({ message }: RpcRefusal): boolean {
  return INSUFFICIENT_FUNDS_PATTERN.test(message);
}
