import type { Hex, TypedDataDefinition } from "viem";
import { loadViem } from "../../packages.ts";
import { MULTICALL3, PERMIT2, PERMIT2_PROXY, UPTO_PROXY } from "./addresses.ts";
import type { Authorization, Eip3009Authorization, Permit2Authorization } from "./authorization.ts";
import { multicallAbi, permit2ProxyAbi, tokenAbi, uptoProxyAbi } from "./contracts.ts";
import type { TokenPermit } from "./eip2612.ts";

const {
  decodeFunctionData,
  encodeFunctionData,
  getAddress,
  parseErc6492Signature,
  parseSignature,
} = await loadViem();

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

/**
 * The call that submits an authorization to the chain.
 *
 * @param charge - of the scheme `upto`: what is transferred, at most the signed amount
 * @param tokenPermit - of Permit2: what approves Permit2 in the same transaction
 */
export function encodeSettlement(
  asset: string,
  authorization: Authorization,
  charge = authorization.value,
  tokenPermit: TokenPermit | null = null,
): ContractCall {
  if (authorization.kind === "permit2")
    return encodePermit2Settlement(authorization, charge, tokenPermit);
  const signature = readPayerSignature(authorization);
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

function encodePermit2Settlement(
  authorization: Permit2Authorization,
  charge: bigint,
  tokenPermit: TokenPermit | null,
): ContractCall {
  const signature = readPayerSignature(authorization);
  const { nonce, validBefore: deadline, validAfter, facilitator } = authorization;
  const permitted = { token: getAddress(authorization.token), amount: authorization.value };
  const permit = { permitted, nonce, deadline };
  const owner = getAddress(authorization.from);
  const to = getAddress(authorization.to);
  const proxy = toProxy(authorization);
  const permit2612 = tokenPermit && toPermit2612(tokenPermit);
  if (facilitator === null) {
    const args = [permit, owner, { to, validAfter }, signature] as const;
    const abi = permit2ProxyAbi;
    const data = permit2612
      ? encodeFunctionData({ abi, functionName: "settleWithPermit", args: [permit2612, ...args] })
      : encodeFunctionData({ abi, functionName: "settle", args });
    return { to: proxy, data };
  }
  const witness = { to, facilitator: getAddress(facilitator), validAfter };
  const args = [permit, charge, owner, witness, signature] as const;
  const abi = uptoProxyAbi;
  const data = permit2612
    ? encodeFunctionData({ abi, functionName: "settleWithPermit", args: [permit2612, ...args] })
    : encodeFunctionData({ abi, functionName: "settle", args });
  return { to: proxy, data };
}

/** The contract of the token refuses a wrong signature. */
function toPermit2612({ value, deadline, signature }: TokenPermit) {
  const last = Number.parseInt(signature.slice(130), 16);
  return {
    value,
    deadline,
    r: signature.slice(0, 66) as Hex,
    s: `0x${signature.slice(66, 130)}` as Hex,
    v: last < 27 ? last + 27 : last,
  };
}

/**
 * Reads a call of the contract of `upto`. Only the facilitator that the payer named can make such a call.
 *
 * @param input - data of a call
 * @returns null for a call that settles nothing
 */
export function readUptoSettlement(input: Hex) {
  try {
    const { functionName, args } = decodeFunctionData({ abi: uptoProxyAbi, data: input });
    if (functionName === "PERMIT2") return null;
    const [permit, charge, owner, witness] = functionName === "settle" ? args : tail(args);
    const { nonce, permitted } = permit;
    return { owner, nonce, token: permitted.token, to: witness.to, charge };
  } catch {
    // The data is that of no function of the contract.
    return null;
  }
}

function tail<First, Rest extends readonly unknown[]>(args: readonly [First, ...Rest]): Rest {
  const [, ...rest] = args;
  return rest;
}

/** The contract that submits a Permit2 authorization, which the payer names as the spender. */
export function toProxy({ facilitator }: Pick<Permit2Authorization, "facilitator">): string {
  return facilitator === null ? PERMIT2_PROXY : UPTO_PROXY;
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

/** An authorization before its signature. */
export type UnsignedAuthorization =
  | Omit<Eip3009Authorization, "signature">
  | Omit<Permit2Authorization, "signature">;

/** What the payer signs (EIP-712). @param domain - of the token, for EIP-3009 */
export function toTypedData(
  chainId: number,
  asset: string,
  domain: TokenDomain | null,
  authorization: UnsignedAuthorization,
): TypedDataDefinition & { message: Record<string, unknown> } {
  const { value, nonce, validAfter, validBefore } = authorization;
  const to = getAddress(authorization.to);
  if (authorization.kind === "eip3009")
    return {
      domain: { ...domain, chainId, verifyingContract: getAddress(asset) },
      types: EIP3009_TYPES,
      primaryType: "TransferWithAuthorization",
      message: { from: getAddress(authorization.from), to, value, validAfter, validBefore, nonce },
    };
  const { token, spender, facilitator } = authorization;
  return {
    domain: { name: "Permit2", chainId, verifyingContract: PERMIT2 },
    types: facilitator === null ? PERMIT2_TYPES : UPTO_TYPES,
    primaryType: "PermitWitnessTransferFrom",
    message: {
      permitted: { token: getAddress(token), amount: value },
      spender: getAddress(spender),
      nonce,
      deadline: validBefore,
      witness: {
        to,
        validAfter,
        ...(facilitator !== null && { facilitator: getAddress(facilitator) }),
      },
    },
  };
}

const EIP3009_TYPES = {
  TransferWithAuthorization: [
    { name: "from", type: "address" },
    { name: "to", type: "address" },
    { name: "value", type: "uint256" },
    { name: "validAfter", type: "uint256" },
    { name: "validBefore", type: "uint256" },
    { name: "nonce", type: "bytes32" },
  ],
} as const;

const PERMIT2_TYPES = {
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

const UPTO_TYPES = {
  ...PERMIT2_TYPES,
  Witness: [
    { name: "to", type: "address" },
    { name: "facilitator", type: "address" },
    { name: "validAfter", type: "uint256" },
  ],
} as const;
