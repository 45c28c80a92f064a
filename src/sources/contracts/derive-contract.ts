import { formatAddress } from "../../chain/address.ts";
import type { Network, PaymentSourceType } from "../../chain/network.ts";
import {
  createScriptFromTemplate,
  type EscrowParameters,
  encodeEscrowParameters,
  encodePolicyParameters,
} from "../../chain/plutus/contract-parameters.ts";
import type { PlutusData } from "../../chain/plutus/data.ts";
import { hashScript, parseScript, ScriptError } from "../../chain/plutus/script.ts";
import type { Provider } from "../../chain/provider/provider.ts";
import { ApiError } from "../../http/errors.ts";
import type { SourceRow } from "../source-row.ts";
import { requireContractAddress, requireParsedAddress } from "../validate-request.ts";
import { type DevelopmentEnv, refuseMixingWithDevelopment } from "./local-contracts.ts";
import type { ContractFields } from "./rules.ts";
import { type ContractTemplates, selectTemplates } from "./templates.ts";

/** What a source follows. */
export interface SourceContract {
  /** Of the escrow, bech32. */
  address: string;
  /** Script hash of the registry policy, hex. */
  policyId: string;
}

/** A request, as far as it names a contract or has the parameters of one. */
interface ContractRequest extends ContractFields {
  network: Network;
  AdminWallets: readonly { walletAddress: string }[];
  FeeReceiverNetworkWallet: { walletAddress: string } | null;
  /** Milliseconds. */
  cooldownTime: number;
}

/** Signatures required in a dispute on Web3ChainV1, where the number is fixed. */
const V1_REQUIRED_SIGNATURES = 2;

/**
 * The contract that a request names, or the one whose parameters it gives. The request is validated
 * immediately; the returned function asks the provider if it has to.
 *
 * @throws ApiError 400 naming the field, 409; the returned function throws ApiError 502,
 *   ProviderError
 */
export function createContractFinder(
  env: DevelopmentEnv,
  body: ContractRequest,
): (provider: Provider) => Promise<SourceContract> {
  const { network, paymentSourceType, smartContractAddress, policyId } = body;
  if (smartContractAddress !== undefined && policyId !== undefined) {
    const named = requireContractAddress(network, smartContractAddress);
    refuseMixingWithDevelopment(env, { network, scriptHash: named.scriptHash });
    return async () => ({ address: named.address, policyId });
  }
  refuseMixingWithDevelopment(env, { network });
  const templates = selectTemplates(env, paymentSourceType, network);
  const terms = toEscrowParameters(body);
  return (provider) => deriveContract(provider, network, templates, terms);
}

/** @throws ApiError 400 when an address has no key that the contract could use */
function toEscrowParameters(body: ContractRequest): EscrowParameters {
  const { network, FeeReceiverNetworkWallet: receiver, feeRatePermille: permille } = body;
  return {
    type: body.paymentSourceType,
    requiredAdminSignatures: body.requiredAdminSignatures ?? V1_REQUIRED_SIGNATURES,
    adminVkeys: body.AdminWallets.map(({ walletAddress }, i) => {
      const field = `AdminWallets[${i}].walletAddress`;
      const { payment } = requireParsedAddress(network, field, walletAddress);
      if (payment.kind !== "key") throw new ApiError(400, `${field}: must have a payment key`);
      return payment.hash;
    }),
    cooldownTime: body.cooldownTime,
    fee: receiver && { receiver: requireFeeAddress(network, receiver.walletAddress), permille },
  };
}

function requireFeeAddress(network: Network, text: string): string {
  const field = "FeeReceiverNetworkWallet.walletAddress";
  const { payment, stake, bech32 } = requireParsedAddress(network, field, text);
  if (payment.kind !== "key" || stake?.kind !== "key")
    throw new ApiError(400, `${field}: must have a payment key and a stake key`);
  return bech32;
}

async function deriveContract(
  provider: Provider,
  network: Network,
  templates: ContractTemplates,
  terms: EscrowParameters,
): Promise<SourceContract> {
  const derive = (template: string, of: PaymentSourceType | "policy", parameters: PlutusData[]) =>
    deriveHash(provider, network, template, of, parameters);
  const hash = await derive(templates.escrow, terms.type, encodeEscrowParameters(terms));
  const address = formatAddress({ network, payment: { kind: "script", hash }, stake: null });
  const policyId =
    terms.type === "Web3ChainV2"
      ? templates.policy
      : await derive(templates.policy, "policy", encodePolicyParameters(address));
  return { address, policyId };
}

/**
 * The script of a contract with a source's parameters.
 *
 * @returns null when the provider does not have the script that it is derived from
 * @throws ProviderError, ScriptError
 */
export async function deriveScript(
  env: DevelopmentEnv,
  provider: Provider,
  source: SourceRow,
): Promise<Uint8Array | null> {
  const { type, network, feeReceiverAddress } = source;
  const { escrow } = selectTemplates(env, type, network);
  const terms = toEscrowParameters({
    ...source,
    paymentSourceType: type,
    AdminWallets: JSON.parse(source.adminWallets),
    FeeReceiverNetworkWallet:
      feeReceiverAddress === null ? null : { walletAddress: feeReceiverAddress },
  });
  const shown = await provider.scriptCbor(escrow);
  const script = shown === null ? null : parseScript(escrow, shown);
  return script && createScriptFromTemplate(script, type, network, encodeEscrowParameters(terms));
}

/** Hash of the template's script with other parameters. */
async function deriveHash(
  provider: Provider,
  network: Network,
  template: string,
  of: PaymentSourceType | "policy",
  parameters: PlutusData[],
): Promise<string> {
  const shown = await provider.scriptCbor(template);
  if (shown === null)
    throw new ApiError(
      "chain_provider_failed",
      `The chain provider lacks the script ${template} for the contract. Send smartContractAddress and policyId.`,
    );
  const script = parseScript(template, shown);
  if (script === null)
    throw new ApiError(
      "chain_provider_failed",
      `The chain provider returned another script than ${template}`,
    );
  try {
    return hashScript(createScriptFromTemplate(script, of, network, parameters));
  } catch (error) {
    if (!(error instanceof ScriptError)) throw error;
    throw new ApiError(
      "chain_provider_failed",
      `The service cannot derive a contract from the script ${template}: ${error.message}`,
    );
  }
}
