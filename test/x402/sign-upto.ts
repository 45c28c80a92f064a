import type { Hex } from "viem";
import { privateKeyToAccount } from "viem/accounts";
import type { PaymentRequirements } from "../../src/x402/model/schemas.ts";

/** The contracts of `upto`, the same on every chain. */
export const PERMIT2 = "0x000000000022D473030F116dDEE9F6B43aC78BA3";
export const UPTO_PROXY = "0x4020A4f3b7b90ccA423B9fabCc0CE57C6C240002";

/** The EIP-712 types of the specification. */
const TYPES = {
  PermitWitnessTransferFrom: [
    { name: "permitted", type: "TokenPermissions" },
    { name: "spender", type: "address" },
    { name: "nonce", type: "uint256" },
    { name: "deadline", type: "uint256" },
    { name: "witness", type: "Witness" },
  ],
  TokenPermissions: [
    { name: "token", type: "address" },
    { name: "amount", type: "uint256" },
  ],
  Witness: [
    { name: "to", type: "address" },
    { name: "facilitator", type: "address" },
    { name: "validAfter", type: "uint256" },
  ],
} as const;

/**
 * What a buyer signs for a payment of at most `requirements.amount`.
 *
 * @param nonce - default: a random one
 * @param from - the payer; default: the key's own account
 */
export async function signUpto(
  key: Hex,
  { network, asset, amount, payTo, maxTimeoutSeconds, extra }: PaymentRequirements,
  { from, nonce = randomNonce() }: { from?: Hex | undefined; nonce?: bigint } = {},
): Promise<Record<string, unknown>> {
  const account = privateKeyToAccount(key);
  const deadline = BigInt(Math.floor(Date.now() / 1000) + maxTimeoutSeconds);
  const facilitator = (extra as { facilitatorAddress: Hex }).facilitatorAddress;
  const message = {
    permitted: { token: asset as Hex, amount: BigInt(amount) },
    spender: UPTO_PROXY,
    nonce,
    deadline,
    witness: { to: payTo as Hex, facilitator, validAfter: 0n },
  } as const;
  const chainId = Number(network.split(":")[1]);
  const signature = await account.signTypedData({
    domain: { name: "Permit2", chainId, verifyingContract: PERMIT2 },
    types: TYPES,
    primaryType: "PermitWitnessTransferFrom",
    message,
  });
  const permit2Authorization = {
    from: from ?? account.address,
    permitted: { token: asset, amount },
    spender: UPTO_PROXY,
    nonce: String(nonce),
    deadline: String(deadline),
    witness: { to: payTo, facilitator, validAfter: "0" },
  };
  return { signature, permit2Authorization };
}

function randomNonce(): bigint {
  return BigInt(`0x${Buffer.from(crypto.getRandomValues(new Uint8Array(32))).toString("hex")}`);
}
