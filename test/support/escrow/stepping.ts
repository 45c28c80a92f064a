import { env } from "cloudflare:workers";
import type { PaymentSourceType } from "../../../src/chain/network.ts";
import { db } from "../../../src/db/client.ts";
import { ChangeSet } from "../../../src/escrow/fold/changes.ts";
import { writeChanges } from "../../../src/escrow/fold/write-changes.ts";
import type { EscrowRecord, Side } from "../../../src/escrow/record.ts";
import { ASKED, type AskedName } from "../../../src/escrow/steps/asked.ts";
import { BuyDesk, storedRecords } from "./buying.ts";
import type { Shown } from "./quoting.ts";

export const RESULT = "ab".repeat(32);

/** What is said of a record to put it into a state. */
export interface Put {
  state?: Partial<EscrowRecord["state"]>;
  terms?: Partial<EscrowRecord["terms"]>;
  wanted?: Partial<EscrowRecord["wanted"]>;
}

/** A service on whose chain an escrow is locked, with both of its sides, and what is asked of them. */
export class StepDesk {
  readonly buying: BuyDesk;
  readonly identifier: string;

  private constructor(buying: BuyDesk, identifier: string) {
    this.buying = buying;
    this.identifier = identifier;
  }

  static async open(type: PaymentSourceType, overrides: object = {}): Promise<StepDesk> {
    const buying = await BuyDesk.open(type);
    const { blockchainIdentifier } = await buying.buy({ ...overrides });
    await buying.work();
    await buying.sync();
    return new StepDesk(buying, blockchainIdentifier);
  }

  /** Asks for a step by the API. */
  ask(name: AskedName, more: Record<string, unknown> = {}, headers: Record<string, string> = {}) {
    const body = {
      network: "Preprod",
      blockchainIdentifier: this.identifier,
      ...(name === "submit-result" && { submitResultHash: RESULT }),
      ...more,
    };
    const { desk } = this.buying;
    return desk.ask<Shown>("POST", `/${ASKED[name].side}/${name}`, body, headers);
  }

  /** Asks for a step, and lets the wallet take it and the chain show it. */
  async take(name: AskedName): Promise<void> {
    const { status, message } = await this.ask(name);
    if (status !== 200) throw new Error(`${name}: ${message}`);
    await this.act(ASKED[name].side);
  }

  /** Lets the wallet of a side do what is due, until the chain shows it. */
  async act(side: Side): Promise<void> {
    const { buying } = this;
    await buying.desk.skipPauses();
    if (side === "purchase") await buying.work();
    else await buying.desk.work();
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
      wanted: { ...record.wanted, ...put.wanted },
    });
    await db(env).batch(writeChanges(changes, { sourceId, network }));
  }
}
