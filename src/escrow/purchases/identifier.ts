import {
  decodeBlockchainIdentifier,
  encodeBlockchainIdentifier,
  type IdentifierSegments,
} from "../../chain/identifier.ts";
import type { PaymentSourceType } from "../../chain/network.ts";
import { ApiError } from "../../http/errors.ts";
import type { PurchaseBody } from "./schemas.ts";

/** What a quote's identifier says by itself. */
export interface QuotedIdentifier extends IdentifierSegments {
  type: PaymentSourceType;
  agentIdentifier: string | null;
}

/**
 * Reads the identifier of a quote, and compares it with what the request says of the contract.
 *
 * @throws ApiError 400
 */
export function readIdentifier({
  blockchainIdentifier,
  paymentSourceType,
  supportedPaymentSourceIndex,
  smartContractAddress,
}: PurchaseBody): QuotedIdentifier {
  const decoded = decodeBlockchainIdentifier(blockchainIdentifier);
  if (decoded === null)
    throw new ApiError(400, "blockchainIdentifier: is not the identifier of an escrow");
  // The lock's is made of its datum: another spelling would never be found.
  if (encodeBlockchainIdentifier(decoded) !== blockchainIdentifier)
    throw new ApiError(400, "blockchainIdentifier: is not encoded as the chain's are");
  const type = decoded.contractAddress === null ? "Web3ChainV1" : "Web3ChainV2";
  if (paymentSourceType !== undefined && paymentSourceType !== type)
    throw new ApiError(400, `paymentSourceType: blockchainIdentifier is of ${type}`);
  if (type === "Web3ChainV1" && supportedPaymentSourceIndex !== undefined)
    throw new ApiError(
      400,
      "supportedPaymentSourceIndex: must be left out for an agent of Web3ChainV1",
    );
  const isOther = smartContractAddress !== "" && smartContractAddress !== decoded.contractAddress;
  if (type === "Web3ChainV2" && isOther)
    throw new ApiError(400, "smartContractAddress: is not the contract of blockchainIdentifier");
  return { ...decoded, type };
}
