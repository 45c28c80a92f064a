import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  combineProviders,
  type ProviderMember,
  ProviderView,
} from "../../../src/chain/provider/combine-providers.ts";
import { type Outages, PROVIDER_PURPOSES, recordCall } from "../../../src/chain/provider/outage.ts";
import {
  CallBudgetExhaustedError,
  EvaluationUnavailableError,
  ProviderError,
  ScriptFailedError,
} from "../../../src/chain/provider/provider.ts";
import { runs } from "../../support/effort.ts";

const FAILURE = new ProviderError("provider: GET /blocks/latest: status 503", { status: 503 });
const UNSERVED = new ProviderError("provider: status 404", { status: 404, permanent: true });
const BYTES = Uint8Array.of(0x84);

interface Behaviour {
  name: string;
  read?: () => Promise<unknown>;
  evaluate?: () => Promise<never>;
  submit?: () => Promise<{ refused: string } | null>;
  outages?: Outages;
  purposes?: ProviderMember["purposes"];
}

/** A provider that answers each read with its name; it writes down its calls and reports. */
function createMember(behaviour: Behaviour, log: string[] = []): ProviderMember {
  const { name, purposes = PROVIDER_PURPOSES } = behaviour;
  let { outages = {} } = behaviour;
  const read = () => {
    log.push(name);
    return behaviour.read?.() ?? Promise.resolve(name);
  };
  return {
    provider: {
      latestBlock: read,
      block: read,
      addressUtxos: read,
      evaluate: () => {
        log.push(name);
        return (
          behaviour.evaluate?.() ?? Promise.resolve(new Map([[name, { memory: 1n, steps: 1n }]]))
        );
      },
      submit: () => behaviour.submit?.() ?? Promise.resolve(null),
      networkMagic: async () => 1,
    } as unknown as ProviderMember["provider"],
    purposes,
    get outages() {
      return outages;
    },
    async report(purpose, error) {
      log.push(`${name} ${purpose} ${error ? "failed" : "worked"}`);
      const failure = error && { reason: error.message, retryAt: error.retryAt };
      const after = recordCall(outages[purpose], failure, Date.now());
      const { [purpose]: _, ...others } = outages;
      outages = { ...others, ...(after && { [purpose]: after }) };
    },
  };
}

const fail = () => Promise.reject(FAILURE);
const OUT: Outages = {
  reads: { since: 0, failures: 1, probeAt: 0, recoveredAt: null, reason: "" },
};

describe("a read", () => {
  it("goes to the first provider that works, and all others of the view to the same one", async () => {
    let isDown = true;
    const first = createMember({ name: "a", read: () => (isDown ? fail() : Promise.resolve("a")) });
    const provider = combineProviders([first, createMember({ name: "b" })]);
    expect(await Promise.all([provider.latestBlock(), provider.addressUtxos("")])).toEqual([
      "b",
      "b",
    ]);
    isDown = false;
    expect(await provider.block(1)).toBe("b");
  });

  it("of a view never goes to another provider after its own has failed", async () => {
    let isDown = false;
    const view = new ProviderView();
    const a = createMember({ name: "a", read: () => (isDown ? fail() : Promise.resolve("a")) });
    const provider = combineProviders([a, createMember({ name: "b" })], view);
    await provider.latestBlock();
    isDown = true;
    await expect(provider.block(1)).rejects.toBe(FAILURE);
    expect([view.reader, view.canSwitch]).toEqual([0, true]);
    const next = view.passOverReader() ?? undefined;
    expect(await combineProviders([a, createMember({ name: "b" })], next).block(1)).toBe("b");
  });

  it("asks a provider that was out only when no other one works", async () => {
    const log: string[] = [];
    const members = [
      createMember({ name: "a", outages: OUT }, log),
      createMember({ name: "b", read: fail }, log),
    ];
    expect(await combineProviders(members).latestBlock()).toBe("a");
    expect(log).toEqual(["b", "b reads failed", "a", "a reads worked"]);
  });

  it("tells the first failure when no provider answers", async () => {
    const other = new ProviderError("provider: the other one");
    const members = [
      createMember({ name: "a", read: fail }),
      createMember({ name: "b", read: () => Promise.reject(other) }),
    ];
    const view = new ProviderView();
    await expect(combineProviders(members, view).latestBlock()).rejects.toBe(FAILURE);
    expect([view.canSwitch, view.passOverReader()]).toEqual([false, null]);
  });

  it.each([
    ["a budget without calls", new CallBudgetExhaustedError(null)],
    ["a call that the provider calls malformed", new ProviderError("", { status: 400 })],
  ])("moves on from %s, which is no outage", async (_, error) => {
    const a = createMember({ name: "a", read: () => Promise.reject(error) });
    expect(await combineProviders([a, createMember({ name: "b" })]).latestBlock()).toBe("b");
    expect(a.outages).toEqual({});
  });
});

it("a view does not call for another one when only its budget is used up", async () => {
  let isUsedUp = false;
  const view = new ProviderView();
  const read = () =>
    isUsedUp ? Promise.reject(new CallBudgetExhaustedError(null)) : Promise.resolve("a");
  const members = [createMember({ name: "a", read }), createMember({ name: "b" })];
  const provider = combineProviders(members, view);
  await provider.latestBlock();
  isUsedUp = true;
  await expect(provider.block(1)).rejects.toThrow(CallBudgetExhaustedError);
  expect(view.canSwitch).toBe(false);
});

describe("an evaluation", () => {
  it("goes on to a provider whose node answers", async () => {
    const behind = new EvaluationUnavailableError("NotSynced", "");
    const members = [
      createMember({ name: "a", evaluate: fail as () => Promise<never> }),
      createMember({ name: "b", evaluate: () => Promise.reject(behind) }),
      createMember({ name: "c", purposes: ["reads"] }),
      createMember({ name: "d" }),
    ];
    expect([...(await combineProviders(members).evaluate(BYTES)).keys()]).toEqual(["d"]);
  });

  it("goes on from a provider that never evaluates, which is no outage", async () => {
    const a = createMember({ name: "a", evaluate: () => Promise.reject(UNSERVED) });
    const units = await combineProviders([a, createMember({ name: "b" })]).evaluate(BYTES);
    expect([...units.keys()]).toEqual(["b"]);
    expect(a.outages).toEqual({});
  });

  it("ends with a script's failure", async () => {
    const answer = new ScriptFailedError("no");
    const a = createMember({ name: "a", evaluate: () => Promise.reject(answer) });
    const provider = combineProviders([a, createMember({ name: "b" })]);
    await expect(provider.evaluate(BYTES)).rejects.toBe(answer);
    expect(a.outages).toEqual({});
  });

  it("asks all for an output that the first does not know, and tells what the first said", async () => {
    const unknown = new EvaluationUnavailableError("UnknownInput", "");
    const create = (name: string) =>
      createMember({ name, evaluate: () => Promise.reject(unknown) });
    const members = [create("a"), create("b")];
    await expect(combineProviders(members).evaluate(BYTES)).rejects.toBe(unknown);
    expect(members.map(({ outages }) => outages)).toEqual([{}, {}]);
    const units = await combineProviders([...members, createMember({ name: "c" })]).evaluate(BYTES);
    expect([...units.keys()]).toEqual(["c"]);
  });
});

describe("a submission", () => {
  const ANSWERS = {
    accepted: () => Promise.resolve(null),
    permanent: () => Promise.resolve({ refused: "FeeTooSmallUTxO" }),
    temporary: () => Promise.resolve({ refused: "BadInputsUTxO" }),
    failed: () => Promise.reject(FAILURE),
    unserved: () => Promise.reject(UNSERVED),
  };
  type Answer = keyof typeof ANSWERS;

  it("is accepted if one provider accepts it, and else refused only for its bytes", async () => {
    const answer = fc.constantFrom(...(Object.keys(ANSWERS) as Answer[]));
    await fc.assert(
      fc.asyncProperty(fc.array(answer, { minLength: 1, maxLength: 4 }), async (answers) => {
        const members = answers.map((one, i) =>
          createMember({ name: String(i), submit: ANSWERS[one] }),
        );
        const result = await combineProviders(members)
          .submit(BYTES)
          .catch((error: unknown) => error);
        if (answers.includes("accepted")) expect(result).toBeNull();
        else if (answers.includes("permanent"))
          expect(result).toEqual({ refused: "FeeTooSmallUTxO" });
        else if (answers.includes("failed")) expect(result).toBe(FAILURE);
        else if (answers.includes("temporary"))
          expect(result).toEqual({ refused: "BadInputsUTxO" });
        else expect(result).toBe(UNSERVED);
      }),
      runs(100, 2_000),
    );
  });

  it("does not wait for a silent provider once another one has accepted it", async () => {
    const members = [
      createMember({ name: "a", submit: () => new Promise(() => {}) }),
      createMember({ name: "b" }),
    ];
    expect(await combineProviders(members).submit(BYTES)).toBeNull();
  });
});

describe("an outage", () => {
  const failure = { reason: "silent", retryAt: null };

  it("lasts until calls have succeeded for a minute", () => {
    const first = recordCall(undefined, failure, 1_000);
    expect(first).toMatchObject({ since: 1_000, failures: 1, probeAt: 16_000 });
    const back = recordCall(first, null, 20_000);
    expect(back).toMatchObject({ since: 1_000, recoveredAt: 20_000 });
    expect(recordCall(back, null, 79_999)).toEqual(back);
    expect(recordCall(back, null, 80_000)).toBeUndefined();
    expect(recordCall(back, failure, 30_000)).toMatchObject({ since: 1_000, recoveredAt: null });
  });

  it("is probed more and more rarely, and never before the provider allows it", () => {
    let outage = recordCall(undefined, failure, 0);
    for (let i = 0; i < 20; i++) outage = recordCall(outage, failure, 0);
    expect(outage?.probeAt).toBe(300_000);
    expect(recordCall(outage, { reason: "banned", retryAt: 3_600_000 }, 0)?.probeAt).toBe(
      3_600_000,
    );
  });
});
