import { DurableObject } from "cloudflare:workers";
import { eq } from "drizzle-orm";
import { db } from "../src/db/client.ts";
import { open } from "../src/db/sealed.ts";
import type { Env } from "../src/env.ts";
import { log } from "../src/log.ts";
import { within } from "../src/timeout.ts";
import { Outcomes } from "../src/x402/facilitator-wallet/outcomes.ts";
import type { PumpState } from "../src/x402/facilitator-wallet/pump.ts";
import type { PumpWallet } from "../src/x402/facilitator-wallet/signing.ts";
import { WalletStore } from "../src/x402/facilitator-wallet/store.ts";
import { chainIdOf } from "../src/x402/networks/chain-id.ts";
import { findNetwork, privateKeyPlace, rpcOf } from "../src/x402/networks/settlement-network.ts";
import type { Job, JobStatus, Submission } from "../src/x402/rpc-types.ts";
import { x402Wallet } from "../src/x402/tables.ts";
import { runBy } from "./alarm.ts";

/** How long one run of the pump works before the alarm takes over. */
const WORK_MS = 25_000;
const POLL_MS = 400;
const FIRST_PAUSE_MS = 200;
const MAX_PAUSE_MS = 5_000;
/** When to check again: payments that wait for a block, and settled ones that a re-org may undo. */
const BUSY_ALARM_MS = 5_000;
const WATCH_ALARM_MS = 15_000;
/** How long the wallet's settings are cached. */
const SETTINGS_MS = 30_000;

/**
 * One facilitator wallet on one chain: the only one to assign its nonces. Jobs are stored first;
 * one pump signs and sends them in nonce order and reads their outcomes.
 */
export class FacilitatorWallet extends DurableObject<Env> {
  readonly #ledger: WalletStore;
  #pumping: Promise<void> | null = null;
  /** Whether somebody asked for the pump since its last round began. */
  #isAsked = false;
  /** Whether the next round resends what was sent before. */
  #resend = false;
  /** Ends the pump's pause early. */
  #wakePump = () => {};
  /** Callers that wait, by their job. */
  readonly #waiters = new Map<string, Set<() => void>>();
  readonly #outcomes = new Outcomes();
  #settings: { wallet: PumpWallet; until: number } | null = null;

  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, env);
    this.#ledger = new WalletStore(ctx.storage.sql);
  }

  /**
   * Adds a job; idempotent.
   *
   * @param asked - left out by payments of an earlier version, which call `wait` then
   * @returns as `wait` does
   */
  async submit(walletId: string, job: Job, asked?: Submission): Promise<JobStatus> {
    if (this.#ledger.get("wallet_id") !== walletId) this.#ledger.set("wallet_id", walletId);
    if (asked) this.#outcomes.expect(asked.order, job.from);
    this.#ledger.add(job, Date.now());
    await runBy(this.ctx.storage, Date.now() + BUSY_ALARM_MS);
    this.#start();
    this.#wakePump();
    return this.wait(job.id, asked?.waitMs ?? 0);
  }

  /** The job's state: immediately when it is decided, else after at most `waitMs`. */
  async wait(jobId: string, waitMs: number): Promise<JobStatus> {
    const { dropUnsigned } = await import("../src/x402/facilitator-wallet/receipts.ts");
    const until = Date.now() + waitMs;
    for (;;) {
      const job = this.#ledger.find(jobId);
      // Many callers wait concurrently: each watches its own job, the pump all jobs.
      if (job?.state === "waiting" && job.signBefore <= Date.now())
        dropUnsigned(this.#ledger, Date.now());
      const status = this.#ledger.status(jobId);
      const left = until - Date.now();
      const isPending = status.state === "pending";
      if (left <= 0 || (!isPending && !this.#outcomes.isBeingWritten(jobId))) {
        const isRecorded = !isPending && this.#outcomes.handOver(jobId, status);
        return { ...status, isRecorded };
      }
      this.#start();
      const signBefore = job?.signBefore ?? until;
      // Also wakes up at its deadline, since nothing may happen to it until then.
      const pause = Math.max(Math.min(left, signBefore - Date.now()), 0);
      await this.#change(jobId, pause > 0 ? pause : left);
    }
  }

  /** Has anything that was left undone looked after. */
  async wake(): Promise<void> {
    await this.ctx.storage.setAlarm(Date.now());
  }

  /** Never throws: after six failures the platform drops an alarm. */
  override async alarm(): Promise<void> {
    // Whether the last send went out before this object stopped is unknown: send again.
    this.#resend = true;
    this.#start();
    this.#wakePump();
    await this.#pumping;
  }

  #start(): void {
    this.#isAsked = true;
    this.#pumping ??= this.#pump();
  }

  /** Who asks while it comes to its end is not told that it has: it goes on, unless the alarm soon does. */
  async #pump(): Promise<void> {
    for (;;) {
      const state = await this.#work();
      if (state === "busy" || !this.#isAsked) break;
    }
    // In the same turn as the last look: nobody asks in between.
    this.#pumping = null;
  }

  async #work(): Promise<PumpState> {
    let state: PumpState = "busy";
    try {
      state = await this.#rounds();
    } catch (error) {
      log("error", "x402.pump_failed", { error: String(error) });
    }
    try {
      if (state === "idle") await this.ctx.storage.deleteAlarm();
      else {
        const ms = state === "busy" ? BUSY_ALARM_MS : WATCH_ALARM_MS;
        await this.ctx.storage.setAlarm(Date.now() + ms);
      }
    } catch (error) {
      log("error", "x402.alarm_not_set", { error: String(error) });
    }
    return state;
  }

  async #rounds(): Promise<PumpState> {
    const { pumpRound } = await import("../src/x402/facilitator-wallet/pump.ts");
    const until = Date.now() + WORK_MS;
    let pause = FIRST_PAUSE_MS;
    let before = "";
    for (;;) {
      let state: PumpState = "busy";
      let failed = false;
      try {
        const resend = this.#resend;
        this.#resend = false;
        this.#isAsked = false;
        state = await pumpRound(this.#ledger, await this.#wallet(), resend);
        pause = FIRST_PAUSE_MS;
      } catch (error) {
        // The node may have lost, or never received, what was sent; the network may have another by
        // now.
        this.#resend = true;
        this.#settings = null;
        failed = true;
        pause = Math.min(pause * 2, MAX_PAUSE_MS);
        log("warn", "x402.round_failed", { error: String(error) });
      }
      const after = this.#ledger.snapshot();
      const moved = after !== before;
      before = after;
      this.#tell(this.#ledger.takeMoved());
      if (state !== "busy" || Date.now() > until) return state;
      if (!moved || failed) await this.#pause(failed ? pause : POLL_MS);
    }
  }

  /** Wakes who waits for these jobs: at once, or when an outcome is written. */
  #tell(jobIds: ReadonlySet<string>): void {
    const statuses = new Map([...jobIds].map((id) => [id, this.#ledger.status(id)]));
    const wake = () => {
      for (const id of jobIds) for (const told of this.#waiters.get(id) ?? []) told();
    };
    this.#outcomes.write(this.env, statuses).then(wake);
  }

  async #pause(ms: number): Promise<void> {
    const { promise: woken, resolve } = Promise.withResolvers<void>();
    this.#wakePump = resolve;
    await within(ms, woken, () => {});
  }

  async #change(jobId: string, ms: number): Promise<void> {
    const { promise: told, resolve } = Promise.withResolvers<void>();
    const waiters = this.#waiters.get(jobId) ?? new Set();
    this.#waiters.set(jobId, waiters.add(resolve));
    await within(ms, told, () => {});
    waiters.delete(resolve);
    if (waiters.size === 0) this.#waiters.delete(jobId);
  }

  async #wallet(): Promise<PumpWallet> {
    if (this.#settings && this.#settings.until > Date.now()) return this.#settings.wallet;
    const id = this.#ledger.get("wallet_id") ?? "";
    const core = db(this.env);
    // A removed wallet, or one of a disabled network, still finishes what it has begun.
    const [row] = await core.orm.select().from(x402Wallet).where(eq(x402Wallet.id, id));
    const network = row && (await findNetwork(core, row.caip2Id));
    if (!network) throw new Error(`the wallet ${id} or its network is gone`);
    const { signerOf } = await import("../src/x402/evm/transactions.ts");
    const wallet: PumpWallet = {
      chainId: chainIdOf(row.caip2Id),
      address: row.address,
      signer: signerOf(await open(this.env, privateKeyPlace(row.id), row.privateKey)),
      rpc: await rpcOf(this.env, network, Date.now() + SETTINGS_MS),
    };
    this.#settings = { wallet, until: Date.now() + SETTINGS_MS };
    return wallet;
  }
}
