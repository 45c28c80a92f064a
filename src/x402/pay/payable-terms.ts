import type { TokenDomain } from "../evm/calldata.ts";
import {
  evmAddress,
  type PaymentRequirements,
  timeoutSeconds,
  tokenAddress,
  tokenAmount,
} from "../schemas.ts";

/**
 * Those of a resource's terms that a wallet on the chain can sign for: `exact` by EIP-3009, for
 * which they must give the token's EIP-712 domain, or by Permit2. In the resource's order of
 * preference.
 */
export function payableTerms(
  accepts: readonly PaymentRequirements[],
  caip2Id: string,
): PaymentRequirements[] {
  return accepts.filter(
    ({ scheme, network, asset, amount, payTo, maxTimeoutSeconds, extra }) =>
      scheme === "exact" &&
      network === caip2Id &&
      tokenAmount().safeParse(amount).success &&
      tokenAddress.safeParse(asset).success &&
      evmAddress.safeParse(payTo).success &&
      timeoutSeconds.safeParse(maxTimeoutSeconds).success &&
      (isPermit2(extra) || eip3009Domain(extra) !== null),
  );
}

/** The EIP-712 domain that payable terms are signed for; null: Permit2. */
export function domainOf({ extra }: PaymentRequirements): TokenDomain | null {
  return isPermit2(extra) ? null : eip3009Domain(extra);
}

type Extra = PaymentRequirements["extra"];

function isPermit2(extra: Extra): boolean {
  return extra?.assetTransferMethod === "permit2";
}

function eip3009Domain(extra: Extra): TokenDomain | null {
  const { name, version, assetTransferMethod = "eip3009" } = extra ?? {};
  return assetTransferMethod === "eip3009" &&
    typeof name === "string" &&
    typeof version === "string"
    ? { name, version }
    : null;
}
