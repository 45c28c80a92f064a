import type { Hex } from "viem";
import { loadViem } from "../../packages.ts";
import type { Authorization } from "./authorization.ts";
import {
  MULTICALL3,
  multicallAbi,
  PERMIT2,
  PERMIT2_PROXY,
  permit2ProxyAbi,
  tokenAbi,
} from "./contracts.ts";

const { encodeFunctionData, getAddress, hashTypedData, parseErc6492Signature, parseSignature } =
  await loadViem();

/** A call of a contract. */
export interface ContractCall {
  to: string;
  data: Hex;
}

/** The token's EIP-712 domain, needed for EIP-3009 signatures. */
export interface TokenDomain {
  name: string;
  version: string;
}

/** The parts of a signature with an ERC-6492 wrapper; null for one without a valid wrapper. */
function readErc6492Wrapper(signature: string) {
  try {
    const { address, data, signature: inner } = parseErc6492Signature(signature as Hex);
    return address && data && BigInt(address) !== 0n ? { factory: address, data, inner } : null;
  } catch {
    // The signature only looks like a wrapper.
    return null;
  }
}

/** How a signature's ERC-6492 wrapper says that the signing wallet is deployed; null without one. */
export function readDeployment(signature: string): { factory: string; call: ContractCall } | null {
  const wrapper = readErc6492Wrapper(signature);
  if (!wrapper) return null;
  const { factory, data } = wrapper;
  return { factory: factory.toLowerCase(), call: { to: factory, data } };
}

/**
 * The signature that the payer's key or contract made, which the chain gets: without its ERC-6492
 * wrapper, for either transfer method.
 */
export function readPayerSignature({ signature }: Authorization): Hex {
  return readErc6492Wrapper(signature)?.inner ?? (signature as Hex);
}

/** The call that submits an authorization to the chain. */
export function encodeSettlement(asset: string, authorization: Authorization): ContractCall {
  const signature = readPayerSignature(authorization);
  if (authorization.kind === "permit2") {
    const data = encodeFunctionData({
      abi: permit2ProxyAbi,
      functionName: "settle",
      args: [
        {
          permitted: { token: getAddress(authorization.token), amount: authorization.value },
          nonce: authorization.nonce,
          deadline: authorization.validBefore,
        },
        getAddress(authorization.from),
        { to: getAddress(authorization.to), validAfter: authorization.validAfter },
        signature,
      ],
    });
    return { to: PERMIT2_PROXY, data };
  }
  const args = [
    getAddress(authorization.from),
    getAddress(authorization.to),
    authorization.value,
    authorization.validAfter,
    authorization.validBefore,
    authorization.nonce as Hex,
  ] as const;
  // Tokens with only EIP-3009's first form take the signature in three parts.
  const isEcdsa = signature.length === 132;
  if (!isEcdsa) {
    const data = encodeFunctionData({
      abi: tokenAbi,
      functionName: "transferWithAuthorization",
      args: [...args, signature],
    });
    return { to: asset, data };
  }
  const { r, s, v, yParity } = parseSignature(signature);
  const data = encodeFunctionData({
    abi: tokenAbi,
    functionName: "transferWithAuthorization",
    args: [...args, Number(v ?? BigInt(yParity + 27)), r, s],
  });
  return { to: asset, data };
}

/** Calls made in sequence in one transaction, which fails with the first that fails. */
export function encodeAtomicCalls(calls: readonly ContractCall[]): ContractCall {
  return { to: MULTICALL3, data: encodeTryAggregate(true, calls) };
}

/** Data of a call of Multicall3. */
export function encodeTryAggregate(requireSuccess: boolean, calls: readonly ContractCall[]): Hex {
  return encodeFunctionData({
    abi: multicallAbi,
    functionName: "tryAggregate",
    args: [
      requireSuccess,
      calls.map(({ to, data }) => ({ target: getAddress(to), callData: data })),
    ],
  });
}

/** The digest that the payer has signed (EIP-712). */
export function hashAuthorization(
  chainId: number,
  asset: string,
  domain: TokenDomain | null,
  authorization: Authorization,
): Hex {
  if (authorization.kind === "permit2")
    return hashTypedData({
      domain: { name: "Permit2", chainId, verifyingContract: PERMIT2 },
      types: PERMIT2_TYPES,
      primaryType: "PermitWitnessTransferFrom",
      message: toPermit2Message(authorization),
    });
  return hashTypedData({
    domain: { ...domain, chainId, verifyingContract: getAddress(asset) },
    types: EIP3009_TYPES,
    primaryType: "TransferWithAuthorization",
    message: toEip3009Message(authorization),
  });
}

/** EIP-712 message of an EIP-3009 authorization. */
export function toEip3009Message(authorization: {
  from: string;
  to: string;
  value: bigint;
  validAfter: bigint;
  validBefore: bigint;
  nonce: string;
}) {
  return {
    from: getAddress(authorization.from),
    to: getAddress(authorization.to),
    value: authorization.value,
    validAfter: authorization.validAfter,
    validBefore: authorization.validBefore,
    nonce: authorization.nonce as Hex,
  };
}

/** EIP-712 message of a Permit2 authorization. */
export function toPermit2Message(authorization: {
  token: string;
  value: bigint;
  spender: string;
  nonce: bigint;
  validBefore: bigint;
  to: string;
  validAfter: bigint;
}) {
  return {
    permitted: { token: getAddress(authorization.token), amount: authorization.value },
    spender: getAddress(authorization.spender),
    nonce: authorization.nonce,
    deadline: authorization.validBefore,
    witness: { to: getAddress(authorization.to), validAfter: authorization.validAfter },
  };
}

export const EIP3009_TYPES = {
  TransferWithAuthorization: [
    { name: "from", type: "address" },
    { name: "to", type: "address" },
    { name: "value", type: "uint256" },
    { name: "validAfter", type: "uint256" },
    { name: "validBefore", type: "uint256" },
    { name: "nonce", type: "bytes32" },
  ],
} as const;

export const PERMIT2_TYPES = {
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
    { name: "validAfter", type: "uint256" },
  ],
} as const;
