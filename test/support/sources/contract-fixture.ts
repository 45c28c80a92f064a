import type { ChainContract, ChainTemplates } from "../chain.ts";
import { type Answer, SourceApi } from "./api.ts";

type SourceType = ChainContract["type"];

/** `POST /payment-source-extended` without a contract, on a chain that shows what it is derived from. */
export class ContractFixture {
  readonly api: SourceApi;
  readonly templates: ChainTemplates;

  private constructor(api: SourceApi, templates: ChainTemplates) {
    this.api = api;
    this.templates = templates;
  }

  static async open(): Promise<ContractFixture> {
    const api = await SourceApi.open();
    await api.chain.act([{ do: "publish" }]);
    return new ContractFixture(api, (await api.chain.wallets()).templates);
  }

  wallet(name: string) {
    return this.api.wallet(name);
  }

  admins(...names: string[]) {
    return names.map((name) => ({ walletAddress: this.wallet(name).address }));
  }

  /** The variable that makes the local chain's scripts the templates. */
  variables() {
    return { CONTRACT_TEMPLATES: JSON.stringify(this.templates) };
  }

  /** Fields from which a contract is derived. */
  terms(type: SourceType): object {
    const isV1 = type === "Web3ChainV1";
    return {
      paymentSourceType: type,
      smartContractAddress: undefined,
      policyId: undefined,
      AdminWallets: this.admins("admin", "seller-0", "buyer-0"),
      feeRatePermille: isV1 ? 50 : 0,
      FeeReceiverNetworkWallet: isV1 ? { walletAddress: this.wallet("admin").address } : null,
      requiredAdminSignatures: isV1 ? null : 2,
    };
  }

  derive(
    type: SourceType,
    overrides: object = {},
    options: { headers?: Record<string, string>; env?: object } = {},
  ): Promise<Answer> {
    const bindings = { ...this.variables(), ...options.env };
    return this.api.create({ ...this.terms(type), ...overrides }, { ...options, env: bindings });
  }

  /** What the provider shows of a script, hex. */
  async shown(hash: string): Promise<string> {
    return (await this.api.chain.get<{ cbor: string }>(`/scripts/${hash}/cbor`)).cbor;
  }
}
