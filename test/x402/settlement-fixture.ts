import { runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { type Hex, pad, toEventSelector } from "viem";
import { afterAll, expect, vi } from "vitest";
import type { Env } from "../../src/env.ts";
import { readAuthorization, toAuthorizationKey } from "../../src/x402/evm/authorization.ts";
import { app, call } from "../support/app.ts";
import { type Around, wrapD1 } from "../support/d1.ts";
import { withPermit } from "./sign-permit.ts";
import { toSettleEnvelope, type Version, version1Body } from "./version-1.ts";
import {
  api,
  type Envelope,
  type Payload,
  type SettleData,
  settle,
  untilDecided,
  X402Fixture,
} from "./x402-fixture.ts";

type Source = Awaited<ReturnType<X402Fixture["source"]>>;
type Buyer = Awaited<ReturnType<X402Fixture["buyer"]>>;

/** A payment attempt as GET /x402/payments shows it. */
export interface Attempt {
  id: string;
  apiKeyId: string | null;
  status: string;
  payTo: string;
  paymentPayloadHash: string;
  paymentIdentifier: string | null;
  errorReason: string | null;
  Settlement: { success: boolean; txHash: string } | null;
}

/** A payment whose payer does not wait for long. */
export interface Impatience {
  method?: "eip3009" | "permit2";
  terms?: Record<string, unknown>;
  extensions?: Record<string, unknown>;
  /** Whether the node makes a block of each transaction. It does unless told otherwise. */
  isMining?: boolean;
}

/** A JSON-RPC request to the node, as the service sends it. */
export interface Sent {
  methods: string[];
  body: string;
  forward: () => Promise<Response>;
}

const TRANSFER = toEventSelector("Transfer(address,address,uint256)");
/** Seconds: twice that is longer than the service waits for anybody. */
export const MAX_WAIT_S = 16;
const realFetch = globalThis.fetch;

/** Whether a request brings a transaction to the node. */
export const broadcasts = ({ methods }: Sent) => methods.includes("eth_sendRawTransaction");
/** A node that cannot be reached. */
export const dead = () => Promise.reject(new TypeError("the node is gone"));

/** A call to the node, of one or of several in a request. */
export interface RpcCall {
  id: number;
  method: string;
  params: unknown[];
}

/**
 * Replaces some of the node's answers.
 *
 * @param lie - the answer to a call, given the true answer; `undefined` keeps the true one
 */
export async function answering(
  { body, forward }: Sent,
  lie: (call: RpcCall, truth: { result?: unknown }) => object | undefined,
): Promise<Response> {
  const calls = [JSON.parse(body) as RpcCall | RpcCall[]].flat();
  const answers = [await (await forward()).json()].flat() as { id: number; result?: unknown }[];
  const told = answers.map((answer) => {
    const call = calls.find(({ id }) => id === answer.id);
    const said = call && lie(call, answer);
    return said ? { jsonrpc: "2.0", id: answer.id, ...said } : answer;
  });
  return Response.json(body.startsWith("[") ? told : told[0]);
}

let versionOfFile: Version = 2;
/** Has the fixtures of a test file send their payments in a version of x402. */
export function sendInVersion(version: Version): void {
  versionOfFile = version;
  // Files of one worker share this module.
  afterAll(() => {
    versionOfFile = 2;
  });
}

type Scheme = "exact" | "upto";

let schemeOfFile: Scheme = "exact";
/**
 * Has the fixtures of a test file send payments of a scheme. Payers of `upto` sign twice of what they are
 * charged.
 */
export function sendInScheme(scheme: Scheme): void {
  schemeOfFile = scheme;
  afterAll(() => {
    schemeOfFile = "exact";
  });
}

let isSponsoredInFile = false;
/** Has the fixtures of a test file send payments of Permit2, whose payers approve it by permits alone. */
export function sendWithPermits(): void {
  isSponsoredInFile = true;
  afterAll(() => {
    isSponsoredInFile = false;
  });
}

/** Limits that no story reaches. */
const SPONSORING = { maxWeiPerPayer: `${10n ** 20n}`, maxWeiPerDay: `${10n ** 21n}` };

async function createBuyer(x402: X402Fixture): Promise<Buyer> {
  if (!isSponsoredInFile) return x402.buyer();
  const buyer = await x402.newcomer();
  // Stories have buyers move their tokens away.
  await x402.fund(buyer.address);
  return buyer;
}

async function sign(
  x402: X402Fixture,
  buyer: Buyer,
  source: Source,
  method?: "eip3009" | "permit2",
): Promise<Payload> {
  if (!isSponsoredInFile) return x402.payment(buyer, source, method);
  return withPermit(x402, buyer, await x402.payment(buyer, source, "permit2"));
}

/** Whether anybody may bring the file's payments to the chain. */
export const isForAnybody = () => schemeOfFile === "exact" && !isSponsoredInFile;

/** What Permit2 and `upto` call the reasons of EIP-3009. */
const UPTO_REASONS: Record<string, string> = {
  invalid_exact_evm_transaction_failed: "invalid_upto_evm_transaction_failed",
  invalid_exact_evm_payload_authorization_valid_before: "permit2_deadline_expired",
  invalid_exact_evm_insufficient_balance: "permit2_insufficient_balance",
};

/** The reason that the file's payments have in place of one of EIP-3009. */
export const reasonInScheme = (reason: string) =>
  schemeOfFile === "exact" && !isSponsoredInFile ? reason : (toPermit2Reason(reason) ?? reason);

function toPermit2Reason(reason: string): string | undefined {
  const isRevert = reason === "invalid_exact_evm_transaction_failed";
  return isRevert && schemeOfFile === "exact" ? reason : UPTO_REASONS[reason];
}

/** What is signed for a payment of `upto` that is charged `CHARGE`. */
const MAX_AMOUNT = "20000";
const CHARGE = "10000";

function sourceOf(x402: X402Fixture, terms: Record<string, unknown> = {}): Promise<Source> {
  const isUpto = schemeOfFile === "upto";
  return x402.source({ ...(isUpto && { scheme: "upto", amount: MAX_AMOUNT }), ...terms });
}

/** One payment that would settle, and what tests do to those who settle it. */
export class SettlementFixture {
  readonly x402: X402Fixture;
  readonly #buyer: Buyer;
  /** Who signed the last impatient payment. */
  impatientBuyer: Buyer | undefined;
  readonly #given: Version;
  /** Attempts of version 1 whose outcome comes with a repeat. */
  readonly #pending = new WeakMap<Payload, string>();
  source: Source;
  payment: Payload;
  /** Another facilitator, which settles in place of wallets. */
  remote: { url: string; serve: typeof fetch } | null = null;

  private constructor(
    x402: X402Fixture,
    version: Version,
    buyer: Buyer,
    source: Source,
    payment: Payload,
  ) {
    this.x402 = x402;
    this.#given = version;
    this.#buyer = buyer;
    this.source = source;
    this.payment = payment;
  }

  /** @param name - of the node; see `X402Fixture.create` */
  static async open(name: string): Promise<SettlementFixture> {
    return SettlementFixture.on(
      await X402Fixture.create(
        `${name}-v${versionOfFile}-${schemeOfFile}${isSponsoredInFile ? "-permit" : ""}`,
      ),
    );
  }

  static async on(x402: X402Fixture, version = versionOfFile): Promise<SettlementFixture> {
    if (isSponsoredInFile)
      await api("/x402/networks", { caip2Id: x402.caip2, gasSponsoring: SPONSORING });
    const [buyer, source] = [await createBuyer(x402), await sourceOf(x402)];
    const payment = await sign(x402, buyer, source);
    return new SettlementFixture(x402, version, buyer, source, payment);
  }

  /** Another payment to another payee; by default of the buyer who is not impatient. */
  async again(terms: Record<string, unknown> = {}, buyer = this.#buyer): Promise<void> {
    this.source = await sourceOf(this.x402, terms);
    this.payment = await sign(this.x402, buyer, this.source);
  }

  /** Sends the payment; in version 1, as a resource server that brings its own terms. */
  async settle(): Promise<Envelope<SettleData>> {
    if (this.#version === 2) return settle(this.source, this.payment, {}, this.#charge());
    const { payment } = this;
    const pending = this.#pending.get(payment);
    const answer = await call(this.#path, { method: "POST", body: this.#body() });
    const { data, ...rest } = await this.#toEnvelope(answer);
    if (data?.settleResponse.errorReason === "settlement_pending")
      this.#pending.set(payment, data.attemptId);
    const replay = data?.replay || data?.attemptId === pending;
    return { ...rest, data: data && { ...data, replay } };
  }

  /** A facilitator's answer has no id: that of the attempt, but for a repeat, which has its own. */
  async #toEnvelope(answer: Response): Promise<Envelope<SettleData>> {
    const { data, ...rest } = await toSettleEnvelope(answer);
    const [newest] = !data || data.replay ? [] : await this.attempts();
    return { ...rest, data: data && { ...data, attemptId: newest?.id ?? "" } };
  }

  /** Sends the payment for a caller that may hang up. */
  settleFor(signal: AbortSignal): Promise<Response> {
    return call(this.#path, { method: "POST", body: this.#body(), signal });
  }

  /** Sends the payment to a Worker that has something else in place of what it is bound to. */
  async settleOn(bindings: Partial<Env>): Promise<{ status: number; data: SettleData }> {
    const headers = { token: env.ADMIN_KEY ?? "" };
    const request = { method: "POST", body: this.#body(), headers };
    const response = await app.request(this.#path, request, { ...env, ...bindings });
    if (this.#version === 1) return this.#toEnvelope(response);
    const { data } = (await response.json()) as { data: SettleData };
    return { status: response.status, data };
  }

  /** Version of x402 in which the payment is sent: only version 2 has Permit2. */
  get #version(): Version {
    return "permit2Authorization" in this.payment.payload ? 2 : this.#given;
  }

  get #path(): string {
    return `/api/v1/x402/${this.#version === 1 ? "facilitator/settle" : "settle"}`;
  }

  #body(): string {
    const { source, payment } = this;
    if (this.#version === 1) return JSON.stringify(version1Body(payment));
    const body = { supportedPaymentSourceId: source.id, paymentPayload: payment };
    return JSON.stringify({ ...body, ...this.#charge() });
  }

  #charge(): { amount?: string } {
    return this.source.requirements.amount === MAX_AMOUNT ? { amount: CHARGE } : {};
  }

  /** Puts something between the service and its node, until `vi.unstubAllGlobals()`. */
  onRpc(handle: (sent: Sent) => Promise<Response>): void {
    vi.stubGlobal("fetch", (input: RequestInfo | URL, init?: RequestInit) => {
      const { remote } = this;
      if (remote && String(input).startsWith(remote.url)) {
        const body = String(init?.body);
        return handle({ methods: ["facilitator"], body, forward: () => remote.serve(input, init) });
      }
      const forward = () => realFetch(input, init);
      if (!String(input).startsWith(this.x402.url)) return forward();
      const body = String(init?.body);
      const calls = JSON.parse(body) as { method: string } | { method: string }[];
      return handle({ methods: [calls].flat().map(({ method }) => method), body, forward });
    });
  }

  get payer(): string {
    return readAuthorization(this.payment.payload).from;
  }

  /** The objects that settle the payment. */
  objects() {
    const { PAYMENT_PAYLOAD, FACILITATOR_WALLET } = env;
    const { caip2, facilitator } = this.x402;
    const authorization = readAuthorization(this.payment.payload);
    const claim = toAuthorizationKey(caip2, this.source.requirements.asset, authorization);
    const wallet = FACILITATOR_WALLET.idFromName(`${caip2}:${facilitator.address}`);
    return {
      wallet: FACILITATOR_WALLET.get(wallet),
      payment: PAYMENT_PAYLOAD.get(PAYMENT_PAYLOAD.idFromName(claim)),
    };
  }

  /** Puts something between the objects that live now and their database. */
  async onDatabase(around: Around): Promise<void> {
    for (const object of Object.values(this.objects()))
      await runInDurableObject(object, (instance) => {
        const value = { ...env, DB: wrapD1(env.DB, around) };
        Object.defineProperty(instance, "env", { value, configurable: true });
      });
  }

  /** Fires the alarms that are set, as time would. */
  async fireAlarms(): Promise<void> {
    const { wallet, payment } = this.objects();
    await runDurableObjectAlarm(wallet);
    await runDurableObjectAlarm(payment);
  }

  /** A payment that is valid for five minutes, of which its payer waits some seconds. */
  async beImpatient({ method, terms, extensions }: Impatience = {}, seconds = 1): Promise<void> {
    this.source = await sourceOf(this.x402, { maxTimeoutSeconds: seconds, ...terms });
    const { requirements } = this.source;
    const long = { ...this.source, requirements: { ...requirements, maxTimeoutSeconds: 300 } };
    this.impatientBuyer = await createBuyer(this.x402);
    const signed = await sign(this.x402, this.impatientBuyer, long, method);
    const extended = { ...signed.extensions, ...extensions };
    this.payment = {
      ...signed,
      accepted: requirements,
      ...((signed.extensions || extensions) && { extensions: extended }),
    };
  }

  /**
   * Settles another payment whose payer stops waiting after the wallet has signed. On a busy machine
   * another payer waits twice as long.
   *
   * @param settle - sends the payment
   * @param signed - the hash in an answer; empty while nothing was signed
   */
  async impatiently<Answer>(
    settle: () => Promise<Answer>,
    signed: (answer: Answer) => string | undefined,
    how: Impatience = {},
  ): Promise<Answer> {
    for (let seconds = 1; ; seconds *= 2) {
      await this.x402.rpc("evm_setAutomine", true);
      await this.beImpatient(how, seconds);
      await this.x402.rpc("evm_setAutomine", how.isMining ?? true);
      const answer = await settle();
      if (signed(answer) !== "" || seconds >= MAX_WAIT_S) return answer;
    }
  }

  /** Settles another payment, whose payer gives up waiting once it was signed. */
  settleImpatiently(how: Impatience = {}): Promise<Envelope<SettleData>> {
    return this.impatiently(
      () => this.settle(),
      // A busy machine may have had no time to sign, which is a 504.
      ({ data }) => data?.settleResponse.transaction ?? "",
      how,
    );
  }

  /** Sends the payment until it is decided. */
  settleDecided(): Promise<Envelope<SettleData>> {
    return untilDecided(() => this.settle());
  }

  /** Settles another payment while no block is made, until its payer gives up waiting. */
  async settlePending(how: Impatience = {}): Promise<SettleData> {
    const answer = await this.settleImpatiently({ ...how, isMining: false });
    expect(answer).toMatchObject({ status: 200, data: { settleResponse: PENDING } });
    expect(answer.headers.get("retry-after")).toMatch(/^\d+$/);
    return answer.data;
  }

  /** Attempts to settle the payment, newest first, without those that only repeat the answer. */
  async attempts(): Promise<Attempt[]> {
    const { data } = await api<{ PaymentAttempts: Attempt[] }>(
      "/x402/payments?direction=InboundSettle&take=100",
    );
    return data.PaymentAttempts.filter(
      ({ status, payTo }) => status !== "Replayed" && payTo === this.source.payTo,
    );
  }

  /** Kinds of the events about the payment's attempts, oldest first. */
  async events(): Promise<string[]> {
    const { results } = await env.DB.prepare(
      `SELECT kind FROM event JOIN x402_payment_attempt AS attempt ON attempt.id = record_id
       WHERE attempt.pay_to = ? ORDER BY event.created_at, event.sequence`,
    )
      .bind(this.source.payTo)
      .all<{ kind: string }>();
    return results.map(({ kind }) => kind);
  }

  /** Hashes of the transactions in which the payee got something. */
  async paidIn(): Promise<string[]> {
    const { asset } = this.source.requirements;
    const topics = [TRANSFER, null, pad(this.source.payTo as Hex)];
    const filter = { address: asset, topics, fromBlock: "0x0" };
    const logs = await this.x402.rpc<{ transactionHash: string }[]>("eth_getLogs", filter);
    return logs.map(({ transactionHash }) => transactionHash);
  }

  /**
   * The end of most stories: the payee was paid once, and every book says so.
   *
   * @param earlier - events that came before that of the settlement
   */
  async expectSettledOnce(earlier: string[] = []): Promise<void> {
    const { status, message, data } = await this.settleDecided();
    expect({ status, message }).toEqual({ status: 200, message: "" });
    expect(data.settleResponse, JSON.stringify(data)).toMatchObject({ success: true });
    await this.fireAlarms();
    const txHash = data.settleResponse.transaction;
    expect(await this.paidIn()).toEqual([txHash]);
    expect(await this.x402.balance(this.source.payTo)).toBe(10_000n);
    const attempts = await this.attempts();
    const settled = attempts.filter(({ status }) => status === "Settled");
    expect(settled).toMatchObject([{ Settlement: { success: true, txHash } }]);
    const events = await this.events();
    expect(events, JSON.stringify(attempts)).toEqual([...earlier, "X402_PAYMENT_SETTLED"]);
  }

  /** The other end: no money moved, and every book says so. */
  async expectFailedOnce(errorReason: string): Promise<Attempt | undefined> {
    expect(await this.paidIn()).toEqual([]);
    const attempts = await this.attempts();
    expect(attempts).toMatchObject([
      { status: "Failed", errorReason: reasonInScheme(errorReason) },
    ]);
    expect(attempts[0]?.Settlement?.success ?? false).toBe(false);
    return attempts[0];
  }
}

const PENDING = {
  success: false,
  errorReason: "settlement_pending",
  transaction: expect.stringMatching(/^0x[0-9a-f]{64}$/),
};
