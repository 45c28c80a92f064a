import type { Hex } from "viem";
import { loadViem } from "../../packages.ts";
import { UPTO_PROXY } from "../evm/addresses.ts";
import {
  type Authorization,
  InvalidPayloadError,
  type Permit2Authorization,
  readAuthorization,
} from "../evm/authorization.ts";
import {
  type ContractCall,
  encodeAtomicCalls,
  encodeSettlement,
  readDeployment,
  readPayerSignature,
  type TokenDomain,
  toProxy,
  toTypedData,
} from "../evm/calldata.ts";
import { erc1271Abi } from "../evm/contracts.ts";
import { SETTLE_TIME_SECONDS } from "../evm/finality.ts";
import { isSameHex } from "../evm/is-same-hex.ts";
import { type Rpc, type RpcCall, RpcRefusal, RpcUnavailableError, readResult } from "../evm/rpc.ts";
import * as results from "../evm/rpc-results.ts";
import {
  encodeAuthorizationStateCall,
  isAuthorizationUsed,
} from "../facilitator-wallet/reconcile-authorization.ts";
import { type PaymentPayload, type PaymentRequirements, parseChainId } from "../model/schemas.ts";
import {
  encodeSimulation,
  type SimulationFailure,
  simulateSettlement,
} from "./simulate-settlement.ts";
import { simulateSponsoredSettlement } from "./sponsor-settlement.ts";

const { encodeFunctionData, hashTypedData, recoverAddress } = await loadViem();

/** A payment to be verified. */
export interface VerifyRequest {
  payload: PaymentPayload;
  /** Of the scheme `upto`, `amount` is the charge. */
  requirements: PaymentRequirements;
  /** Of the scheme `upto`: the amount that must be signed. Default: that of the requirements. */
  maxAmount?: string | undefined;
  /** ERC-6492 factories that may be called, lower case. */
  allowedFactories: readonly string[];
  /** Who will send the settlement: the simulation runs as it. */
  sender: string | null;
  /** Whether a permit of the payer may be used. */
  isSponsoring: boolean;
}

/** `payer` is in lower case. `isValid`: the settlement would go through now. Reasons are those of the x402 SDK 2.27. */
export type PaymentVerdict =
  | {
      isValid: true;
      payer: string;
      authorization: Authorization;
      call: ContractCall;
      /** Of a settlement with a permit of the payer: the most that it may cost, in wei. */
      maxCost?: bigint;
      /** The part of `maxCost` for what a rollup charges for the chain below. */
      maxL1Fee?: bigint;
    }
  | InvalidVerdict;

export interface InvalidVerdict {
  isValid: false;
  payer: string | null;
  invalidReason: string;
  /** What the chain, or another facilitator, said. Null: the reason says all. */
  invalidMessage: string | null;
}

/**
 * Verifies a payment in the order of the SDK's checks, so that both give the same reason. It checks the
 * signed terms, the signer, and whether the chain would accept the payment.
 *
 * @param now - epoch milliseconds
 * @throws RpcUnavailableError when the chain cannot be asked, or the node is on another chain
 */
export async function verifyPayment(
  rpc: Rpc,
  order: VerifyRequest,
  now: number,
): Promise<PaymentVerdict> {
  const { payload, requirements } = order;
  let authorization: Authorization;
  try {
    authorization = readAuthorization(payload.payload, requirements.scheme);
  } catch (error) {
    if (!(error instanceof InvalidPayloadError)) throw error;
    return {
      isValid: false,
      payer: null,
      invalidReason: error.reason,
      invalidMessage: error.message,
    };
  }
  const payer = authorization.from.toLowerCase();
  const toInvalidVerdict = (
    invalidReason: string,
    invalidMessage: string | null = null,
  ): InvalidVerdict => ({ isValid: false, payer, invalidReason, invalidMessage });

  const domain = toTokenDomain(requirements);
  const mismatch = findMismatch(payload, requirements, authorization, domain);
  if (mismatch) return toInvalidVerdict(mismatch);

  const { asset } = requirements;
  const chainId = parseChainId(requirements.network);
  const digest = hashTypedData(toTypedData(chainId, asset, domain, authorization));
  const byKey = await isSignedByKey(digest, authorization);
  const unmet = findUnmetRequirement(authorization, order, now);
  const charge = BigInt(requirements.amount);
  const encodeTransfer = () => encodeSettlement(asset, authorization, charge);
  // What can still be refused is not simulated; of all others, one request says everything.
  const plain = byKey && unmet === null && charge > 0n ? encodeTransfer() : null;
  const upto = isUpto(authorization) ? encodeUptoReads(authorization) : [];
  const { payerHasCode, assetHasCode, responses } = await readSignatureFacts(
    rpc,
    requirements,
    payer,
    [...upto, ...(plain ? [encodeSimulation(plain, order.sender)] : [])],
  );
  if (authorization.kind === "permit2" && unmet) return toInvalidVerdict(unmet);

  const deployment =
    authorization.kind === "eip3009" ? readDeployment(authorization.signature) : null;
  const isCounterfactual = deployment !== null && !payerHasCode;
  if (isCounterfactual && !order.allowedFactories.includes(deployment.factory))
    return toInvalidVerdict("eip6492_factory_not_allowed");

  const signed =
    isCounterfactual ||
    // A contract is asked, and never treated as a key, even where it would also recover.
    (payerHasCode ? await isSignedByContract(rpc, digest, authorization) : byKey);
  if (authorization.kind === "permit2") {
    if (!assetHasCode) return toInvalidVerdict("asset_not_deployed_contract");
    if (!signed) return toInvalidVerdict("invalid_permit2_signature");
  } else {
    if (!signed) return toInvalidVerdict("invalid_exact_evm_signature");
    if (unmet) return toInvalidVerdict(unmet);
    if (!assetHasCode) return toInvalidVerdict("asset_not_deployed_contract");
  }

  const transfer = plain ?? encodeTransfer();
  if (isUpto(authorization)) {
    const failure = findUptoFailure(authorization, charge, responses);
    if (failure) return toInvalidVerdict(failure.reason, failure.message);
    // Nothing is sent for a charge of 0.
    if (charge === 0n) return { isValid: true, payer, authorization, call: transfer };
  }
  const calls = isCounterfactual ? [deployment.call, transfer] : [transfer];
  const failure = await simulateSettlement(rpc, {
    asset,
    authorization,
    charge,
    calls,
    domain,
    sender: order.sender,
    response: plain ? responses[upto.length] : undefined,
  });
  const { sender } = order;
  const isUnapproved = failure?.reason === "permit2_allowance_required";
  if (isUnapproved && order.isSponsoring && sender && authorization.kind === "permit2") {
    const payment = { payload, authorization, charge };
    const sponsored = await simulateSponsoredSettlement(
      rpc,
      payment,
      { sender, chainId },
      failure,
      now,
    );
    if ("reason" in sponsored) return toInvalidVerdict(sponsored.reason, sponsored.message);
    return { isValid: true, payer, authorization, ...sponsored };
  }
  if (failure) return toInvalidVerdict(failure.reason, failure.message);
  const call = isCounterfactual ? encodeAtomicCalls(calls) : transfer;
  return { isValid: true, payer, authorization, call };
}

function toTokenDomain({ extra }: PaymentRequirements): TokenDomain | null {
  const { name, version } = extra ?? {};
  return typeof name === "string" && name && typeof version === "string" && version
    ? { name, version }
    : null;
}

type UptoAuthorization = Permit2Authorization & { facilitator: string };

export function isUpto(authorization: Authorization): authorization is UptoAuthorization {
  return authorization.kind === "permit2" && authorization.facilitator !== null;
}

/** Asks whether the chain has the proxy, since a call without a contract succeeds, and whether the nonce is used. */
function encodeUptoReads(authorization: UptoAuthorization): RpcCall[] {
  return [
    { method: "eth_getCode", params: [UPTO_PROXY, "latest"] },
    encodeAuthorizationStateCall(toAuthorizationId(authorization)),
  ];
}

function findUptoFailure(
  authorization: UptoAuthorization,
  charge: bigint,
  [proxyCode, nonceState]: readonly unknown[],
): SimulationFailure | null {
  if (!hasCode(proxyCode)) return { reason: "permit2_proxy_not_deployed" };
  if (charge > authorization.value)
    return {
      reason: "invalid_upto_evm_payload_settlement_exceeds_amount",
      message: `The charge ${charge} is more than the signed ${authorization.value}`,
    };
  if (charge === 0n && isAuthorizationUsed(toAuthorizationId(authorization), nonceState))
    return { reason: "permit2_simulation_failed", message: "InvalidNonce" };
  return null;
}

function toAuthorizationId({ kind, token: asset, from, nonce }: UptoAuthorization) {
  return { kind, asset, from, nonce: String(nonce) };
}

/** What is wrong before the chain is read. */
function findMismatch(
  { accepted }: PaymentPayload,
  requirements: PaymentRequirements,
  authorization: Authorization,
  domain: TokenDomain | null,
): string | null {
  const { kind } = authorization;
  if (isUpto(authorization)) {
    if (accepted.scheme !== "upto") return "invalid_upto_evm_scheme";
    return accepted.network === requirements.network ? null : "invalid_upto_evm_network_mismatch";
  }
  const isExact = accepted.scheme === "exact" && requirements.scheme === "exact";
  if (!isExact) return kind === "permit2" ? "unsupported_payload_type" : "invalid_exact_evm_scheme";
  if (kind === "eip3009" && domain === null) return "invalid_exact_evm_missing_eip712_domain";
  if (accepted.network !== requirements.network) return "invalid_exact_evm_network_mismatch";
  return null;
}

/** What is wrong with the terms that were signed. */
function findUnmetRequirement(
  authorization: Authorization,
  { requirements, maxAmount = requirements.amount, sender }: VerifyRequest,
  now: number,
): string | null {
  const seconds = BigInt(Math.floor(now / 1000));
  const reasons = INVALID_REASONS[authorization.kind];
  if (
    authorization.kind === "permit2" &&
    authorization.spender.toLowerCase() !== toProxy(authorization).toLowerCase()
  )
    return "invalid_permit2_spender";
  if (authorization.to.toLowerCase() !== requirements.payTo.toLowerCase()) return reasons.recipient;
  if (isUpto(authorization) && authorization.facilitator.toLowerCase() !== sender?.toLowerCase())
    return "upto_facilitator_mismatch";
  if (authorization.validBefore < seconds + SETTLE_TIME_SECONDS) return reasons.expired;
  if (authorization.validAfter > seconds) return reasons.early;
  if (authorization.value !== BigInt(maxAmount)) return reasons.amount;
  if (
    authorization.kind === "permit2" &&
    authorization.token.toLowerCase() !== requirements.asset.toLowerCase()
  )
    return "permit2_token_mismatch";
  return null;
}

const INVALID_REASONS = {
  eip3009: {
    recipient: "invalid_exact_evm_recipient_mismatch",
    expired: "invalid_exact_evm_payload_authorization_valid_before",
    early: "invalid_exact_evm_payload_authorization_valid_after",
    amount: "invalid_exact_evm_payload_authorization_value_mismatch",
  },
  permit2: {
    recipient: "invalid_permit2_recipient_mismatch",
    expired: "permit2_deadline_expired",
    early: "permit2_not_yet_valid",
    amount: "permit2_amount_mismatch",
  },
} as const;

/** On-chain facts about a payment. */
interface SignatureFacts {
  /** Whether it is a wallet that is a contract, and no account with a key. */
  payerHasCode: boolean;
  assetHasCode: boolean;
  /** What the node answered to `also`. */
  responses: readonly (unknown | RpcRefusal)[];
}

/**
 * Reads who pays in which token, in one request.
 *
 * @param also - other calls for the same request
 * @throws RpcUnavailableError, also for a node on another chain
 */
async function readSignatureFacts(
  rpc: Rpc,
  { network, asset }: Pick<PaymentRequirements, "network" | "asset">,
  payer: string,
  also: readonly RpcCall[],
): Promise<SignatureFacts> {
  const [chainId, payerCode, assetCode, ...responses] = await rpc.callBatch([
    { method: "eth_chainId", params: [] },
    { method: "eth_getCode", params: [payer, "latest"] },
    { method: "eth_getCode", params: [asset, "latest"] },
    ...also,
  ]);
  if (chainId instanceof RpcRefusal) throw chainId;
  const chain = readResult(results.smallQuantity, chainId);
  if (chain !== parseChainId(network))
    throw new RpcUnavailableError(`the RPC node is on chain ${chain}, not ${network}`);
  return {
    payerHasCode: hasCode(payerCode),
    assetHasCode: hasCode(assetCode),
    responses,
  };
}

function hasCode(code: unknown): boolean {
  return readResult(results.bytes, code) !== "0x";
}

const ERC1271_MAGIC_VALUE = "0x1626ba7e";

/** Whether the authorization's signature, of exactly 65 bytes, recovers to its payer. */
async function isSignedByKey(digest: Hex, authorization: Authorization): Promise<boolean> {
  const signature = readPayerSignature(authorization);
  if (signature.length !== 132) return false;
  try {
    const recovered = await recoverAddress({ hash: digest, signature });
    return isSameHex(recovered, authorization.from);
  } catch {
    // Not a point on the curve: nobody's signature.
    return false;
  }
}

/** Whether a contract says that the digest was signed for it (ERC-1271). */
async function isSignedByContract(
  rpc: Rpc,
  digest: Hex,
  authorization: Authorization,
): Promise<boolean> {
  const data = encodeFunctionData({
    abi: erc1271Abi,
    functionName: "isValidSignature",
    args: [digest, readPayerSignature(authorization)],
  });
  try {
    const call = { to: authorization.from, data };
    const answer = await rpc.call(results.bytes, "eth_call", call, "latest");
    return answer.toLowerCase().startsWith(ERC1271_MAGIC_VALUE);
  } catch (error) {
    if (error instanceof RpcRefusal && error.isRevert) return false;
    throw error;
  }
}
