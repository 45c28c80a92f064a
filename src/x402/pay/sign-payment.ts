import type { Hex } from "viem";
import { loadViem } from "../../packages.ts";
import { PERMIT2_PROXY, UPTO_PROXY } from "../evm/addresses.ts";
import { type TokenDomain, toTypedData, type UnsignedAuthorization } from "../evm/calldata.ts";
import { type PaymentRequirements, parseChainId } from "../model/schemas.ts";

const { privateKeyToAccount } = await loadViem();

/**
 * Signs an authorization that meets the requirements: EIP-3009, or Permit2 if they ask for it. Of the
 * scheme `upto`, the requirements name the facilitator, which may charge up to their amount.
 * Valid until `maxTimeoutSeconds` from now, and immediately whatever the chain's clock:
 * `validAfter` is 0.
 *
 * @param domain - the token's EIP-712 domain; null: Permit2
 * @param now - epoch milliseconds
 * @param from - the payer; default: the key's own account. Any other is a contract wallet of the
 *   key.
 * @returns `payload` of a payment payload (x402 `exact` and `upto` on EVM)
 */
export async function signPayment(
  privateKey: string,
  requirements: PaymentRequirements,
  domain: TokenDomain | null,
  now: number,
  from?: Hex,
): Promise<Record<string, unknown>> {
  const account = privateKeyToAccount(privateKey as Hex);
  const payer = from ?? account.address;
  const { scheme, asset, payTo, amount, network, maxTimeoutSeconds, extra } = requirements;
  const nonce: Hex = `0x${Buffer.from(crypto.getRandomValues(new Uint8Array(32))).toString("hex")}`;
  const terms = {
    from: payer,
    to: payTo,
    value: BigInt(amount),
    validAfter: 0n,
    validBefore: BigInt(Math.floor(now / 1000) + maxTimeoutSeconds),
  };
  const isUpto = scheme === "upto";
  const authorization: UnsignedAuthorization =
    domain !== null
      ? { kind: "eip3009", ...terms, nonce }
      : {
          kind: "permit2",
          ...terms,
          nonce: BigInt(nonce),
          token: asset,
          spender: isUpto ? UPTO_PROXY : PERMIT2_PROXY,
          facilitator: isUpto ? String(extra?.facilitatorAddress) : null,
        };
  const typedData = toTypedData(parseChainId(network), asset, domain, authorization);
  const signature = await account.signTypedData(typedData);
  const message = stringifyBigInts({ from: payer, ...typedData.message });
  return {
    signature,
    [domain !== null ? "authorization" : "permit2Authorization"]: message,
  };
}

/** Numbers as decimal text, as on the wire. */
function stringifyBigInts(message: object): unknown {
  return JSON.parse(
    JSON.stringify(message, (_, value) => (typeof value === "bigint" ? value.toString() : value)),
  );
}
