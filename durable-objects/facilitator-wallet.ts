import { DurableObject } from "cloudflare:workers";
import { eq } from "drizzle-orm";
import { openDb } from "../src/db/client.ts";
import { unseal } from "../src/db/sealed.ts";
import type { Env } from "../src/env.ts";
import { log } from "../src/log.ts";
import { withTimeout } from "../src/timeout.ts";
import { OutcomeWriter } from "../src/x402/facilitator-wallet/outcome-writer.ts";
import type { PumpState, RoundReading } from "../src/x402/facilitator-wallet/pump-round.ts";
import type { SigningWallet } from "../src/x402/facilitator-wallet/round.ts";
import { WalletStore } from "../src/x402/facilitator-wallet/wallet-store.ts";
import type {
  FacilitatorWalletObject,
  JobStatus,
  JobSubmission,
  SettlementJob,
} from "../src/x402/model/messages.ts";
import { parseChainId } from "../src/x402/model/schemas.ts";
import { x402Wallet } from "../src/x402/model/tables.ts";
import {
  findNetwork,
  openRpc,
  toPrivateKeyEncryptionContext,
} from "../src/x402/networks/settlement-network.ts";
import { scheduleAlarmBy } from "./alarm.ts";

/** How long one run of the pump works before the alarm takes over. */
const MAX_RUN_MS = 25_000;
/** Pauses of the pump between rounds in which nothing changes: they double, since blocks may be instant. */
const MIN_POLL_INTERVAL_MS = 25;
const MAX_POLL_INTERVAL_MS = 400;
const INITIAL_RETRY_DELAY_MS = 200;
const MAX_RETRY_DELAY_MS = 5_000;
/** When to check again: payments that wait for a block, and settled ones that a re-org may undo. */
const BUSY_ALARM_INTERVAL_MS = 5_000;
const WATCH_ALARM_INTERVAL_MS = 15_000;
/** How old a reading of the chain may be when a round begins. A node may be as far behind. */
const MAX_READING_AGE_MS = 2_000;
/** How long the wallet's settings are cached. */
const SETTINGS_TTL_MS = 30_000;

/**
 * One facilitator wallet on one chain: the only one to assign its nonces. Jobs are stored first;
 * one pump signs and sends them in nonce order and reads their outcomes.
 */
export class FacilitatorWallet extends DurableObject<Env> implements FacilitatorWalletObject {
  readonly #store: WalletStore;
  #activePump: Promise<void> | null = null;
  /** Whether a request arrived since the last round began. */
  #isRequested = false;
  /** Whether the next round resends what was sent before. */
  #mustResend = false;
  /** Ends the pump's pause early. */
  #wakePump = () => {};
  /** Callers that wait, by their job. */
  readonly #waiters = new Map<string, Set<() => void>>();
  readonly #outcomes = new OutcomeWriter();
  #settings: { wallet: SigningWallet; until: number } | null = null;
  /** The chain for the next round, null when it could not be read; and until when it is used. */
  #reading: { early: Promise<RoundReading | null>; until: number } | null = null;

  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, env);
    this.#store = new WalletStore(ctx.storage.sql);
  }

  async prepare(walletId: string, job: SettlementJob): Promise<void> {
    // A pump that is running reads the chain itself.
    const isRead = this.#reading !== null && Date.now() < this.#reading.until;
    if (this.#activePump || isRead || this.#store.getValue("wallet_id") !== walletId) return;
    const early = this.#readEarly(job).catch(() => null);
    this.#reading = { early, until: Date.now() + MAX_READING_AGE_MS };
    await early;
  }

  async #readEarly(job: SettlementJob): Promise<RoundReading> {
    const { readRound } = await import("../src/x402/facilitator-wallet/pump-round.ts");
    return readRound(this.#store, await this.#loadWallet(), [job]);
  }

  /** The reading of the chain that was made for the next round. */
  async #takeReading(): Promise<RoundReading | null> {
    const reading = this.#reading;
    this.#reading = null;
    if (!reading || Date.now() >= reading.until) return null;
    return reading.early;
  }

  /**
   * Adds a job; idempotent.
   *
   * @returns as `wait` does
   */
  async submit(
    walletId: string,
    job: SettlementJob,
    { order, waitMs }: JobSubmission,
  ): Promise<JobStatus> {
    if (this.#store.getValue("wallet_id") !== walletId) this.#store.setValue("wallet_id", walletId);
    this.#outcomes.expectOutcome(order, job.from);
    this.#store.addJob(job, Date.now());
    await scheduleAlarmBy(this.ctx.storage, Date.now() + BUSY_ALARM_INTERVAL_MS);
    this.#start();
    this.#wakePump();
    return this.wait(job.id, waitMs);
  }

  /** The job's state: immediately when it is decided, else after at most `waitMs`. */
  async wait(jobId: string, waitMs: number): Promise<JobStatus> {
    const { failUnsignedJobs } = await import("../src/x402/facilitator-wallet/reconcile-jobs.ts");
    const until = Date.now() + waitMs;
    for (;;) {
      const job = this.#store.findJob(jobId);
      // Many callers wait concurrently: each watches its own job, the pump all jobs.
      if (job?.state === "waiting" && job.signBefore <= Date.now())
        failUnsignedJobs(this.#store, Date.now());
      const status = this.#store.getJobStatus(jobId);
      const left = until - Date.now();
      const isPending = status.state === "pending";
      if (left <= 0 || (!isPending && !this.#outcomes.isBeingWritten(jobId)))
        return isPending ? status : this.#outcomes.confirmRecorded(jobId, status);
      // A pump that runs knows the job; asked again, it would read the chain once more at its end.
      if (isPending && !this.#activePump) this.#start();
      const signBefore = job?.signBefore ?? until;
      // Also wakes up at its deadline, since nothing may happen to it until then.
      const pause = Math.max(Math.min(left, signBefore - Date.now()), 0);
      await this.#waitForChange(jobId, pause > 0 ? pause : left);
    }
  }

  async readGasCosts(jobIds: readonly string[]): Promise<(string | null)[]> {
    return jobIds.map((id) => this.#store.findGasCost(id));
  }

  async hasOpenJobs(): Promise<boolean> {
    return this.#store.hasOpenJobs("undecided") || this.#store.hasOpenJobs("decided");
  }

  /** Resumes unfinished work. */
  async wake(): Promise<void> {
    await this.ctx.storage.setAlarm(Date.now());
  }

  /** Never throws: after six failures the platform drops an alarm. */
  override async alarm(): Promise<void> {
    // Whether the last send went out before this object stopped is unknown: send again.
    this.#mustResend = true;
    this.#start();
    this.#wakePump();
    await this.#activePump;
  }

  #start(): void {
    this.#isRequested = true;
    this.#activePump ??= this.#pump();
  }

  /** A request that arrives while the pump ends starts another run, unless the alarm soon does. */
  async #pump(): Promise<void> {
    for (;;) {
      const state = await this.#runOnce();
      if (state === "busy" || !this.#isRequested) break;
    }
    // No await since the last check, so no request can come between.
    this.#activePump = null;
  }

  async #runOnce(): Promise<PumpState> {
    let state: PumpState = "busy";
    try {
      state = await this.#runRounds();
    } catch (error) {
      log("error", "x402.pump_failed", { error: String(error) });
    }
    try {
      if (state === "idle") await this.ctx.storage.deleteAlarm();
      else {
        const ms = state === "busy" ? BUSY_ALARM_INTERVAL_MS : WATCH_ALARM_INTERVAL_MS;
        await this.ctx.storage.setAlarm(Date.now() + ms);
      }
    } catch (error) {
      log("error", "x402.alarm_not_set", { error: String(error) });
    }
    return state;
  }

  async #runRounds(): Promise<PumpState> {
    const { runPumpRound: pumpRound } = await import(
      "../src/x402/facilitator-wallet/pump-round.ts"
    );
    const until = Date.now() + MAX_RUN_MS;
    let retryDelay = INITIAL_RETRY_DELAY_MS;
    let pollInterval = MIN_POLL_INTERVAL_MS;
    let before = "";
    for (;;) {
      let state: PumpState = "busy";
      let failed = false;
      try {
        const resend = this.#mustResend;
        this.#mustResend = false;
        this.#isRequested = false;
        const wallet = await this.#loadWallet();
        const early = await this.#takeReading();
        state = await pumpRound(this.#store, wallet, resend, early, () => this.#notify());
        retryDelay = INITIAL_RETRY_DELAY_MS;
      } catch (error) {
        // The node may not have the sent transactions, and the network may have another node by now.
        this.#mustResend = true;
        this.#settings = null;
        this.#reading = null;
        failed = true;
        retryDelay = Math.min(retryDelay * 2, MAX_RETRY_DELAY_MS);
        log("warn", "x402.round_failed", { error: String(error) });
      }
      this.#store.executePostponed();
      const after = this.#store.takeSnapshot();
      const hasChanged = after !== before;
      before = after;
      this.#notify();
      if (state !== "busy" || Date.now() > until) return state;
      if (failed) await this.#pause(retryDelay);
      else if (hasChanged) pollInterval = MIN_POLL_INTERVAL_MS;
      else {
        await this.#pause(pollInterval);
        pollInterval = Math.min(pollInterval * 2, MAX_POLL_INTERVAL_MS);
      }
    }
  }

  /** Wakes the callers that wait for jobs that changed, after the outcomes are written. */
  #notify(): void {
    const jobIds = this.#store.drainChangedJobs();
    if (jobIds.size === 0) return;
    const statuses = new Map([...jobIds].map((id) => [id, this.#store.getJobStatus(id)]));
    const wake = () => {
      for (const id of jobIds) for (const resolve of this.#waiters.get(id) ?? []) resolve();
    };
    this.#outcomes.write(this.env, statuses).then(wake);
  }

  async #pause(ms: number): Promise<void> {
    const { promise: woken, resolve } = Promise.withResolvers<void>();
    this.#wakePump = resolve;
    await withTimeout(ms, woken, () => {});
  }

  async #waitForChange(jobId: string, ms: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const waiters = this.#waiters.get(jobId) ?? new Set();
    this.#waiters.set(jobId, waiters.add(resolve));
    await withTimeout(ms, promise, () => {});
    waiters.delete(resolve);
    if (waiters.size === 0) this.#waiters.delete(jobId);
  }

  async #loadWallet(): Promise<SigningWallet> {
    if (this.#settings && this.#settings.until > Date.now()) return this.#settings.wallet;
    const id = this.#store.getValue("wallet_id") ?? "";
    const core = openDb(this.env);
    // A removed wallet, or one of a disabled network, still finishes what it has begun.
    const [row] = await core.orm.select().from(x402Wallet).where(eq(x402Wallet.id, id));
    const network = row && (await findNetwork(core, row.caip2Id));
    if (!network) throw new Error(`the wallet ${id} or its network is gone`);
    const { createSigner } = await import("../src/x402/evm/transactions.ts");
    const wallet: SigningWallet = {
      chainId: parseChainId(row.caip2Id),
      address: row.address,
      signer: createSigner(
        await unseal(this.env, toPrivateKeyEncryptionContext(row.id), row.privateKey),
      ),
      rpc: await openRpc(this.env, network, Date.now() + SETTINGS_TTL_MS),
    };
    this.#settings = { wallet, until: Date.now() + SETTINGS_TTL_MS };
    return wallet;
  }
}
