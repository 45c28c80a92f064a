import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { formatBody } from "../../../src/webhooks/delivery/format-body.ts";
import { computeNextAttemptAt } from "../../../src/webhooks/delivery/retry-schedule.ts";
import type { WEBHOOK_FORMATS } from "../../../src/webhooks/model/tables.ts";

const EVENT = {
  id: "event-1",
  kind: "PAYMENT_ON_CHAIN_STATUS_CHANGED",
  sequence: 3,
  createdAt: Date.UTC(2026, 0, 2),
  data: JSON.stringify({
    id: "payment-1",
    onChainState: "FundsLocked",
    blockchainIdentifier: "a".repeat(3_000),
    NextAction: { requestedAction: "None", errorType: null, errorNote: null },
    RequestedFunds: [
      { amount: "5000000", unit: "" },
      { amount: "10500", unit: "" },
      { amount: "7", unit: "abcd" },
    ],
    PaymentSource: { network: "Preprod" },
    CurrentTransaction: null,
    agentIdentifier: "agent-1",
  }),
};
const TEXT = [
  "PAYMENT_ON_CHAIN_STATUS_CHANGED",
  "State: FundsLocked",
  "Next action: None",
  "Requested: 5 ADA, 0.0105 ADA, 7 abcd",
  "Network: Preprod",
  "Agent: agent-1",
  "Id: payment-1",
].join("\n");
const unescaped = (text: string) => text.replace(/\\/g, "");
const parsed = (format: (typeof WEBHOOK_FORMATS)[number], event = EVENT) =>
  JSON.parse(formatBody(format, event));

describe("a body in the format", () => {
  it("EXTENDED holds the record's text as it is", () => {
    const data = `{"fees":0.10,"note":"\\u00e9"}`;
    expect(formatBody("EXTENDED", { ...EVENT, data })).toBe(
      `{"id":"event-1","type":"${EVENT.kind}","event_type":"${EVENT.kind}",` +
        `"timestamp":"2026-01-02T00:00:00.000Z","webhook_id":"event-1","sequence":3,"data":${data}}`,
    );
  });

  it("CHAT, GOOGLE_CHAT and DISCORD tells the same in lines, leaving out what is empty", () => {
    expect(parsed("CHAT")).toEqual({ text: TEXT });
    expect(parsed("GOOGLE_CHAT")).toEqual({ text: TEXT });
    const { content, allowed_mentions: mentions } = parsed("DISCORD");
    expect(unescaped(content)).toBe(TEXT);
    expect(mentions).toEqual({ parse: [] });
  });

  it("of another record lists its plain fields", () => {
    const data = JSON.stringify({
      attemptId: "a",
      amount: "5",
      success: true,
      nested: {},
      none: null,
    });
    expect(parsed("CHAT", { ...EVENT, kind: "X402_PAYMENT_SETTLED", data }).text).toBe(
      "X402_PAYMENT_SETTLED\nattemptId: a\namount: 5\nsuccess: true",
    );
  });
});

describe("a chat message, whatever a stranger put into the record", () => {
  const piece = fc.oneof(
    fc.string({ unit: "binary" }),
    fc.constantFrom("<!channel>", "<@U1>", "@everyone", "@here", "<users/all>", "[a](https://b)"),
  );
  const value = fc.array(piece, { maxLength: 40 }).map((pieces) => pieces.join(" "));
  const record = fc.dictionary(value, fc.oneof(value, fc.integer(), fc.constant(null)), {
    maxKeys: 30,
  });

  it("is short enough, one line per field, and mentions and links nobody", () => {
    fc.assert(
      fc.property(record, (fields) => {
        const event = { ...EVENT, kind: "WALLET_LOW_BALANCE", data: JSON.stringify(fields) };
        const [chat, google] = [parsed("CHAT", event).text, parsed("GOOGLE_CHAT", event).text];
        const discord = parsed("DISCORD", event).content;
        for (const text of [chat, google, discord]) {
          expect(text.length).toBeLessThanOrEqual(2_000);
          expect(text.isWellFormed()).toBe(true);
          expect(text.split("\n").length).toBeLessThanOrEqual(Object.keys(fields).length + 1);
        }
        expect(chat).not.toMatch(/[<>]/);
        expect(google).not.toMatch(/<[^\u200b]/);
        expect(discord).not.toMatch(/@[^\u200b]|(?<!\\)[<[]/);
      }),
    );
  });

  it("CHAT tells what wallets were topped up by", () => {
    const distributions = [
      { requestId: "a", assetUnit: "", amount: "5000000" },
      { requestId: "b", assetUnit: "ab".repeat(28), amount: "7" },
    ];
    const data = JSON.stringify({ batchId: "c", distributions });
    expect(parsed("CHAT", { ...EVENT, kind: "FUND_DISTRIBUTION_SENT", data }).text).toBe(
      `FUND_DISTRIBUTION_SENT\nbatchId: c\ndistributions: 5 ADA, 7 ${"ab".repeat(28)}`,
    );
  });

  it("keeps a name with a line break on one line, as its value", () => {
    const data = JSON.stringify({ "no\nte": "a\r\nb" });
    const { text } = parsed("CHAT", { ...EVENT, kind: "WALLET_LOW_BALANCE", data });
    expect(text).toBe("WALLET_LOW_BALANCE\nno te: a b");
  });

  it("has the whole address that a wallet without funds is to receive them at", () => {
    const address = `addr_test1${"q".repeat(98)}`;
    const note = `wallet ${"ab".repeat(28)} holds too little for 3 purchases: send at least 7280060 to ${address}, and the lock continues automatically`;
    const { text } = parsed("CHAT", {
      ...EVENT,
      kind: "WALLET_STUCK",
      data: JSON.stringify({ note }),
    });
    expect(text).toBe(`WALLET_STUCK\nnote: ${note}`);
  });

  it("keeps a field that has too many code points short without breaking one", () => {
    const data = JSON.stringify({ note: "😀".repeat(700) });
    const { text } = parsed("CHAT", { ...EVENT, kind: "WALLET_LOW_BALANCE", data });
    expect(text).toBe(`WALLET_LOW_BALANCE\nnote: ${"😀".repeat(599)}…`);
  });
});

describe("the time of the next attempt", () => {
  it("lies between four fifths of the wait and the wait, and never before what was asked for", () => {
    const waits = [5, 300, 1_800, 7_200, 18_000, 36_000, 50_400, 72_000, 86_400];
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 12 }),
        fc.option(fc.integer({ min: 0, max: 200_000 })),
        fc.double({ min: 0, max: 0.999, noNaN: true }),
        (failed, asked, random) => {
          const at = computeNextAttemptAt(failed, 0, asked === null ? null : asked * 1000, random);
          const wait = waits[failed - 1];
          if (wait === undefined) {
            expect(at).toBeNull();
            return;
          }
          const floor = Math.max(wait * 0.8, Math.min(asked ?? 0, 86_400)) * 1000;
          expect(at).toBeGreaterThanOrEqual(floor);
          expect(at).toBeLessThanOrEqual(Math.max(wait * 1000, floor));
        },
      ),
    );
  });
});
