/** The chain's providers as an operator sets them: two kinds beside the first one, which fails the most. */
import type { ApiAccess, ask } from "../client/api.ts";

const SOURCES = "/payment-source-extended";
const REGISTRY = "/registry-source";

interface Source {
  id: string;
  paymentSourceType: string;
}

export class ProviderSettings {
  readonly #admin: ApiAccess;
  readonly #first: string;
  /** How often the keys were replaced. */
  #version = 0;

  /** @param first - base URL of the first provider */
  constructor(admin: ApiAccess, first: string) {
    this.#admin = admin;
    this.#first = first;
  }

  /** Gives the payment sources their further providers, or takes them away. */
  async apply(post: typeof ask, hasFurther: boolean): Promise<void> {
    for (const { id, paymentSourceType } of await this.#listSources(post)) {
      const RpcProviders = hasFurther ? this.#listFurther(paymentSourceType) : [];
      await post(this.#admin, "PATCH", SOURCES, { id, RpcProviders });
    }
  }

  /** Gives all sources new keys for all their providers. */
  async replaceKeys(post: typeof ask): Promise<void> {
    this.#version++;
    const rpcProviderApiKey = this.#key("local-chain");
    for (const { id } of await this.#listSources(post))
      await post(this.#admin, "PATCH", SOURCES, { id, PaymentSourceConfig: { rpcProviderApiKey } });
    await this.apply(post, true);
    const { sources } = await post<{ sources: { id: string }[] }>(
      this.#admin,
      "GET",
      `${REGISTRY}?network=Preprod`,
    );
    for (const { id } of sources)
      await post(this.#admin, "PATCH", REGISTRY, { id, rpcProviderApiKey });
  }

  async #listSources(post: typeof ask): Promise<Source[]> {
    const path = `${SOURCES}?network=Preprod`;
    const { ExtendedPaymentSources: sources } = await post<{ ExtendedPaymentSources: Source[] }>(
      this.#admin,
      "GET",
      path,
    );
    return sources;
  }

  #listFurther(paymentSourceType: string): object[] {
    const urlOf = (place: string) => this.#first.replace("/api/v0", place);
    const blockfrost = (profile: string) => ({
      rpcProvider: "Blockfrost",
      url: urlOf(`/${profile}/v0`),
      rpcProviderApiKey: this.#key(profile),
    });
    return paymentSourceType === "Web3ChainV1"
      ? [blockfrost("mirror")]
      : [blockfrost("dolos"), { rpcProvider: "Ogmios", url: urlOf("/ogmios") }];
  }

  #key = (name: string) => `${name}-${this.#version}`;
}
