import type { Hex } from "viem";
import { privateKeyToAccount } from "viem/accounts";
import { PERMIT2 } from "./sign-upto.ts";
import type { Payload, X402Fixture } from "./x402-fixture.ts";

const TYPES = {
  Permit: [
    { name: "owner", type: "address" },
    { name: "spender", type: "address" },
    { name: "value", type: "uint256" },
    { name: "nonce", type: "uint256" },
    { name: "deadline", type: "uint256" },
  ],
} as const;

/** Key of the x402 extension. */
export const EIP2612_EXTENSION = "eip2612GasSponsoring";

/** A payment of Permit2 with the permit (EIP-2612) that approves Permit2 for it, as the SDK's client signs both. */
export async function withPermit(
  x402: X402Fixture,
  { key }: { key: Hex },
  payment: Payload,
  over: Record<string, unknown> = {},
): Promise<Payload> {
  const { token, chainId } = x402.contracts;
  const { from, permitted, deadline } = payment.payload.permit2Authorization as {
    from: Hex;
    permitted: { amount: string };
    deadline: string;
  };
  const nonce = await x402.permitNonce(from);
  const signature = await privateKeyToAccount(key).signTypedData({
    domain: {
      name: "Test Dollar",
      version: "1",
      chainId,
      verifyingContract: token,
    },
    types: TYPES,
    primaryType: "Permit",
    message: {
      owner: from,
      spender: PERMIT2,
      value: BigInt(permitted.amount),
      nonce,
      deadline: BigInt(deadline),
    },
  });
  const info = {
    from,
    asset: token,
    spender: PERMIT2,
    amount: permitted.amount,
    nonce: String(nonce),
    deadline,
    signature,
    version: "1",
    ...over,
  };
  return { ...payment, extensions: { [EIP2612_EXTENSION]: { info } } };
}
