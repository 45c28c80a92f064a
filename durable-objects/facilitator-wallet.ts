import { DurableObject } from "cloudflare:workers";
import { eq } from "drizzle-orm";
import { db } from "../src/db/client.ts";
import { open } from "../src/db/sealed.ts";
import type { Env } from "../src/env.ts";
import { log } from "../src/log.ts";
import { chainIdOf } from "../src/x402/chain-id.ts";
import { findNetwork, privateKeyPlace, rpcOf } from "../src/x402/networks.ts";
import type { FacilitatorWalletRpc, Job, JobStatus } from "../src/x402/settlement.ts";
import { x402Wallet } from "../src/x402/tables.ts";
import { WalletLedger } from "../src/x402/wallet-ledger.ts";
import type { PumpState } from "../src/x402/wallet-pump.ts";
import type { PumpWallet } from "../src/x402/wallet-signing.ts";

/** How long one run of the pump works before the alarm takes over. */
const WORK_MS = 25_000;
const POLL_MS = 400;
const FIRST_PAUSE_MS = 200;
const LONGEST_PAUSE_MS = 5_000;
/** When to look again: payments that wait for a block, and settled ones that might lose theirs. */
const BUSY_ALARM_MS = 5_000;
const WATCH_ALARM_MS = 15_000;
/** Settings of the wallet are read again after this. */
const SETTINGS_MS = 30_000;

/**
 * One facilitator wallet on one chain: the only one to give out its nonces. Jobs are written down
 * first; one pump signs and sends them in nonce order and learns what became of them.
 */
export class FacilitatorWallet extends DurableObject<Env> implements FacilitatorWalletRpc {
  readonly #ledger: WalletLedger;
  #pumping: Promise<void> | null = null;
  /** Whether the next round sends again what was sent before. */
  #resend = false;
  /** Ends the pump's pause early. */
  #poke = () => {};
  readonly #waiters = new Set<() => void>();
  #settings: { wallet: PumpWallet; until: number } | null = null;

  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, env);
    this.#ledger = new WalletLedger(ctx.storage.sql);
  }

  async submit(walletId: string, job: Job): Promise<void> {
    this.#ledger.set("wallet_id", walletId);
    this.#ledger.add(job, Date.now());
    await this.#arm(BUSY_ALARM_MS);
    this.#start();
    this.#poke();
  }

  async wait(jobId: string, waitMs: number): Promise<JobStatus> {
    const { dropUnsigned } = await import("../src/x402/wallet-findings.ts");
    const until = Date.now() + waitMs;
    for (;;) {
      const job = this.#ledger.find(jobId);
      // Many wait at once: each looks after its own job, the pump after all.
      if (job?.state === "waiting" && job.signBefore <= Date.now())
        dropUnsigned(this.#ledger, Date.now());
      const status = this.#ledger.status(jobId);
      const left = until - Date.now();
      if (status.state !== "pending" || left <= 0) return status;
      this.#start();
      const signBefore = job?.signBefore ?? until;
      // Wakes up for its last moment too, since nothing may happen to it until then.
      const pause = Math.max(Math.min(left, signBefore - Date.now()), 0);
      await this.#change(pause > 0 ? pause : left);
    }
  }

  async wake(): Promise<void> {
    await this.ctx.storage.setAlarm(Date.now());
  }

  /** Never throws: after six failures the platform forgets an alarm. */
  override async alarm(): Promise<void> {
    // Whether the last send went out before this object went down is not known: send again.
    this.#resend = true;
    this.#start();
    this.#poke();
    await this.#pumping;
  }

  /** Sets the alarm, unless an earlier one is set. */
  async #arm(inMs: number): Promise<void> {
    const at = Date.now() + inMs;
    const set = await this.ctx.storage.getAlarm();
    if (set === null || set > at) await this.ctx.storage.setAlarm(at);
  }

  #start(): void {
    this.#pumping ??= this.#pump().finally(() => {
      this.#pumping = null;
    });
  }

  async #pump(): Promise<void> {
    let state: PumpState = "busy";
    try {
      state = await this.#rounds();
    } catch (error) {
      log("error", "x402.pump_failed", { error: String(error) });
    }
    try {
      if (state === "idle") await this.ctx.storage.deleteAlarm();
      else
        await this.ctx.storage.setAlarm(
          Date.now() + (state === "busy" ? BUSY_ALARM_MS : WATCH_ALARM_MS),
        );
    } catch (error) {
      log("error", "x402.alarm_not_set", { error: String(error) });
    }
  }

  async #rounds(): Promise<PumpState> {
    const { pumpRound } = await import("../src/x402/wallet-pump.ts");
    const until = Date.now() + WORK_MS;
    let pause = FIRST_PAUSE_MS;
    let before = "";
    for (;;) {
      let state: PumpState = "busy";
      let failed = false;
      try {
        const resend = this.#resend;
        this.#resend = false;
        state = await pumpRound(this.#ledger, await this.#wallet(), resend);
        pause = FIRST_PAUSE_MS;
      } catch (error) {
        // The node may have lost, or never got, what was sent; the network may have another by now.
        this.#resend = true;
        this.#settings = null;
        failed = true;
        pause = Math.min(pause * 2, LONGEST_PAUSE_MS);
        log("warn", "x402.round_failed", { error: String(error) });
      }
      const after = this.#picture();
      const moved = after !== before;
      before = after;
      for (const told of this.#waiters) told();
      if (state !== "busy" || Date.now() > until) return state;
      if (!moved || failed) await this.#pause(failed ? pause : POLL_MS);
    }
  }

  /** Where everything stands; unchanged means that only the chain can bring news. */
  #picture(): string {
    const jobs = this.#ledger.open().map(({ job, state }) => `${job.id} ${state}`);
    const sent = this.#ledger.transactions().map(({ hash, state }) => `${hash} ${state}`);
    return [...jobs, ...sent].join();
  }

  async #pause(ms: number): Promise<void> {
    await within(ms, (done) => {
      this.#poke = done;
    });
  }

  async #change(ms: number): Promise<void> {
    let waiter = () => {};
    await within(ms, (done) => {
      waiter = done;
      this.#waiters.add(done);
    });
    this.#waiters.delete(waiter);
  }

  async #wallet(): Promise<PumpWallet> {
    if (this.#settings && this.#settings.until > Date.now()) return this.#settings.wallet;
    const id = this.#ledger.get("wallet_id") ?? "";
    const core = db(this.env);
    // A removed wallet, or one of a disabled network, still ends what it has begun.
    const [row] = await core.orm.select().from(x402Wallet).where(eq(x402Wallet.id, id));
    const network = row && (await findNetwork(core, row.caip2Id));
    if (!network) throw new Error(`the wallet ${id} or its network is gone`);
    const wallet: PumpWallet = {
      chainId: chainIdOf(row.caip2Id),
      address: row.address,
      privateKey: await open(this.env, privateKeyPlace(row.id), row.privateKey),
      rpc: await rpcOf(this.env, network, Date.now() + SETTINGS_MS),
    };
    this.#settings = { wallet, until: Date.now() + SETTINGS_MS };
    return wallet;
  }
}

/** Resolves when `subscribe`'s callback is called, or when time is up. */
async function within(ms: number, subscribe: (done: () => void) => void): Promise<void> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  await new Promise<void>((done) => {
    timer = setTimeout(done, ms);
    subscribe(done);
  });
  clearTimeout(timer);
}
