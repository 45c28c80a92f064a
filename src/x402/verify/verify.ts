import { type Authorization, InvalidPayload, readAuthorization } from "../evm/authorization.ts";
import {
  allOrNothing,
  type ContractCall,
  deploymentOf,
  settlementCall,
  signedDigest,
  type TokenDomain,
} from "../evm/calldata.ts";
import { PERMIT2_PROXY } from "../evm/contracts.ts";
import type { Rpc } from "../evm/rpc.ts";
import { chainIdOf } from "../networks/chain-id.ts";
import type { PaymentPayload, PaymentRequirements } from "../schemas.ts";
import { isSignedByContract, isSignedByKey, readFacts } from "./signature.ts";
import { simulate, trialOf } from "./simulate.ts";

/** A payment to be verified. */
export interface VerifyOrder {
  payload: PaymentPayload;
  requirements: PaymentRequirements;
  /** ERC-6492 factories that may be called, lower case. */
  factories: readonly string[];
  /** Who will send the settlement: the simulation runs as it. */
  sender: string | null;
}

/** `payer` is in lower case. `isValid`: the settlement would go through now. Reasons are those of the x402 SDK 2.27. */
export type Verdict =
  | { isValid: true; payer: string; authorization: Authorization; call: ContractCall }
  | { isValid: false; payer: string | null; invalidReason: string; invalidMessage?: string };

/** A settlement needs this long to reach a block, in seconds. */
const TIME_TO_SETTLE = 6n;

/**
 * Verifies a payment in the order of the SDK's checks, so that both give the same reason. It checks the
 * signed terms, the signer, and whether the chain would accept the payment.
 *
 * @param now - epoch milliseconds
 * @throws RpcUnavailable when the chain cannot be asked, or the node is on another chain
 */
export async function verifyPayment(rpc: Rpc, order: VerifyOrder, now: number): Promise<Verdict> {
  const { payload, requirements } = order;
  let authorization: Authorization;
  try {
    authorization = readAuthorization(payload.payload);
  } catch (error) {
    if (!(error instanceof InvalidPayload)) throw error;
    return {
      isValid: false,
      payer: null,
      invalidReason: "invalid_payload",
      invalidMessage: error.message,
    };
  }
  const payer = authorization.from.toLowerCase();
  const invalid = (invalidReason: string, invalidMessage?: string): Verdict => ({
    isValid: false,
    payer,
    invalidReason,
    ...(invalidMessage !== undefined && { invalidMessage }),
  });

  const domain = tokenDomain(requirements);
  const mismatch = termsMismatch(payload, requirements, authorization, domain);
  if (mismatch) return invalid(mismatch);

  const { asset } = requirements;
  const digest = signedDigest(chainIdOf(requirements.network), asset, domain, authorization);
  const byKey = await isSignedByKey(digest, authorization);
  const unmet = termsReason(authorization, requirements, now);
  // What can still be refused is not simulated; of all others, one request says everything.
  const plain = byKey && unmet === null ? settlementCall(asset, authorization) : null;
  const trial = plain && trialOf(plain, order.sender);
  const { payerHasCode, assetHasCode, answer } = await readFacts(rpc, requirements, payer, trial);
  if (authorization.kind === "permit2" && unmet) return invalid(unmet);

  const deployment =
    authorization.kind === "eip3009" ? deploymentOf(authorization.signature) : null;
  const isCounterfactual = deployment !== null && !payerHasCode;
  if (isCounterfactual && !order.factories.includes(deployment.factory))
    return invalid("eip6492_factory_not_allowed");

  const signed =
    isCounterfactual ||
    // A contract is asked, and never treated as a key, even where it would also recover.
    (payerHasCode ? await isSignedByContract(rpc, digest, authorization) : byKey);
  if (authorization.kind === "permit2") {
    if (!assetHasCode) return invalid("asset_not_deployed_contract");
    if (!signed) return invalid("invalid_permit2_signature");
  } else {
    if (!signed) return invalid("invalid_exact_evm_signature");
    if (unmet) return invalid(unmet);
    if (!assetHasCode) return invalid("asset_not_deployed_contract");
  }

  const transfer = plain ?? settlementCall(asset, authorization);
  const calls = isCounterfactual ? [deployment.call, transfer] : [transfer];
  const failure = await simulate(rpc, {
    asset,
    authorization,
    calls,
    domain,
    sender: order.sender,
    answer,
  });
  if (failure) return invalid(failure.reason, failure.message);
  const call = isCounterfactual ? allOrNothing(calls) : transfer;
  return { isValid: true, payer, authorization, call };
}

function tokenDomain({ extra }: PaymentRequirements): TokenDomain | null {
  const { name, version } = extra ?? {};
  return typeof name === "string" && name && typeof version === "string" && version
    ? { name, version }
    : null;
}

/** What is wrong before the chain is read. */
function termsMismatch(
  { accepted }: PaymentPayload,
  requirements: PaymentRequirements,
  { kind }: Authorization,
  domain: TokenDomain | null,
): string | null {
  const isExact = accepted.scheme === "exact" && requirements.scheme === "exact";
  if (!isExact) return kind === "permit2" ? "unsupported_payload_type" : "invalid_exact_evm_scheme";
  if (kind === "eip3009" && domain === null) return "invalid_exact_evm_missing_eip712_domain";
  if (accepted.network !== requirements.network) return "invalid_exact_evm_network_mismatch";
  return null;
}

/** What is wrong with the terms that were signed. */
function termsReason(
  authorization: Authorization,
  requirements: PaymentRequirements,
  now: number,
): string | null {
  const seconds = BigInt(Math.floor(now / 1000));
  const reasons = REASONS[authorization.kind];
  if (
    authorization.kind === "permit2" &&
    authorization.spender.toLowerCase() !== PERMIT2_PROXY.toLowerCase()
  )
    return "invalid_permit2_spender";
  if (authorization.to.toLowerCase() !== requirements.payTo.toLowerCase()) return reasons.recipient;
  if (authorization.validBefore < seconds + TIME_TO_SETTLE) return reasons.expired;
  if (authorization.validAfter > seconds) return reasons.early;
  if (authorization.value !== BigInt(requirements.amount)) return reasons.amount;
  if (
    authorization.kind === "permit2" &&
    authorization.token.toLowerCase() !== requirements.asset.toLowerCase()
  )
    return "permit2_token_mismatch";
  return null;
}

const REASONS = {
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
