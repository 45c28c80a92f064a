import type { Hex } from "viem";
import { loadViem } from "../../packages.ts";
import { PERMIT2, PERMIT2_PROXY, UPTO_PROXY } from "../evm/addresses.ts";
import {
  EIP3009_TYPES,
  PERMIT2_TYPES,
  type TokenDomain,
  toEip3009Message,
  toPermit2Message,
  toUptoMessage,
  UPTO_TYPES,
} from "../evm/calldata.ts";
import { type PaymentRequirements, parseChainId } from "../model/schemas.ts";

const { getAddress, privateKeyToAccount } = await loadViem();

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
  const validBefore = BigInt(Math.floor(now / 1000) + maxTimeoutSeconds);
  const nonce = crypto.getRandomValues(new Uint8Array(32));
  const terms = {
    from: payer,
    to: payTo,
    value: BigInt(amount),
    validAfter: 0n,
    validBefore,
  };
  const chainId = parseChainId(network);

  if (domain !== null) {
    const authorization = { ...terms, nonce: `0x${Buffer.from(nonce).toString("hex")}` };
    const signature = await account.signTypedData({
      domain: { ...domain, chainId, verifyingContract: getAddress(asset) },
      types: EIP3009_TYPES,
      primaryType: "TransferWithAuthorization",
      message: toEip3009Message(authorization),
    });
    return { signature, authorization: stringifyBigInts(toEip3009Message(authorization)) };
  }
  const isUpto = scheme === "upto";
  const permit = {
    ...terms,
    token: asset,
    spender: isUpto ? UPTO_PROXY : PERMIT2_PROXY,
    nonce: BigInt(`0x${Buffer.from(nonce).toString("hex")}`),
  };
  const typed = {
    domain: { name: "Permit2", chainId, verifyingContract: PERMIT2 },
    primaryType: "PermitWitnessTransferFrom",
  } as const;
  if (isUpto) {
    const message = toUptoMessage({ ...permit, facilitator: String(extra?.facilitatorAddress) });
    const signature = await account.signTypedData({ ...typed, types: UPTO_TYPES, message });
    return { signature, permit2Authorization: stringifyBigInts({ from: payer, ...message }) };
  }
  const message = toPermit2Message(permit);
  const signature = await account.signTypedData({ ...typed, types: PERMIT2_TYPES, message });
  return { signature, permit2Authorization: stringifyBigInts({ from: payer, ...message }) };
}

/** Numbers as decimal text, as on the wire. */
function stringifyBigInts(message: object): unknown {
  return JSON.parse(
    JSON.stringify(message, (_, value) => (typeof value === "bigint" ? value.toString() : value)),
  );
}
