import { env } from "cloudflare:workers";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { ProviderError } from "../../src/chain/provider/provider.ts";
import {
  createFallbackSubmitters,
  submitWithFallback,
} from "../../src/sources/submit-with-fallback.ts";
import { emptyTables } from "../support/app.ts";
import {
  MINTED_ONCE,
  type RegistrationFixture,
  requested,
} from "../support/registry/registration-fixture.ts";

beforeEach(emptyTables);
afterEach(() => {
  vi.unstubAllGlobals();
});

const BYTES = Uint8Array.of(0x84, 0xa0);

type Answer = null | { refused: string } | ProviderError;

/** Submits to places that give these answers, and tells how many were asked. */
async function submitTo(first: Answer, ...others: Answer[]) {
  let asked = 0;
  const place = (answer: Answer) => async (cbor: Uint8Array) => {
    asked++;
    expect(cbor).toBe(BYTES);
    if (answer instanceof ProviderError) throw answer;
    return answer;
  };
  const outcome = await submitWithFallback([place(first), ...others.map(place)], BYTES).catch(
    (error: unknown) => error,
  );
  return { outcome, asked };
}

const VIEW = { refused: "unknown inputs" };
const BAD = { refused: "FeeTooSmallUTxO" };
const SILENT = new ProviderError("no answer");
const BANNED = new ProviderError("status 418", { status: 418, retryAt: 1 });

describe("submitWithFallback", () => {
  it.each([
    ["the first accepts", [null, null], null, 1],
    ["the first refuses the bytes", [BAD, null], BAD, 1],
    ["the first refuses by what it knows", [VIEW, null], null, 2],
    ["the first is silent", [SILENT, null], null, 2],
    ["the first is banned", [BANNED, null], null, 2],
    ["two do not take it", [BANNED, VIEW, null], null, 3],
    ["the second refuses the bytes", [SILENT, BAD, null], BAD, 2],
    ["all refuse by what they know", [VIEW, { refused: "mempool" }], VIEW, 2],
    ["there is one place", [VIEW], VIEW, 1],
    ["one of those that did not take it may have it", [VIEW, SILENT], SILENT, 2],
    ["none answers", [BANNED, SILENT], BANNED, 2],
  ] as [string, [Answer, ...Answer[]], Answer, number][])(
    "when %s",
    async (_, answers, outcome, asked) => {
      expect(await submitTo(...answers)).toEqual({ outcome, asked });
    },
  );
});

/** The port of no service: what is sent there goes to the stubbed fetch. */
const PLACE = "http://127.0.0.1:9";

/** Has a node's submit API answer at `PLACE`. @returns the bytes it gets, hex */
function stubPlace(answer: (body: Uint8Array<ArrayBuffer>) => Promise<Response> | Response) {
  const got: string[] = [];
  const { fetch } = globalThis;
  vi.stubGlobal("fetch", async (input: string | URL, init: RequestInit = {}) => {
    if (new URL(input).origin !== PLACE) return fetch(input, init);
    const request = new Request(input, init);
    expect(request.method).toBe("POST");
    expect(request.headers.get("content-type")).toBe("application/cbor");
    expect([...request.headers.keys()]).not.toContain("project_id");
    const body = new Uint8Array(await request.arrayBuffer());
    got.push(Buffer.from(body).toString("hex"));
    return answer(body);
  });
  return got;
}

const json = (body: unknown, status: number) => new Response(JSON.stringify(body), { status });

describe("a place of SUBMIT_URLS_<NETWORK>", () => {
  const bindings = { ...env, LOOPBACK_ORIGINS: PLACE };

  function submit(urls: string) {
    const [place] = createFallbackSubmitters({ ...bindings, SUBMIT_URLS_PREPROD: urls }, "Preprod");
    if (!place) throw new Error("there is no place");
    return place(BYTES);
  }

  it("is posted the bytes, and answers with the hash or with the refusal", async () => {
    const answers = [
      json("ab".repeat(32), 202),
      json("ab".repeat(32), 200),
      new Response("ab".repeat(32), { status: 202 }),
      json({ message: "FeeTooSmallUTxO" }, 400),
      json({ tag: "TxSubmitFail", contents: "BadInputsUTxO" }, 400),
    ];
    const got = stubPlace(() => answers.shift() ?? json("", 500));
    const outcomes = [];
    for (let i = 0; i < 5; i++) outcomes.push(await submit(`${PLACE}/api/submit/tx`));
    expect(outcomes).toEqual([
      null,
      null,
      null,
      { refused: "FeeTooSmallUTxO" },
      { refused: '{"tag":"TxSubmitFail","contents":"BadInputsUTxO"}' },
    ]);
    expect(got).toEqual(Array(5).fill("84a0"));
  });

  it.each([
    ["403", () => json({}, 403)],
    ["500", () => json({}, 500)],
    ["a redirect", () => new Response(null, { status: 302, headers: { location: PLACE } })],
    ["another answer", () => json({ ok: true }, 200)],
    ["far too long an answer", () => new Response("x".repeat(100_000))],
    ["a failed connection", () => Promise.reject(new TypeError("network"))],
  ])("that answers with %s may have the bytes, and the error shows no key", async (_, answer) => {
    const warn = vi.spyOn(console, "warn").mockImplementation(() => {});
    stubPlace(answer);
    const error = await submit(`${PLACE}/submit?key=secret`).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(ProviderError);
    expect(`${error}`).toContain(PLACE);
    expect(`${error} ${warn.mock.calls}`).not.toContain("secret");
    expect(warn).toHaveBeenCalledWith(expect.stringContaining("submit.place_failed"));
    warn.mockRestore();
  });

  it.each([
    ["http://submit.example.com/tx", "must be an https URL"],
    ["http://127.0.0.1:10/tx", "npm start -- --origins=http://127.0.0.1:10"],
    ["https://10.0.0.1/tx", "must have a public host name"],
    ["https://user:secret@submit.example.com/tx", "must not hold a user or a password"],
    ["submit.example.com", "must be a URL"],
  ])("%s is not asked", async (url, why) => {
    const warn = vi.spyOn(console, "warn").mockImplementation(() => {});
    const got = stubPlace(() => json("ab".repeat(32), 202));
    await expect(submit(url)).rejects.toThrow(why);
    expect(`${warn.mock.calls}`).not.toContain("secret");
    expect(got).toEqual([]);
    warn.mockRestore();
  });

  it("is one of several, separated by commas, for its network only", () => {
    const urls = `${PLACE}/a, ${PLACE}/b,`;
    expect(
      createFallbackSubmitters({ ...bindings, SUBMIT_URLS_MAINNET: urls }, "Mainnet"),
    ).toHaveLength(2);
    expect(createFallbackSubmitters({ ...bindings, SUBMIT_URLS_MAINNET: urls }, "Preprod")).toEqual(
      [],
    );
  });
});

describe("a transaction that the provider does not take", () => {
  /** Has the place hand what it gets to the chain, through the provider's other door. */
  function toChain({ chain }: RegistrationFixture) {
    return stubPlace(async (body) => {
      const headers = { "content-type": "application/cbor", project_id: "place" };
      const answer = await fetch(`${chain.url}/tx/submit?place`, { method: "POST", headers, body });
      return new Response(answer.body, { status: answer.status === 200 ? 202 : answer.status });
    });
  }

  it.each([
    ["bans", { status: 418 }],
    ["is busy", { status: 425 }],
    ["fails", { status: 502 }],
    ["is silent", { hang: true }],
    [
      "refuses for what it knows",
      { status: 400, body: '{"message":"All inputs are spent. Probably included"}' },
    ],
  ])("because it %s goes to the next place, the same bytes", async (_, fault) => {
    const { fixture, id } = await requested();
    fixture.bindings = { SUBMIT_URLS_PREPROD: `${PLACE}/submit`, LOOPBACK_ORIGINS: PLACE };
    const got = toChain(fixture);
    await fixture.chain.faults({ match: "^/tx/submit$", ...fault });
    await fixture.work();
    const { CurrentTransaction } = await fixture.shown(id);
    expect(got).toHaveLength(1);
    const { cbor } = await fixture.chain.get<{ cbor: string }>(
      `/txs/${CurrentTransaction?.txHash}/cbor`,
    );
    expect(got).toEqual([cbor]);
    expect(await fixture.tokens()).toMatchObject(MINTED_ONCE);
  });

  it("because its bytes are bad goes nowhere else", async () => {
    const { fixture } = await requested();
    fixture.bindings = { SUBMIT_URLS_PREPROD: `${PLACE}/submit`, LOOPBACK_ORIGINS: PLACE };
    const got = toChain(fixture);
    const body = '{"message":"FeeTooSmallUTxO"}';
    await fixture.chain.faults({ match: "^/tx/submit$", status: 400, body });
    await fixture.work();
    expect(got).toEqual([]);
    expect(await fixture.tokens()).toMatchObject({ minted: 0 });
  });
});
