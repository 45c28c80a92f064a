import {
  createPublicClient,
  encodeAbiParameters,
  encodeFunctionData,
  type Hex,
  http,
  parseAbi,
} from "viem";
import type { Payload, X402Fixture } from "../x402-fixture.ts";

const factoryAbi = parseAbi([
  "function addressOf(address owner) view returns (address)",
  "function deploy(address owner) returns (address)",
]);

/** A wallet that is a contract, with an owner who signs for it. */
export interface SmartWallet {
  address: Hex;
  factory: Hex;
  /** The call of the factory that deploys it. */
  deployment: Hex;
}

/** The wallet that an owner would have of a factory; it has tokens, and no code yet. */
export async function walletOf(
  x402: X402Fixture,
  owner: { address: Hex },
  factory: Hex = x402.contracts.walletFactory,
): Promise<SmartWallet> {
  const client = createPublicClient({ transport: http(x402.url) });
  const call = { abi: factoryAbi, args: [owner.address] as const };
  const address = await client.readContract({
    ...call,
    address: factory,
    functionName: "addressOf",
  });
  await x402.mint(x402.contracts.token, address, 1_000_000n);
  return { address, factory, deployment: encodeFunctionData({ ...call, functionName: "deploy" }) };
}

/** The payment with a signature that also says how its wallet is deployed (ERC-6492). */
export function withDeployment(
  payment: Payload,
  { factory, deployment }: Pick<SmartWallet, "factory" | "deployment">,
): Payload {
  const wrapped = encodeAbiParameters(
    [{ type: "address" }, { type: "bytes" }, { type: "bytes" }],
    [factory, deployment, payment.payload.signature as Hex],
  );
  const signature = `${wrapped}${"6492".repeat(16)}`;
  return { ...payment, payload: { ...payment.payload, signature } };
}
