import type { PaymentSourceType } from "../../../src/chain/network.ts";
import { hashIdentifier } from "../../../src/escrow/model/escrow-record.ts";
import { STEPS } from "../../../src/escrow/model/intent.ts";
import { API_STEPS, type ApiStepName } from "../../../src/escrow/steps/validate-step.ts";
import type { SubmitFault } from "../ledger.ts";
import type { Faults } from "../process-faults.ts";
import { identifierHashOf, leftBehind } from "./checks.ts";
import { propose, sign, withdraw } from "./disputes.ts";
import { type Change, oddly, withMore } from "./odd-locks.ts";
import { BLOCK_MS, isOver, isWatching, lastTimeOf, pauseOf, timesOf } from "./pace.ts";
import { QUOTES, SHELF } from "./quotes.ts";
import { Service } from "./service.ts";
import { faultsOf, type StoryAction } from "./story-actions.ts";
import { failScript, lockByHand, STRANGERS_FUNDS, settleByHand, stepByHand } from "./strangers.ts";
import { MINUTE, PARTIES, type Party } from "./terms.ts";
import { receive, receivePlenty } from "./tokens.ts";
import { wronglyMarked } from "./wallets.ts";
import { wrongIn } from "./wrong.ts";

/** Chain time in which everything has to come to its end, once the last deadline is over. */
const SETTLES_MS = 2 * 60 * MINUTE;
/** Blocks above which nothing is undone any more, and some. */
const FINAL_BLOCKS = 25;
const SUBMIT_FAULTS: readonly SubmitFault[] = ["lostBefore", "lostAfter", "busy"];
const NAMES = Object.keys(API_STEPS) as ApiStepName[];
const SIDES = ["payment", "purchase"] as const;
const PARTY_NAMES = Object.keys(PARTIES) as Party[];

const of = <Value>(values: readonly Value[], n: number): Value => {
  const value = values[n % values.length];
  if (value === undefined) throw new RangeError("nothing to choose from");
  return value;
};

/** The story of up to six escrows, from an empty beginning to a good end. */
export class Story {
  readonly #service: Service;
  readonly #setTime: (now: number) => void;
  /** Hashes of the identifiers whose escrows others may have moved. */
  readonly #moved = new Set<string>();
  /** Whether the database was set back at any time. */
  #isSetBack = false;
  readonly #wronglyMarked: string[] = [];
  /** The place of the first quote that storyActions choose from. */
  #shelf = 0;

  /**
   * @param funds - outputs of each party's wallet, in coins of a million minor units
   * @param setTime - sets the wall clock, epoch milliseconds
   */
  constructor(
    type: PaymentSourceType,
    funds: Record<Party, readonly number[]>,
    setTime: (now: number) => void,
  ) {
    this.#setTime = setTime;
    this.#service = new Service(type, funds, STRANGERS_FUNDS);
    this.#pass(0);
  }

  async do([kind, n]: StoryAction): Promise<void> {
    const service = this.#service;
    const { ledger, database } = service;
    const at = this.#shelf + (n % SHELF);
    const rest = Math.floor(n / SHELF);
    switch (kind) {
      case "request":
        if (rest % 4 !== 1) await service.request("payment", at);
        if (rest % 4 !== 2) await service.request("purchase", at);
        break;
      case "ask":
        await service.ask(of(NAMES, rest), at, of(["5e", "5f"], n).repeat(32));
        break;
      case "round":
        await this.#round(BLOCK_MS, faultsOf(n));
        await service.returnCharges();
        break;
      case "mine":
        this.#pass(BLOCK_MS);
        ledger.mine();
        break;
      case "sync":
        await service.sync(faultsOf(n));
        break;
      case "run":
        if (n % 8 === 0) await Promise.all([service.run("buyer"), service.run("buyer")]);
        else await service.run(of(PARTY_NAMES, n), faultsOf(n));
        break;
      case "wait":
        this.#pass(10_000 * (n % 60));
        break;
      case "deadline":
        this.#passTo(of(timesOf(this.#service), rest) + (n % 5) * MINUTE - 2 * MINUTE);
        break;
      case "days":
        this.#pass((1 + (n % 3)) * 24 * 60 * MINUTE);
        break;
      case "cancel":
        await service.cancel(at);
        break;
      case "recover":
        await service.recover(of(SIDES, rest), at, rest % 4 < 2);
        break;
      case "rollback":
        ledger.rollback(1 + (n % 4 === 0 ? rest % 20 : rest % 3), n % 2 === 0);
        break;
      case "evict":
        ledger.evict(n);
        break;
      case "submitFault":
        ledger.submitFaults.push(...SUBMIT_FAULTS.slice(n % 3, (n % 3) + 1 + (n % 2)));
        break;
      case "failingCalls":
        service.providerFaults.failingCalls = n % 8;
        break;
      case "lag":
        ledger.outputsBehind = n % 4;
        ledger.transactionsBehind = (n >> 2) % 3;
        break;
      case "failScript":
        await failScript(ledger, service.db, PARTIES[of(PARTY_NAMES, n)], n);
        break;
      case "stepByHand": {
        const name = this.#movedByHand(n);
        if (name) stepByHand(ledger, service.source, name, of(STEPS, n), "5f".repeat(32));
        break;
      }
      case "dispute":
        await this.#dispute(at, faultsOf(rest));
        break;
      case "propose":
        await propose(service, n);
        break;
      case "sign":
        await sign(service, n);
        break;
      case "withdraw":
        await withdraw(service, n);
        break;
      case "settleByHand": {
        const name = this.#movedByHand(n);
        if (name) await settleByHand(ledger, service.source, name, rest);
        break;
      }
      case "lockByHand": {
        const more = of([0n, 0n, 1_000_000n, -1n], rest);
        this.#lockByHand(at, n % 2 === 0, withMore("", more));
        break;
      }
      case "save":
        database.save();
        break;
      case "restore":
        this.#restore();
        break;
      case "forget":
        database.save();
        await service.run(n % 4 === 0 ? "seller" : "buyer");
        if (n % 3 === 0) ledger.mine();
        this.#restore();
        if (n % 2 === 0) break;
        // The wallet works on before the sync has seen any of it.
        this.#pass(2 * MINUTE);
        ledger.mine();
        await service.run("buyer");
        break;
      case "shelf":
        this.#shelf = n % 4 === 3 ? 0 : SHELF;
        if (n % 8 < 6) receivePlenty(ledger);
        break;
      case "receive":
        receive(ledger, n);
        break;
      case "deliver":
        await this.#deliver(at, faultsOf(rest));
        break;
      case "lockOddly":
        // Nobody is hurt by what a stranger locks.
        this.#lockByHand(at, n % 4 !== 0, oddly(rest));
        break;
      case "toggle":
        await service.toggle(of(PARTY_NAMES, n), faultsOf(n >> 1));
        this.#wronglyMarked.push(...wronglyMarked(database));
        break;
      case "fat":
        service.providerFaults.fatCalls = (n >> 1) % 8;
        service.providerFaults.areListsFat = n % 2 === 0;
        break;
      case "stale":
        service.providerFaults.keepPage(ledger.blocks, 2 + (n % 16), 1 + ((n >> 4) % 3));
    }
  }

  /** After the last fault everything comes to its end. @returns what did not, or went wrong */
  async end() {
    const service = this.#service;
    const { ledger } = service;
    ledger.submitFaults = [];
    ledger.outputsBehind = 0;
    ledger.transactionsBehind = 0;
    service.providerFaults.end();
    const left = await this.#endWithout();
    const begun = ledger.now;
    const until = () => Math.max(begun, lastTimeOf(service)) + SETTLES_MS;
    do await this.#round(pauseOf(service), {});
    while (!isOver(service) && ledger.now < until());
    do {
      for (let i = 0; i < FINAL_BLOCKS; i++) {
        this.#pass(BLOCK_MS);
        ledger.mine();
      }
      await this.#round(BLOCK_MS, {});
      await this.#round(BLOCK_MS, {});
    } while (isWatching(service) && ledger.now < until());
    await service.returnCharges();
    const marked = [...this.#wronglyMarked, ...wronglyMarked(service.database)];
    return { ...(await wrongIn(service, this.#moved)), left, wronglyMarked: marked };
  }

  /** Wallets that are still removed are added again. @returns escrows of theirs that were not followed before */
  async #endWithout(): Promise<string[]> {
    const service = this.#service;
    const removed = PARTY_NAMES.filter((party) => !service.walletOf(party));
    if (removed.length === 0) return [];
    // Until the chain is longer than it ever was, a node may be late as well as on another fork.
    for (let i = 0; i < 3 || !service.ledger.isLongest; i++) await this.#round(BLOCK_MS, {});
    // What a database that was set back does not know of is theirs once they are back.
    const left = this.#isSetBack ? [] : await leftBehind(service);
    for (const party of removed) await service.toggle(party);
    return left;
  }

  #isMoved(identifierHash: string | null): void {
    if (identifierHash !== null) this.#moved.add(identifierHash);
  }

  /** The name of an escrow's output that another party is about to spend. */
  #movedByHand(n: number): string | undefined {
    const { ledger, source } = this.#service;
    const escrows = ledger.unspentAt(source.contractAddress);
    const [name, output] = escrows[n % Math.max(escrows.length, 1)] ?? [];
    if (output) this.#isMoved(identifierHashOf(source, output));
    return name;
  }

  #lockByHand(at: number, isBuyers: boolean, change: Change): void {
    const { ledger, source, type } = this.#service;
    const quote = of(QUOTES[type], at);
    this.#isMoved(hashIdentifier(quote.blockchainIdentifier));
    lockByHand(ledger, source, this.#service.requested("purchase", quote), isBuyers, change);
  }

  /** A purchase gets a result. */
  async #deliver(n: number, faults: Faults): Promise<void> {
    const service = this.#service;
    await service.request("payment", n);
    await service.request("purchase", n);
    await this.#round(BLOCK_MS, faults);
    await this.#round(BLOCK_MS, {});
    await service.ask("submit-result", n);
    await this.#round(BLOCK_MS, {});
    await this.#round(BLOCK_MS, {});
  }

  /** A purchase gets a result that its buyer does not like. */
  async #dispute(n: number, faults: Faults): Promise<void> {
    await this.#deliver(n, faults);
    await this.#service.ask("request-refund", n);
    await this.#round(BLOCK_MS, {});
    await this.#round(BLOCK_MS, {});
  }

  /** After a restore, forgotten steps of the service look like steps of another party. */
  #restore(): void {
    this.#service.database.restore();
    this.#isSetBack = true;
    for (const one of QUOTES[this.#service.type])
      this.#isMoved(hashIdentifier(one.blockchainIdentifier));
  }

  /** A block, and everybody works. */
  async #round(ms: number, faults: Faults): Promise<void> {
    this.#pass(ms);
    this.#service.ledger.mine();
    await this.#service.sync(faults);
    await this.#service.tendWallets();
    for (const party of PARTY_NAMES) await this.#service.run(party, faults);
  }

  #pass(ms: number): void {
    this.#service.ledger.now += ms;
    this.#setTime(this.#service.ledger.now);
  }

  #passTo(time: number): void {
    this.#pass(Math.max(time - this.#service.ledger.now, 0));
  }
}
