import { env } from "cloudflare:workers";
import type { PaymentSourceType } from "../../../src/chain/network.ts";
import { openDb } from "../../../src/db/client.ts";
import type { EscrowRecord, Side } from "../../../src/escrow/model/escrow-record.ts";
import { API_STEPS, type ApiStepName } from "../../../src/escrow/steps/validate-step.ts";
import { ChangeSet } from "../../../src/escrow/store/change-set.ts";
import { writeChanges } from "../../../src/escrow/store/write-changes.ts";
import { PaymentSourceFixture, storedRecords } from "./payment-source-fixture.ts";
import type { Shown } from "./quote-fixture.ts";

export const RESULT = "ab".repeat(32);

/** What is said of a record to put it into a state. */
export interface Put {
  state?: Partial<EscrowRecord["state"]>;
  terms?: Partial<EscrowRecord["terms"]>;
  progress?: Partial<EscrowRecord["progress"]>;
}

/** A service on whose chain an escrow is locked, with both of its sides, and what is asked of them. */
export class StepFixture {
  readonly buying: PaymentSourceFixture;
  readonly identifier: string;

  private constructor(buying: PaymentSourceFixture, identifier: string) {
    this.buying = buying;
    this.identifier = identifier;
  }

  static async open(type: PaymentSourceType, overrides: object = {}): Promise<StepFixture> {
    const buying = await PaymentSourceFixture.open(type);
    const { blockchainIdentifier } = await buying.buy({ ...overrides });
    await buying.work();
    await buying.sync();
    return new StepFixture(buying, blockchainIdentifier);
  }

  /** Asks for a step by the API. */
  ask(name: ApiStepName, more: Record<string, unknown> = {}, headers: Record<string, string> = {}) {
    const body = {
      network: "Preprod",
      blockchainIdentifier: this.identifier,
      ...(name === "submit-result" && { submitResultHash: RESULT }),
      ...more,
    };
    const { fixture } = this.buying;
    return fixture.ask<Shown>("POST", `/${API_STEPS[name].side}/${name}`, body, headers);
  }

  /** Asks for a step, and lets the wallet take it and the chain show it. */
  async take(name: ApiStepName): Promise<void> {
    const { status, message } = await this.ask(name);
    if (status !== 200) throw new Error(`${name}: ${message}`);
    await this.act(API_STEPS[name].side);
  }

  /** Lets the wallet of a side do what is due, until the chain shows it. */
  async act(side: Side): Promise<void> {
    const { buying } = this;
    await buying.fixture.skipPauses();
    if (side === "purchase") await buying.work();
    else await buying.fixture.work();
    await buying.sync();
  }

  /** Moves the chain's clock. */
  async later(ms: number): Promise<void> {
    await this.buying.chain.advance(ms);
    await this.buying.chain.mine();
  }

  /** The state of both sides, which is one. */
  async state(): Promise<string | null> {
    const [payment, purchase] = [
      await this.buying.only("payment"),
      await this.buying.only("purchase"),
    ];
    if (payment.onChainState !== purchase.onChainState)
      throw new Error(`${payment.onChainState} and ${purchase.onChainState}`);
    return payment.onChainState;
  }

  /** Writes a record as if the chain, a request or a wallet had. */
  async put(side: Side, put: Put): Promise<void> {
    const [record] = await storedRecords(side);
    if (!record) throw new Error(`there is no ${side}`);
    const { sourceId, network } = record;
    Object.assign(record.terms, put.terms);
    const changes = new ChangeSet([record], Date.now(), 0);
    changes.rewind(record, {
      state: { ...record.state, ...put.state },
      output: record.output,
      progress: { ...record.progress, ...put.progress },
    });
    await openDb(env).batch(writeChanges(changes, { sourceId, network }));
  }
}
