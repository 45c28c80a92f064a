import { toFacilitatorEvmSigner } from "@x402/evm";
import { ExactEvmScheme } from "@x402/evm/exact/facilitator";
import { ExactEvmSchemeV1 } from "@x402/evm/exact/v1/facilitator";
import { UptoEvmScheme } from "@x402/evm/upto/facilitator";
import { createWalletClient, http, publicActions } from "viem";
import { generatePrivateKey, privateKeyToAccount } from "viem/accounts";
import { call } from "../../support/app.ts";
import { type Version, version1Body } from "../version-1.ts";
import { type Payload, X402Fixture } from "../x402-fixture.ts";

/** One payment, and the terms it is held against. */
export interface Case {
  payload: Payload;
  requirements: Payload["accepted"];
}

/** What spoils a payment. */
export type Spoil = (value: Case) => Case | Promise<Case>;

type Method = "eip3009" | "permit2";
type Buyer = Awaited<ReturnType<X402Fixture["buyer"]>>;

export const AMOUNT = "10000";
/** An address that no payment names. */
export const OTHER = `0x${"12".repeat(20)}` as const;

/** Unix seconds. */
export const now = () => Math.floor(Date.now() / 1000);

/** The same hex but for one digit. */
export const flip = (hex: string) =>
  `${hex.slice(0, 20)}${hex[20] === "0" ? "1" : "0"}${hex.slice(21)}`;

/** The SDK's facilitator and ours, who judge the same payments on the same node. */
export class Judges {
  readonly x402: X402Fixture;
  readonly buyer: Buyer;
  readonly source: Awaited<ReturnType<X402Fixture["source"]>>;
  /** A resource of the scheme `upto`. */
  readonly uptoSource: Judges["source"];
  readonly #sdk: SdkFacilitators;

  private constructor(
    x402: X402Fixture,
    buyer: Buyer,
    source: Judges["source"],
    uptoSource: Judges["source"],
    sdk: SdkFacilitators,
  ) {
    this.x402 = x402;
    this.buyer = buyer;
    this.source = source;
    this.uptoSource = uptoSource;
    this.#sdk = sdk;
  }

  /** @param name - of the node; see `X402Fixture.create` */
  static async open(name: string): Promise<Judges> {
    const x402 = await X402Fixture.create(name);
    const source = await x402.source({ amount: AMOUNT });
    const uptoSource = await x402.source({ amount: AMOUNT, scheme: "upto" });
    return new Judges(x402, await x402.buyer(), source, uptoSource, await sdkFacilitator(x402));
  }

  /** A payment that nothing is wrong with. */
  async fresh(method: Method, by = this.buyer): Promise<Case> {
    const payload = await this.x402.payment(by, this.source, method);
    return { payload, requirements: this.source.requirements };
  }

  /** A payment of the scheme `upto` that nothing is wrong with. */
  async freshUpto(by = this.buyer): Promise<Case> {
    const payload = await this.x402.payment(by, this.uptoSource);
    return { payload, requirements: this.uptoSource.requirements };
  }

  /** A payment that was really signed for other terms than those it is held against. */
  signedFor(method: Method, changes: Record<string, unknown>): Spoil {
    return async ({ requirements }) => {
      const other = { ...this.source, requirements: { ...requirements, ...changes } };
      const payload = await this.x402.payment(this.buyer, other, method);
      return { payload: { ...payload, accepted: requirements }, requirements };
    };
  }

  async verdicts({ payload, requirements }: Case, version: Version = 2) {
    const body =
      version === 1
        ? version1Body(payload, requirements)
        : { x402Version: 2, paymentPayload: payload, paymentRequirements: requirements };
    const scheme = requirements.scheme === "upto" ? this.#sdk.upto : this.#sdk[version];
    const theirs = await scheme
      .verify(body.paymentPayload as never, body.paymentRequirements as never)
      .then(({ isValid, invalidReason }) => ({ isValid, reason: invalidReason ?? null }))
      .catch((error: unknown) => ({
        isValid: false,
        reason: `throws ${String(error).slice(0, 40)}`,
      }));
    const init = { method: "POST", body: JSON.stringify(body) };
    const answer = await call("/api/v1/x402/facilitator/verify", init);
    const ours = (await answer.json()) as { isValid: boolean; invalidReason?: string };
    return { theirs, ours: { isValid: ours.isValid, reason: ours.invalidReason ?? null } };
  }
}

type SdkFacilitators = Awaited<ReturnType<typeof sdkFacilitator>>;

/**
 * The SDK's facilitator of each version, with a separate wallet. That of `upto` has our wallet's address,
 * which payers name.
 */
async function sdkFacilitator(x402: X402Fixture) {
  const account = privateKeyToAccount(generatePrivateKey());
  await x402.fund(account.address);
  const chain = {
    id: x402.contracts.chainId,
    name: "local",
    nativeCurrency: { name: "Ether", symbol: "ETH", decimals: 18 },
    rpcUrls: { default: { http: [x402.url] } },
  };
  const client = createWalletClient({ account, chain, transport: http(x402.url) }).extend(
    publicActions,
  );
  const signer = toFacilitatorEvmSigner({ ...client, address: account.address } as never);
  const config = { eip6492AllowedFactories: [x402.contracts.walletFactory] };
  const named = toFacilitatorEvmSigner({ ...client, address: x402.facilitator.address } as never);
  return {
    1: new ExactEvmSchemeV1(signer, config),
    2: new ExactEvmScheme(signer, config),
    upto: new UptoEvmScheme({
      ...named,
      // The proxy takes a call of the named facilitator alone.
      readContract: (call) =>
        client.readContract({ ...call, account: x402.facilitator.address } as never),
    }),
  };
}

/** Changes what the payer signed, so that the signature no longer fits. */
export const signed =
  (changes: Record<string, unknown>): Spoil =>
  ({ payload, requirements }) => {
    const key = "authorization" in payload.payload ? "authorization" : "permit2Authorization";
    const inner = { ...(payload.payload[key] as object), ...changes };
    return { requirements, payload: { ...payload, payload: { ...payload.payload, [key]: inner } } };
  };

export const terms =
  (changes: Record<string, unknown>): Spoil =>
  ({ payload, requirements }) => ({ payload, requirements: { ...requirements, ...changes } });

export const agreed =
  (changes: Record<string, unknown>): Spoil =>
  ({ payload, requirements }) => ({
    payload: { ...payload, accepted: { ...payload.accepted, ...changes } },
    requirements,
  });

export const signature =
  (change: (hex: string) => string): Spoil =>
  ({ payload, requirements }) => ({
    payload: {
      ...payload,
      payload: { ...payload.payload, signature: change(String(payload.payload.signature)) },
    },
    requirements,
  });
