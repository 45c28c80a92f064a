import { env } from "cloudflare:workers";
import { x402Facilitator } from "@x402/core/facilitator";
import { toFacilitatorEvmSigner } from "@x402/evm";
import { ExactEvmScheme } from "@x402/evm/exact/facilitator";
import { createWalletClient, http, publicActions } from "viem";
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts";
import type { SettlementFixture } from "../../settlement-fixture.ts";
import { api, expectOk, type X402Fixture } from "../../x402-fixture.ts";

export const HOST = "facilitator.dev";
export const URL_OF_IT = `https://${HOST}/x402`;
export const AUTH = "Bearer the-secret-of-the-facilitator";

type Payment = Parameters<x402Facilitator["settle"]>;
const realFetch = globalThis.fetch;

/** A request that the facilitator got. */
export interface Got {
  operation: string;
  authorization: string | null;
  settle: () => Promise<object>;
}

/** The SDK's facilitator at a public name, and what tests put between it and the service. */
export class RemoteFacilitator {
  readonly got: Pick<Got, "operation" | "authorization">[] = [];
  /** What becomes of a request; the default is the SDK's answer. */
  handle: (got: Got) => Promise<object> = ({ settle }) => settle();
  readonly #sdk: x402Facilitator;

  private constructor(sdk: x402Facilitator) {
    this.#sdk = sdk;
  }

  static async start(x402: X402Fixture): Promise<RemoteFacilitator> {
    const { chainId } = x402.contracts;
    const account = privateKeyToAccount(generatePrivateKey());
    await x402.fund(account.address);
    const chain = {
      id: chainId,
      name: "local",
      nativeCurrency: { name: "Ether", symbol: "ETH", decimals: 18 },
      rpcUrls: { default: { http: [x402.url] } },
    };
    // The node gets the facilitator's requests whatever stands between the node and the service.
    const transport = http(x402.url, { fetchFn: realFetch });
    const client = createWalletClient({ account, chain, transport, pollingInterval: 50 }).extend(
      publicActions,
    );
    const signer = toFacilitatorEvmSigner({ ...client, address: account.address } as never);
    const sdk = new x402Facilitator().register(
      x402.caip2 as `${string}:${string}`,
      new ExactEvmScheme(signer),
    );
    await resolveTo(["93.184.215.14"]);
    return new RemoteFacilitator(sdk);
  }

  /** Has the network settle here, and the service's requests arrive here. */
  async attach(fixture: SettlementFixture, facilitatorAuth: string | null = AUTH): Promise<void> {
    const { caip2 } = fixture.x402;
    const change = { caip2Id: caip2, facilitatorUrl: `${URL_OF_IT}/`, facilitatorAuth };
    await expectOk(await api("/x402/networks", change));
    fixture.remote = { url: URL_OF_IT, serve: (input, init) => this.#serve(input, init) };
    fixture.onRpc(({ forward }) => forward());
  }

  countOf(operation: string): number {
    return this.got.filter((one) => one.operation === operation).length;
  }

  async #serve(input: RequestInfo | URL, init?: RequestInit): Promise<Response> {
    const operation = String(input).slice(URL_OF_IT.length + 1);
    const authorization = new Headers(init?.headers).get("authorization");
    this.got.push({ operation, authorization });
    const { paymentPayload, paymentRequirements } = JSON.parse(String(init?.body)) as {
      paymentPayload: Payment[0];
      paymentRequirements: Payment[1];
    };
    const settle = () =>
      operation === "verify"
        ? this.#sdk.verify(paymentPayload, paymentRequirements)
        : this.#sdk.settle(paymentPayload, paymentRequirements);
    const answer = this.handle({ operation, authorization, settle });
    const { signal } = init ?? {};
    const aborted = new Promise<never>((_, reject) => {
      signal?.addEventListener("abort", () => reject(signal.reason));
    });
    return Response.json(await Promise.race([answer, aborted]));
  }
}

/** Sets what the name resolves to. */
export async function resolveTo(answer: string[], name = HOST): Promise<void> {
  const { origin } = new URL(env.DNS_OVER_HTTPS_URL ?? "");
  const body = JSON.stringify({ name, answer });
  await realFetch(`${origin}/_control`, { method: "POST", body });
}
