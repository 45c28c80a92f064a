/** The part of viem that settling on EVM chains takes; `tools/packages.ts` bundles it into `viem.mjs`. */
export {
  decodeErrorResult,
  decodeFunctionData,
  decodeFunctionResult,
  domainSeparator,
  encodeFunctionData,
  getAddress,
  hashTypedData,
  keccak256,
  pad,
  parseAbi,
  parseErc6492Signature,
  parseSignature,
  recoverAddress,
  serializeTransaction,
  toEventSelector,
  toHex,
} from "viem";
export { generatePrivateKey, privateKeyToAccount, privateKeyToAddress } from "viem/accounts";
