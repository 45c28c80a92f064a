import type { Abi } from "viem";
import { loadViem } from "../../packages.ts";

const { decodeErrorResult, parseAbi } = await loadViem();

/** ERC-20 with EIP-3009 in both signature forms; `version` is that of its EIP-712 domain. */
export const tokenAbi = parseAbi([
  "function name() view returns (string)",
  "function version() view returns (string)",
  "function decimals() view returns (uint8)",
  "function DOMAIN_SEPARATOR() view returns (bytes32)",
  "function balanceOf(address owner) view returns (uint256)",
  "function allowance(address owner, address spender) view returns (uint256)",
  "function authorizationState(address authorizer, bytes32 nonce) view returns (bool)",
  "function transferWithAuthorization(address from, address to, uint256 value, uint256 validAfter, uint256 validBefore, bytes32 nonce, uint8 v, bytes32 r, bytes32 s)",
  "function transferWithAuthorization(address from, address to, uint256 value, uint256 validAfter, uint256 validBefore, bytes32 nonce, bytes signature)",
]);

export const permit2Abi = parseAbi([
  "function nonceBitmap(address owner, uint256 word) view returns (uint256)",
]);

export const permit2ProxyAbi = parseAbi([
  "struct TokenPermissions { address token; uint256 amount; }",
  "struct Permit { TokenPermissions permitted; uint256 nonce; uint256 deadline; }",
  "struct Witness { address to; uint256 validAfter; }",
  "struct Permit2612 { uint256 value; uint256 deadline; bytes32 r; bytes32 s; uint8 v; }",
  "function settle(Permit permit, address owner, Witness witness, bytes signature)",
  "function settleWithPermit(Permit2612 permit2612, Permit permit, address owner, Witness witness, bytes signature)",
  "function PERMIT2() view returns (address)",
]);

export const uptoProxyAbi = parseAbi([
  "struct TokenPermissions { address token; uint256 amount; }",
  "struct Permit { TokenPermissions permitted; uint256 nonce; uint256 deadline; }",
  "struct Witness { address to; address facilitator; uint256 validAfter; }",
  "struct Permit2612 { uint256 value; uint256 deadline; bytes32 r; bytes32 s; uint8 v; }",
  "function settle(Permit permit, uint256 amount, address owner, Witness witness, bytes signature)",
  "function settleWithPermit(Permit2612 permit2612, Permit permit, uint256 amount, address owner, Witness witness, bytes signature)",
  "function PERMIT2() view returns (address)",
]);

export const erc1271Abi = parseAbi([
  "function isValidSignature(bytes32 hash, bytes signature) view returns (bytes4)",
]);

export const multicallAbi = parseAbi([
  "struct Call { address target; bytes callData; }",
  "struct Result { bool success; bytes returnData; }",
  "function tryAggregate(bool requireSuccess, Call[] calls) payable returns (Result[] results)",
]);

const errorsAbi: Abi = parseAbi([
  "error Error(string message)",
  "error Panic(uint256 code)",
  "error InvalidNonce()",
  "error InvalidSigner()",
  "error InvalidSignature()",
  "error InvalidSignatureLength()",
  "error InvalidContractSignature()",
  "error SignatureExpired(uint256 signatureDeadline)",
  "error InvalidAmount(uint256 maxAmount)",
  "error InvalidAmount()",
  "error AmountExceedsPermitted()",
  "error UnauthorizedFacilitator()",
  "error Permit2612AmountMismatch()",
  "error ReentrancyGuardReentrantCall()",
  "error InvalidDestination()",
  "error InvalidOwner()",
  "error PaymentTooEarly()",
  "error ERC20InsufficientBalance(address sender, uint256 balance, uint256 needed)",
]);

/** A contract's revert text is truncated to this length. */
const MAX_REVERT_REASON_LENGTH = 300;

/**
 * The reason of a reverted call, such as `transfer amount exceeds balance` or `InvalidNonce`.
 *
 * @param data - what it returned, hex
 * @param otherwise - the node's own message
 */
export function toRevertReason(data: string | null, otherwise: string): string {
  return (decodeRevertReason(data) ?? otherwise).slice(0, MAX_REVERT_REASON_LENGTH);
}

function decodeRevertReason(data: string | null): string | null {
  if (data === null) return null;
  try {
    const { errorName, args } = decodeErrorResult({ abi: errorsAbi, data: data as `0x${string}` });
    return errorName === "Error" ? String(args?.[0]) : errorName;
  } catch {
    return null;
  }
}

/** The SDK's reason for a revert text; null when we know none. */
export function findX402Reason(kind: "eip3009" | "permit2", text: string): string | null {
  const reasons = kind === "eip3009" ? EIP3009_REVERT_PATTERNS : PERMIT2_REVERT_PATTERNS;
  return reasons.find(([pattern]) => pattern.test(text))?.[1] ?? null;
}

const EIP3009_REVERT_PATTERNS: readonly [RegExp, string][] = [
  [
    /authorization.*expired|AuthorizationExpired/i,
    "invalid_exact_evm_payload_authorization_valid_before",
  ],
  [
    /authorization.*not.*valid|AuthorizationNotYetValid/i,
    "invalid_exact_evm_payload_authorization_valid_after",
  ],
  [/authorization.*used|AuthorizationAlreadyUsed/i, "invalid_exact_evm_nonce_already_used"],
  [
    /exceeds.*balance|insufficient.*balance|ERC20InsufficientBalance/i,
    "invalid_exact_evm_insufficient_balance",
  ],
  [/invalid.*signature|SignerMismatch/i, "invalid_exact_evm_signature"],
];

const PERMIT2_REVERT_PATTERNS: readonly [RegExp, string][] = [
  [/InvalidNonce/, "permit2_invalid_nonce"],
  [/Permit2612AmountMismatch/, "permit2_2612_amount_mismatch"],
  [/InvalidAmount/, "permit2_invalid_amount"],
  [/AmountExceedsPermitted/, "upto_amount_exceeds_permitted"],
  [/UnauthorizedFacilitator/, "upto_unauthorized_facilitator"],
  [/InvalidDestination/, "permit2_invalid_destination"],
  [/InvalidOwner/, "permit2_invalid_owner"],
  [/PaymentTooEarly/, "permit2_payment_too_early"],
  [/SignatureExpired/, "permit2_deadline_expired"],
  [/InvalidSign|InvalidContractSignature/, "invalid_permit2_signature"],
  [/exceeds.*balance|ERC20InsufficientBalance/i, "permit2_insufficient_balance"],
  [/exceeds.*allowance/i, "permit2_allowance_required"],
];
