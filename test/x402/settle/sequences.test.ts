import fc from "fast-check";
import { beforeAll, expect, it } from "vitest";
import { call, emptyTables } from "../../support/app.ts";
import { runs } from "../../support/effort.ts";
import { upper } from "../disguises.ts";
import { MAX_WAIT_S, SettlementFixture } from "../settlement-fixture.ts";
import { toSettleEnvelope, VERSIONS, type Version, version1Body } from "../version-1.ts";
import {
  api,
  type Envelope,
  type Payload,
  type SettleData,
  settle,
  X402Fixture,
} from "../x402-fixture.ts";

let x402: X402Fixture;

beforeAll(async () => {
  await emptyTables();
  x402 = await X402Fixture.create("84532-sequences");
});

const METHODS = ["eip3009", "eip3009", "permit2"] as const;

/** What one payment looks like to a service that looks no closer. */
const DISGUISES = {
  none: (payment: Payload) => payment,
  reordered: (payment: Payload) => reversed(payment) as Payload,
  withDroppedFields: (payment: Payload) =>
    ({
      ...payment,
      accepted: { ...payment.accepted, note: "x" },
      resource: { ...payment.resource, description: "x" },
    }) as Payload,
  payerInUpperCase: (payment: Payload) => inside(payment, { from: upper }),
  zerosBeforeItsEnd: (payment: Payload) => inside(payment, { validBefore: zeros, deadline: zeros }),
  payeeInUpperCase: ({ accepted, ...payment }: Payload) => ({
    ...payment,
    accepted: { ...accepted, payTo: upper(accepted.payTo) },
  }),
  withNote: (payment: Payload) => ({ ...payment, payload: { ...payment.payload, note: "x" } }),
  withExtensions: (payment: Payload) => ({ ...payment, extensions: {} }),
};
type Disguise = keyof typeof DISGUISES;
/** A payment in one of these is the same payload, and so a replay. */
const NO_DISGUISE: Record<Version, Disguise[]> = {
  1: ["none", "reordered", "withDroppedFields", "payeeInUpperCase", "withExtensions"],
  2: ["none", "reordered", "withDroppedFields"],
};

const zeros = (number: string) => `00${number}`;

/** Changes members of what was signed, where they are. */
function inside(payment: Payload, changes: Record<string, (value: string) => string>): Payload {
  const key = "authorization" in payment.payload ? "authorization" : "permit2Authorization";
  const signed = Object.entries(payment.payload[key] as Record<string, string>);
  const changed = signed.map(([name, value]) => [name, changes[name]?.(value) ?? value]);
  return { ...payment, payload: { ...payment.payload, [key]: Object.fromEntries(changed) } };
}

function reversed(value: unknown): unknown {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  const members = Object.entries(value).map(([name, one]) => [name, reversed(one)]);
  return Object.fromEntries(members.reverse());
}

interface Submission {
  /** Which of the payments. */
  which: number;
  disguise: Disguise;
  /** Sent for a resource with the same terms, which is not the one that it was signed for. */
  elsewhere: boolean;
  /** Version 1 has EIP-3009 only, and no registered resources. */
  version: Version;
}

type Step = { miner: "on" | "off" | "one block" } | { submissions: Submission[] };

const submission: fc.Arbitrary<Submission> = fc.record({
  which: fc.nat(METHODS.length - 1),
  disguise: fc.constantFrom(...(Object.keys(DISGUISES) as Disguise[])),
  elsewhere: fc.integer({ min: 0, max: 9 }).map((n) => n === 0),
  version: fc.constantFrom(...VERSIONS),
});
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 1, arbitrary: fc.record({ miner: fc.constantFrom("on", "off", "one block") }) },
  {
    weight: 2,
    arbitrary: fc.record({ submissions: fc.array(submission, { minLength: 1, maxLength: 8 }) }),
  },
);

/** A payment, a second resource with the same terms, and what came of each submission. */
class Purchase {
  readonly fixture: SettlementFixture;
  readonly #method: "eip3009" | "permit2";
  readonly #twin: { id: string };
  readonly answers: { submission: Submission; answer: Envelope<SettleData> }[] = [];

  private constructor(
    fixture: SettlementFixture,
    method: "eip3009" | "permit2",
    twin: { id: string },
  ) {
    this.fixture = fixture;
    this.#method = method;
    this.#twin = twin;
  }

  static async signed(method: "eip3009" | "permit2", seconds: number): Promise<Purchase> {
    const fixture = await SettlementFixture.on(x402);
    await fixture.beImpatient({ method }, seconds);
    const { payTo, requirements } = fixture.source;
    const { maxTimeoutSeconds } = requirements;
    return new Purchase(fixture, method, await x402.source({ payTo, maxTimeoutSeconds }));
  }

  async submit(wanted: Submission): Promise<void> {
    const version = this.#method === "permit2" ? 2 : wanted.version;
    const submission = { ...wanted, version, elsewhere: version === 2 && wanted.elsewhere };
    const source = submission.elsewhere ? this.#twin : this.fixture.source;
    const payment = DISGUISES[submission.disguise](this.fixture.payment);
    const answer = version === 2 ? settle(source, payment) : this.#settleInVersion1(payment);
    this.answers.push({ submission, answer: await answer });
  }

  async #settleInVersion1(payment: Payload): Promise<Envelope<SettleData>> {
    const body = JSON.stringify(version1Body(payment));
    return toSettleEnvelope(
      await call("/api/v1/x402/facilitator/settle", { method: "POST", body }),
    );
  }

  /** Whether the payer gave up waiting before anything was signed, as on a busy machine. */
  get isGivenUp(): boolean {
    return this.answers.some(({ answer }) => answer.data?.settleResponse.transaction === "");
  }

  /** One submission has the authorization, its repeats join it, and all others are turned away. */
  async expectOneWinner(): Promise<void> {
    const taken = this.answers.filter(({ answer }) => answer.status === 200);
    const [winner] = taken.map(({ submission }) => submission);
    const [attempt, ...others] = await this.fixture.attempts();
    if (!winner || !attempt) throw new Error("no submission has the authorization");
    expect(others).toEqual([]);
    for (const { submission, answer } of this.answers) {
      const expected = isSame(submission, winner) ? 200 : 409;
      expect(answer.status).toBe(expected);
      if (expected === 409) expect(answer.message).toContain(attempt.id);
    }

    await this.fixture.fireAlarms();
    await this.submit(winner);
    const told = this.answers.at(-1)?.answer.data;
    expect(told).toMatchObject({ settleResponse: { success: true } });
    // A facilitator says success once, and a replay of all that comes after it.
    const { version } = winner;
    const firsts = this.answers.filter(
      ({ answer: { status, data } }) =>
        status === 200 && !data.replay && (version === 2 || data.settleResponse.success),
    );
    expect(firsts).toHaveLength(1);
    if (version === 2) expect(firsts[0]?.answer.data.attemptId).toBe(attempt.id);
    await this.#expectBooksAgree(attempt.id, version, told?.settleResponse.transaction);
  }

  async #expectBooksAgree(attemptId: string, version: Version, txHash?: string): Promise<void> {
    const { fixture, answers } = this;
    expect(await fixture.paidIn()).toEqual([txHash]);
    expect(await x402.balance(fixture.source.payTo)).toBe(10_000n);
    for (const { answer } of answers)
      if (answer.status === 200) expect(answer.data.settleResponse.transaction).toBe(txHash);
    expect(await fixture.attempts()).toMatchObject([
      { id: attemptId, status: "Settled", Settlement: { success: true, txHash } },
    ]);
    expect(await fixture.events()).toEqual(["X402_PAYMENT_SETTLED"]);
    const { data } = await api<{ PaymentAttempts: { payTo: string; Settlement: unknown }[] }>(
      "/x402/payments?status=Replayed&take=100",
    );
    const replayed = data.PaymentAttempts.filter(({ payTo }) => payTo === fixture.source.payTo);
    const told = answers.filter(
      ({ answer }) => answer.data?.replay && answer.data.settleResponse.success,
    );
    // The success of version 1 may itself be a repeat, after an answer that was pending.
    const isPending = answers.some(({ answer }) => answer.data?.settleResponse.errorReason);
    expect([0, version === 1 && isPending ? 1 : 0]).toContain(replayed.length - told.length);
    for (const { Settlement } of replayed) expect(Settlement).toMatchObject({ txHash });
  }
}

/** Whether the service takes two submissions of one payment for the same. */
function isSame(a: Submission, b: Submission): boolean {
  const isPlain = ({ disguise, version }: Submission) => NO_DISGUISE[version].includes(disguise);
  const isAlike = a.disguise === b.disguise || (isPlain(a) && isPlain(b));
  return isAlike && a.elsewhere === b.elsewhere && a.version === b.version;
}

async function turnMiner(to: "on" | "off" | "one block"): Promise<void> {
  if (to !== "one block") await x402.rpc("evm_setAutomine", to === "on");
  if (to !== "off") await x402.rpc("evm_mine");
}

/** What becomes of payments whose payers wait so many seconds, when the blocks come again. */
async function play(steps: Step[], seconds: number): Promise<Purchase[]> {
  await turnMiner("on");
  const purchases: Purchase[] = [];
  for (const method of METHODS) purchases.push(await Purchase.signed(method, seconds));
  for (const one of steps)
    if ("miner" in one) await turnMiner(one.miner);
    else
      await Promise.all(
        one.submissions.map((submission) => purchases[submission.which]?.submit(submission)),
      );
  await turnMiner("on");
  return purchases;
}

it("moves money once per authorization for any sequence of submissions, disguised or not, while blocks come or do not", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 2, maxLength: 6 }), async (steps) => {
      let seconds = 1;
      let purchases: Purchase[];
      do {
        seconds *= 2;
        purchases = await play(steps, seconds);
      } while (purchases.some(({ isGivenUp }) => isGivenUp) && seconds < MAX_WAIT_S);
      for (const purchase of purchases)
        if (purchase.answers.length > 0) await purchase.expectOneWinner();
        else expect(await purchase.fixture.paidIn()).toEqual([]);
    }),
    { ...runs(4, 60), endOnFailure: true },
  );
});
