import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  combineProviders,
  isUnserved,
  type ProviderMember,
  ProviderView,
} from "../../../src/chain/provider/combine-providers.ts";
import {
  isLacking,
  type Outages,
  PROVIDER_PURPOSES,
  recordCall,
} from "../../../src/chain/provider/outage.ts";
import {
  CallBudgetExhaustedError,
  EvaluationUnavailableError,
  type Provider,
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
      const failure = error && {
        ...{ reason: error.message, retryAt: error.retryAt },
        ...(isUnserved(error) && { isLack: true as const }),
      };
      const after = recordCall(outages[purpose], failure, Date.now());
      const { [purpose]: _, ...others } = outages;
      outages = { ...others, ...(after && { [purpose]: after }) };
    },
  };
}

const fail = (): Promise<never> => Promise.reject(FAILURE);
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

  it("is chosen once for two openings of the list that share a view", async () => {
    const view = new ProviderView();
    const open = () => ["a", "b"].map((name) => createMember({ name }));
    const [first, second] = [combineProviders(open(), view), combineProviders(open(), view)];
    expect(await first.block(1)).toBe("a");
    expect(view.reader).toBe(0);
    expect(await second.block(1)).toBe("a");
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
    ["a call that is too large for it", new ProviderError("", { status: 413, permanent: true })],
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
      createMember({ name: "a", evaluate: fail }),
      createMember({ name: "b", evaluate: () => Promise.reject(behind) }),
      createMember({ name: "c", purposes: ["reads"] }),
      createMember({ name: "d" }),
    ];
    expect([...(await combineProviders(members).evaluate(BYTES)).keys()]).toEqual(["d"]);
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

describe("a provider that is known to lack a capability", () => {
  const asks = {
    evaluate: (provider: Provider) => provider.evaluate(BYTES),
    submit: (provider: Provider) => provider.submit(BYTES),
  };
  const lacking = (purpose: keyof typeof asks) => {
    const log: string[] = [];
    const call = () => {
      log.push(`${purpose} at a`);
      return Promise.reject(UNSERVED);
    };
    const a = createMember({ name: "a", [purpose]: call });
    return { a, log };
  };

  it.each(["evaluate", "submit"] as const)("gets no call of it: %s", async (purpose) => {
    const { a, log } = lacking(purpose);
    const members = [a, createMember({ name: "b" })];
    for (let i = 0; i < 3; i++) await asks[purpose](combineProviders(members));
    expect(log).toHaveLength(1);
    expect(a.outages[purpose]).toMatchObject({ isLack: true });
    expect(a.outages.reads).toBeUndefined();
  });

  it.each(["evaluate", "submit"] as const)(
    "is asked if all others lack it: %s",
    async (purpose) => {
      const { a, log } = lacking(purpose);
      for (let i = 0; i < 2; i++)
        await expect(asks[purpose](combineProviders([a]))).rejects.toBe(UNSERVED);
      expect(log).toHaveLength(2);
    },
  );

  it("is asked again after an hour, and serves it from its first answer on", () => {
    const lack = recordCall(undefined, { reason: "", retryAt: null, isLack: true }, 0);
    expect([isLacking(lack, 3_599_999), isLacking(lack, 3_600_000)]).toEqual([true, false]);
    expect(recordCall(lack, null, 3_600_000)).toBeUndefined();
  });
});

describe("a node that is not read", () => {
  const PARAMETERS = { feePerByte: 44n };
  /** A reader that calls two outputs spent, and a node beside it. */
  const combine = (reader: object, node: object) => {
    const spenders = async () => new Map([0, 1].map((index) => [index, "5a".repeat(32)]));
    const first = createMember({ name: "a" });
    Object.assign(first.provider, { spenders, latestBlock: async () => ({ slot: 7 }), ...reader });
    const second = createMember({ name: "b", purposes: ["evaluate"] });
    Object.assign(second.provider, node);
    return { provider: combineProviders([first, second]), second };
  };
  const failParameters = { protocolParameters: fail };
  const giveParameters = { protocolParameters: async () => PARAMETERS };

  it("gives the protocol parameters that the reader does not give", async () => {
    const { provider } = combine(failParameters, giveParameters);
    expect(await provider.protocolParameters()).toBe(PARAMETERS);
    const other = combine({ protocolParameters: async () => null }, giveParameters);
    expect(await other.provider.protocolParameters()).toBeNull();
  });

  it("leaves the reader's failure if it fails, too", async () => {
    const { provider, second } = combine(failParameters, {
      protocolParameters: () => Promise.reject(new ProviderError("node")),
    });
    await expect(provider.protocolParameters()).rejects.toBe(FAILURE);
    expect(second.outages).toMatchObject({ evaluate: { reason: "node" } });
  });

  it("has a say in what is spent, and none when it does not answer", async () => {
    const spentWith = async (unspentOutputs: () => Promise<number[]>) => [
      ...((await combine({}, { unspentOutputs }).provider.spenders("")) ?? []).keys(),
    ];
    expect(await spentWith(async () => [1])).toEqual([0]);
    expect(await spentWith(async () => [])).toEqual([0, 1]);
    expect(await spentWith(fail)).toEqual([0, 1]);
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
