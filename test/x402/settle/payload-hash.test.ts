import { isDeepStrictEqual } from "node:util";
import fc from "fast-check";
import { beforeAll, describe, expect, it } from "vitest";
import { call, emptyTables } from "../../support/app.ts";
import { runs } from "../../support/effort.ts";
import { type SettleData, X402Fixture } from "../x402-fixture.ts";

/** The payload of the interface; it has no authorization, so it is hashed and then refused. */
const PAYLOAD = {
  x402Version: 2,
  resource: { url: "https://api.example.com/premium-data" },
  accepted: {
    scheme: "exact",
    network: "eip155:84532",
    asset: "0x036CbD53842c5426634e7929541eC2318f3dCF7e",
    amount: "10000",
    payTo: "0x209693Bc6afc0C5328bA36FaF03C514EF312287C",
    maxTimeoutSeconds: 300,
  },
  payload: { signature: "0x2d6a" },
};

let x402: X402Fixture;
let source: { id: string };

beforeAll(async () => {
  await emptyTables();
  x402 = await open("84532-hash");
  source = await sourceOf(PAYLOAD);
});

/** A node with a token where the payload wants it. */
async function open(name: string): Promise<X402Fixture> {
  const opened = await X402Fixture.create(name);
  const code = await opened.rpc("eth_getCode", opened.contracts.token, "latest");
  await opened.rpc("anvil_setCode", PAYLOAD.accepted.asset, code);
  return opened;
}

/** The resource that a payload pays for. */
async function sourceOf({ resource, accepted }: typeof PAYLOAD, on = x402) {
  const { asset, amount, payTo, maxTimeoutSeconds } = accepted;
  return on.source({ url: resource.url, asset, amount, payTo, maxTimeoutSeconds });
}

/** @param text - JSON of a payload, sent as it stands */
async function hashOf(text: string, of = source): Promise<string> {
  const body = `{"supportedPaymentSourceId":${JSON.stringify(of.id)},"paymentPayload":${text}}`;
  const response = await call("/api/v1/x402/settle", { method: "POST", body });
  const { data, error } = (await response.json()) as {
    data?: SettleData;
    error?: { message: string };
  };
  if (!data) throw new Error(error?.message);
  return data.paymentPayloadHash;
}

const withNote = (note: unknown) => ({ ...PAYLOAD, payload: { ...PAYLOAD.payload, note } });

describe("paymentPayloadHash", () => {
  it("is the SHA-256 of the payload's canonical JSON", async () => {
    expect(await hashOf(JSON.stringify(PAYLOAD))).toBe(
      "3d5c7ce3b4b466a72d9cc90371e4b07a09cb0911348b098e90013cae59a01c9f",
    );
  });

  it("sorts names by code unit, and escapes what existing services escape", async () => {
    const hard = {
      note: '\u007f\u009f\u00ad\u0600\u070f\u17b4\u200d\u2028\u2060\ufeff\uffff é 😀 "\\\n\t\b/',
      list: [3, 1, 2, [], {}, null],
      number: [0, 1.5, 1e21, 1e-7, -12],
      é: 1,
      z: 2,
      Z: 3,
      "10": 4,
      "9": 5,
      "": 6,
      "😀": 7,
      "\uffee": 8,
    };
    const payload = { ...PAYLOAD, payload: { ...PAYLOAD.payload, ...hard } };
    expect(await hashOf(JSON.stringify(payload))).toBe(
      "f016901235eb4e283273bfbef00e0a0e5d5b103de7eafdb0d3730a6c728e2249",
    );
  });

  it("refuses a payload that is nested 20,000 deep without computing its hash", async () => {
    const deep = "[".repeat(20_000) + "]".repeat(20_000);
    const text = JSON.stringify(withNote("note")).replace('"note":"note"', `"note":${deep}`);
    for (const path of ["settle", "verify", "facilitator/settle", "facilitator/verify"]) {
      const body = `{"supportedPaymentSourceId":"${source.id}","paymentPayload":${text}}`;
      const answer = await call(`/api/v1/x402/${path}`, { method: "POST", body });
      expect({ path, status: answer.status, text: await answer.text() }).toEqual({
        path,
        status: 400,
        text: expect.stringContaining("body: must be nested at most 64 levels deep"),
      });
    }
  });

  it("tells true, false, null and what is empty apart", async () => {
    const hashes = [true, false, null, {}, [], "", 0].map((note) =>
      hashOf(JSON.stringify(withNote(note))),
    );
    expect(new Set(await Promise.all(hashes)).size).toBe(hashes.length);
  });

  it("is the same however the JSON is written, and whatever the service drops of it", async () => {
    const style = fc.record({
      order: fc.infiniteStream(fc.nat()),
      indent: fc.constantFrom("", " ", "\t", "\n"),
      isEscaped: fc.boolean(),
    });
    const dropped = fc.jsonValue({ maxDepth: 1 });
    await fc.assert(
      fc.asyncProperty(
        fc.jsonValue({ stringUnit: "binary" }),
        style,
        dropped,
        async (note, how, extra) => {
          const payload = withNote(note);
          const dressed = {
            ...payload,
            note: extra,
            resource: { ...payload.resource, description: extra, mimeType: extra },
            accepted: { ...payload.accepted, note: extra },
          };
          expect(await hashOf(written(dressed, how))).toBe(await hashOf(JSON.stringify(payload)));
        },
      ),
      runs(10, 300),
    );
  });

  it("is another for every other value that a payload can hold", async () => {
    const value = fc.jsonValue({ stringUnit: "binary" });
    const pair = fc.oneof(
      fc.tuple(value, value),
      value.map((one) => [one, structuredClone(one)] as const),
      fc.tuple(value, fc.nat(), value).map(([one, at, leaf]) => [one, replaced(one, at, leaf)]),
    );
    await fc.assert(
      fc.asyncProperty(pair, async ([a, b]) => {
        const [one, other] = [JSON.stringify(withNote(a)), JSON.stringify(withNote(b))];
        const isSame = (await hashOf(one)) === (await hashOf(other));
        expect(isSame).toBe(isDeepStrictEqual(JSON.parse(one), JSON.parse(other)));
      }),
      runs(10, 300),
    );
  });

  it("is another for every other term, extension and authorization", async () => {
    const base = await open("8453-hash");
    const term = (changes: Partial<(typeof PAYLOAD)["accepted"]>) => ({
      ...PAYLOAD,
      accepted: { ...PAYLOAD.accepted, ...changes },
    });
    const hashes = [
      await hashOf(JSON.stringify(PAYLOAD)),
      await hashOf(JSON.stringify({ ...PAYLOAD, extensions: {} })),
      await hashOf(JSON.stringify({ ...PAYLOAD, extensions: null })),
      await hashOf(JSON.stringify({ ...PAYLOAD, payload: { signature: "0x2D6A" } })),
      await hashOf(JSON.stringify({ ...term({}), accepted: { ...PAYLOAD.accepted, extra: {} } })),
    ];
    for (const payload of [
      { ...PAYLOAD, resource: { url: "https://api.example.com/premium-data/" } },
      term({ amount: "10001" }),
      term({ asset: x402.contracts.token }),
      term({ payTo: `0x${"12".repeat(20)}` }),
      term({ maxTimeoutSeconds: 301 }),
    ])
      hashes.push(await hashOf(JSON.stringify(payload), await sourceOf(payload)));
    const elsewhere = term({ network: base.caip2 });
    hashes.push(await hashOf(JSON.stringify(elsewhere), await sourceOf(elsewhere, base)));
    expect(new Set(hashes).size).toBe(11);
  });
});

interface Style {
  order: fc.Stream<number>;
  indent: string;
  isEscaped: boolean;
}

/** JSON with its members in any order, with blanks, and characters as escapes. */
function written(value: unknown, { order, indent, isEscaped }: Style): string {
  const escaped = (text: string) =>
    `"${Array.from({ length: text.length }, (_, i) => `\\u${text.charCodeAt(i).toString(16).padStart(4, "0")}`).join("")}"`;
  const quoted = (text: string) => (isEscaped ? escaped(text) : JSON.stringify(text));
  const write = (one: unknown): string => {
    if (typeof one === "string") return quoted(one);
    if (Array.isArray(one)) return `[${one.map(write).join(`${indent},`)}${indent}]`;
    if (typeof one !== "object" || one === null) return JSON.stringify(one);
    const members = Object.entries(one)
      .map((member) => ({ member, rank: order.next().value }))
      .sort((a, b) => a.rank - b.rank)
      .map(({ member: [name, of] }) => `${indent}${quoted(name)}${indent}:${write(of)}`);
    return `{${members.join(",")}${indent}}`;
  };
  return write(value);
}

/** The value with one leaf replaced. */
function replaced(value: unknown, at: number, leaf: unknown): unknown {
  if (typeof value !== "object" || value === null) return leaf;
  const names = Object.keys(value);
  const name = names[at % names.length];
  if (name === undefined) return leaf;
  const members = Object.entries(value).map(([key, one]) =>
    key === name ? [key, replaced(one, at, leaf)] : [key, one],
  );
  return Array.isArray(value) ? members.map(([, one]) => one) : Object.fromEntries(members);
}
