/** Buyers and sellers: whole lives of escrows, transfers, agents and x402 payments, drawn from the seed. */
import { signCoseSign1 } from "../../src/chain/cose.ts";
import { hexToBytes } from "../../src/chain/hex.ts";
import { type ApiAccess, ask, Refused } from "../client/api.ts";
import { until } from "../client/wait.ts";
import { ADMIN, CASTS } from "../demo/actors/wallets.ts";
import { type AskedStep, askStep, type Bought, buyJob, type Shop } from "../demo/trade.ts";
import { buy, createPayer, type PayerAccess } from "../demo/x402/buyer.ts";
import { register, registered, type Transferred, transfer } from "../drills/trader.ts";
import type { Seeded } from "../seeded.ts";
import type { Post } from "./caller.ts";
import type { Deployment } from "./deployment.ts";
import type { ServiceLevels } from "./service-levels.ts";
import { answerQuotes, buyWithTools } from "./tool-buyer.ts";
import { buyInVersion1 } from "./version-1-shop.ts";

/** What the parties of an escrow ask for, in order; the service does the rest. */
const LIVES: Record<string, readonly (AskedStep | "settle")[]> = {
  sold: ["deliver"],
  lapsed: [],
  refunded: ["request-refund"],
  authorized: ["deliver", "request-refund", "authorize-refund"],
  "taken back": ["request-refund", "cancel-refund", "deliver"],
  disputed: ["deliver", "request-refund", "settle"],
};
/** Most sales go well. */
const DRAWN = ["sold", "sold", "sold", ...Object.keys(LIVES)];
const OPERATORS = 10;
/** Those that are registered before the load begins; the others follow under the load. */
const FIRST_AGENTS = 4;
const AGENTS = 50;
const REGISTER_EVERY_S = 15;
/** The registry's source has the agents of one contract. */
const LISTED = "Web3ChainV1";
/** Of the purchases of listed agents, those that an agent makes with the tools of MCP. */
const SHARE_WITH_TOOLS = 0.3;
/** The times of a job are later, so that a wallet may miss a minute of real time. */
const EXTRA_MINUTES = 20;
const MINUTE_MS = 60_000;
/** A budget pays for a hundred. */
const PAYMENTS_PER_PAYER = 90;
const SETTLED_TO_BUYER = 2_000_000n;

interface Key extends ApiAccess {
  id: string;
}

/** An escrow that somebody has bought. */
export interface Trade extends Bought {
  life: string;
  /** Steps that are not asked for yet. */
  steps: (AskedStep | "settle")[];
  /** When its purchase was accepted, epoch milliseconds. */
  boughtAt: number;
}

export class Traders {
  readonly trades: Trade[] = [];
  readonly transferred: Transferred[] = [];
  /** Payments over x402 that the buyer has the goods of. */
  paid = 0;
  readonly errors: string[] = [];
  readonly #deployment: Deployment;
  readonly #seeded: Seeded;
  readonly #post: Post;
  readonly #levels: ServiceLevels;
  /** By their places at the agents' server. */
  readonly #shops = new Map<string, Shop>();
  /** Identifiers of the agents that the registry has. */
  readonly #listed = new Set<string>();
  /** Names of the agents that were asked for. */
  readonly agents: string[] = [];
  readonly #keys: Key[] = [];
  #payer: PayerAccess | null = null;
  #payments = 0;
  readonly #running = new Set<Promise<void>>();

  constructor(deployment: Deployment, seeded: Seeded, post: Post, levels: ServiceLevels) {
    this.#deployment = deployment;
    this.#seeded = seeded;
    this.#post = post;
    this.#levels = levels;
  }

  /** Makes the operators' keys and registers the first agents. */
  async open(): Promise<void> {
    const { admin } = this.#deployment;
    for (let i = 0; i < OPERATORS; i++) this.#keys.push(await this.#createKey());
    await Promise.all(Array.from({ length: FIRST_AGENTS }, () => this.#openShop()));
    const { agents, chain } = this.#deployment;
    answerQuotes(
      agents,
      admin,
      (agent) => this.#shops.get(agent)?.agentIdentifier,
      () => chain.now() + EXTRA_MINUTES * MINUTE_MS,
    );
    if (this.#deployment.evm) this.#payer = await createPayer(admin, this.#deployment.evm);
  }

  /** Replaces an operator's key. */
  async rotateKey(): Promise<void> {
    const place = this.#seeded.between(0, this.#keys.length - 1);
    const body = { id: this.#keys[place]?.id, status: "Revoked" };
    this.#keys[place] = await this.#createKey();
    await this.#post(this.#deployment.admin, "PATCH", "/api-key", body);
  }

  /** What a second of load is. @param intensity - purchases a second */
  second(second: number, intensity: number): void {
    if (second % REGISTER_EVERY_S === 0 && this.agents.length < AGENTS)
      this.#run("registration", () => this.#openShop());
    if (this.#seeded.happens(intensity)) this.#run("purchase", () => this.#purchase());
    if (this.#seeded.happens(intensity / 4)) this.#run("transfer", () => this.#transfer());
    if (this.#seeded.happens(intensity)) this.#run("x402", () => this.#pay());
  }

  /** Asks for the next step of each escrow. A step that is too early, or too late, is refused. */
  async step(): Promise<void> {
    for (const trade of this.trades) {
      const [step] = trade.steps;
      if (step === undefined) continue;
      try {
        if (await this.#isAccepted(step, trade)) trade.steps.shift();
      } catch (error) {
        this.#note(`${step}`, error);
      }
    }
  }

  /** Resolves when no request is under way. */
  async rest(): Promise<void> {
    await Promise.all(this.#running);
  }

  #run(what: string, work: () => Promise<void>): void {
    const running = work().catch((error: unknown) => this.#note(what, error));
    this.#running.add(running);
    running.finally(() => this.#running.delete(running));
  }

  #note(what: string, error: unknown): void {
    this.errors.push(`${what}: ${error instanceof Error ? error.message : error}`);
  }

  async #createKey(): Promise<Key> {
    const { admin } = this.#deployment;
    const body = { canPay: true };
    const key = await this.#post<{ id: string; token: string }>(admin, "POST", "/api-key", body);
    return { id: key.id, token: key.token, url: admin.url };
  }

  /** Registers the next agent, of the next source and wallet. */
  async #openShop(): Promise<void> {
    const { admin, agents } = this.#deployment;
    const number = this.agents.length;
    const types = Object.keys(CASTS) as (keyof typeof CASTS)[];
    const paymentSourceType = types[number % types.length] ?? "Web3ChainV2";
    const { sellers } = CASTS[paymentSourceType];
    const seller = sellers[Math.floor(number / types.length) % sellers.length];
    if (!seller) throw new Error("there is no seller");
    const name = `agent-${number}`;
    this.agents.push(name);
    const { id } = await register(admin, seller, name, agents.url, this.#post);
    const look = () => registered(admin, id).catch(() => null);
    const agentIdentifier = await until(look, { what: name });
    this.#shops.set(name, { agentIdentifier, paymentSourceType });
    if (paymentSourceType !== LISTED) return;
    const path = `/payment-information?agentIdentifier=${agentIdentifier}`;
    const isListed = () => ask(admin, "GET", path).catch(() => null);
    await until(isListed, { what: `${name} in the registry` });
    this.#listed.add(agentIdentifier);
  }

  async #purchase(): Promise<void> {
    const [shop, key] = [
      this.#seeded.pick([...this.#shops.values()]),
      this.#seeded.pick(this.#keys),
    ];
    const life = this.#seeded.pick(
      // Administrators of Web3ChainV1 sign a transaction of half a day later.
      shop.paymentSourceType === "Web3ChainV1" ? DRAWN.filter((one) => one !== "disputed") : DRAWN,
    );
    const { chain } = this.#deployment;
    if (this.#listed.has(shop.agentIdentifier) && this.#seeded.happens(SHARE_WITH_TOOLS)) {
      const { blockchainIdentifier } = await buyWithTools(key, shop.agentIdentifier);
      const trade = { blockchainIdentifier, body: {}, life: "with tools" };
      this.trades.push({ ...trade, steps: ["deliver"], boughtAt: Date.now() });
      return;
    }
    const aheadMinutes = (chain.now() - Date.now()) / MINUTE_MS + EXTRA_MINUTES;
    const bought = await buyJob(key, shop, this.#post, aheadMinutes);
    const steps = [...(LIVES[life] ?? [])];
    this.trades.push({ ...bought, life, steps, boughtAt: Date.now() });
  }

  async #transfer(): Promise<void> {
    const buyers = Object.values(CASTS).flatMap((cast) => cast.buyers);
    const buyer = this.#seeded.pick(buyers);
    this.transferred.push(await transfer(this.#deployment.admin, { buyer }, this.#post));
  }

  async #pay(): Promise<void> {
    const { admin, evm, resource, oldResource } = this.#deployment;
    if (!evm || !resource || !oldResource || !this.#payer) return;
    if (++this.#payments % PAYMENTS_PER_PAYER === 0) this.#payer = await createPayer(admin, evm);
    const begun = Date.now();
    const way = this.#seeded.pick(["eip3009", "permit2", "version 1"] as const);
    if (way === "version 1") await buyInVersion1(oldResource.url, this.#payer);
    else await buy(resource.url, this.#payer, way);
    this.paid++;
    this.#levels.add("settle", begun, Date.now());
  }

  async #isAccepted(step: AskedStep | "settle", trade: Trade): Promise<boolean> {
    const { admin } = this.#deployment;
    return step === "settle" ? this.#settle(trade) : askStep(admin, step, trade, this.#post);
  }

  /** Divides what a dispute is about, as its administrators agree. */
  async #settle({ blockchainIdentifier }: Trade): Promise<boolean> {
    const { admin } = this.#deployment;
    const network = "Preprod";
    const { Disputes } = await this.#post<{
      Disputes: { blockchainIdentifier: string; Funds: { amount: string }[] }[];
    }>(admin, "GET", `/dispute?network=${network}&limit=100`);
    const funds = Disputes.find((one) => one.blockchainIdentifier === blockchainIdentifier)?.Funds;
    if (!funds?.[0]) return false;
    const native = (amount: bigint) => [{ unit: "", amount: String(amount) }];
    try {
      const body = {
        ...{ network, blockchainIdentifier, BuyerFunds: native(SETTLED_TO_BUYER) },
        SellerFunds: native(BigInt(funds[0].amount) - SETTLED_TO_BUYER),
      };
      const path = "/dispute/proposal";
      const proposal = await this.#post<{ id: string; message: string }>(admin, "POST", path, body);
      const signed = signCoseSign1(hexToBytes(proposal.message), ADMIN.keys);
      const signature = { network, proposalId: proposal.id, ...signed };
      await this.#post(admin, "POST", "/dispute/signature", signature);
      return true;
    } catch (error) {
      if (error instanceof Refused && error.status === 409) return false;
      throw error;
    }
  }
}
