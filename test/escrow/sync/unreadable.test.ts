import { beforeEach, expect, it, vi } from "vitest";
import { call, emptyTables } from "../../support/app.ts";
import { TestChain } from "../../support/chain.ts";
import { createSource, settle } from "../../support/sources/sync.ts";

beforeEach(emptyTables);

const V1 = "Web3ChainV1";
const lock = (as: string) => ({ do: "lock", as, version: V1 });

/** What the API answers to an Admin. */
async function shown<T>(path: string): Promise<T> {
  const answer = await call(`/api/v1${path}`);
  return ((await answer.json()) as { data: T }).data;
}

/** What the service logged, by calls of a method of the console. */
const linesOf = (calls: unknown[][]) => calls.map(([line]) => JSON.parse(String(line)));

/** The states of both sides of the escrows that are shown, by their identifiers. */
async function states(): Promise<Record<string, string[]>> {
  type Escrow = { blockchainIdentifier: string; onChainState: string };
  const { Payments } = await shown<{ Payments: Escrow[] }>("/payment?network=Preprod");
  const { Purchases } = await shown<{ Purchases: Escrow[] }>("/purchase?network=Preprod");
  const all = Map.groupBy([...Payments, ...Purchases], (one) => one.blockchainIdentifier);
  return Object.fromEntries(
    [...all].map(([name, sides]) => [name, sides.map(({ onChainState }) => onChainState)]),
  );
}

/** A provider's answer with bytes that cannot be read at all. */
function ofNoEra(txHash = ""): Record<string, unknown> {
  return { match: `^/txs/${txHash}/cbor`, status: 200, body: JSON.stringify({ cbor: "80" }) };
}

/** A provider's answer with a transaction as of a later era: it has one part more than all so far. */
async function ofLaterEra(chain: TestChain, txHash = ""): Promise<Record<string, unknown>> {
  const { cbor } = await chain.get<{ cbor: string }>(`/txs/${txHash}/cbor`);
  const [fourParts, fiveParts, nothing] = ["84", "85", "f6"];
  if (!cbor.startsWith(fourParts)) throw new Error(`it has other parts: ${cbor}`);
  const body = JSON.stringify({ cbor: fiveParts + cbor.slice(2) + nothing });
  return { match: `^/txs/${txHash}/cbor`, status: 200, body };
}

it("transactions that cannot be decoded change nothing and stop nothing, and are logged once", async () => {
  const chain = await TestChain.create();
  const source = await createSource(chain);
  const [before, foreign, lost, , after] = await chain.act([
    lock("a"),
    { do: "lockRaw", locks: [{ version: V1, payer: "stranger" }] },
    // The service would own this escrow if it could read the datum.
    lock("b"),
    { do: "requestRefund", on: "a" },
    lock("c"),
    { do: "submitResult", on: "b" },
  ]);
  const hashes = [foreign, lost].map((one) => one?.txHash ?? "");
  await chain.faults(...(await Promise.all(hashes.map((hash) => ofLaterEra(chain, hash)))));
  const error = vi.spyOn(console, "error");
  await settle(chain, source);
  const [first = "", third = ""] = [before, after].map((one) => one?.escrows[0]?.identifier ?? "");
  const expected = {
    [first]: ["RefundRequested", "RefundRequested"],
    [third]: ["FundsLocked", "FundsLocked"],
  };
  expect(await states()).toEqual(expected);

  const [last] = await chain.act([{ do: "submitResult", on: "c" }]);
  await settle(chain, source);
  const lines = linesOf(error.mock.calls);
  error.mockRestore();
  // The transactions are read side by side, in any order.
  expect(lines.toSorted((a, b) => (a.tx < b.tx ? -1 : 1))).toEqual(
    hashes.toSorted().map((tx) => ({
      ...{ event: "sync.transaction_unreadable", source, tx },
      reason: expect.stringMatching(/^TransactionError: /),
    })),
  );
  expect(await states()).toEqual({
    ...expected,
    [third]: ["ResultSubmitted", "ResultSubmitted"],
  });
  const { ExtendedPaymentSources } = await shown<{ ExtendedPaymentSources: unknown[] }>(
    "/payment-source-extended",
  );
  expect(ExtendedPaymentSources).toMatchObject([
    { error: null, syncInProgress: false, lastIdentifierChecked: last?.txHash },
  ]);
});

it("an escrow whose step cannot be decoded goes on from the output that the step made, not from a copy of its datum", async () => {
  const chain = await TestChain.create();
  const source = await createSource(chain);
  const [locked, step, copied] = await chain.act([
    lock("a"),
    { do: "requestRefund", on: "a" },
    { do: "lockAgain", on: "a", as: "copy", payer: "stranger" },
    { do: "submitResult", on: "copy" },
  ]);
  await chain.faults(
    ...(await Promise.all([step, copied].map((one) => ofLaterEra(chain, one?.txHash)))),
  );
  await settle(chain, source);
  const identifier = locked?.escrows[0]?.identifier ?? "";
  expect(await states()).toMatchObject({ [identifier]: ["RefundRequested", "RefundRequested"] });

  await chain.act([{ do: "submitResult", on: "a" }]);
  await settle(chain, source);
  expect(await states()).toMatchObject({ [identifier]: ["Disputed", "Disputed"] });
});

it("an escrow whose step cannot be read at all is a person's to look at, as the record says, and others go on", async () => {
  const chain = await TestChain.create();
  const source = await createSource(chain);
  const [locked, other, step] = await chain.act([
    lock("a"),
    lock("b"),
    { do: "requestRefund", on: "a" },
    { do: "requestRefund", on: "b" },
    { do: "submitResult", on: "a" },
  ]);
  await chain.faults(ofNoEra(step?.txHash));
  await settle(chain, source);
  const [lost = "", whole = ""] = [locked, other].map((one) => one?.escrows[0]?.identifier);
  expect(await states()).toEqual({
    [lost]: ["FundsOrDatumInvalid", "FundsOrDatumInvalid"],
    [whole]: ["RefundRequested", "RefundRequested"],
  });
  const { Payments } = await shown<{ Payments: { blockchainIdentifier: string }[] }>(
    "/payment?network=Preprod",
  );
  expect(Payments.find((one) => one.blockchainIdentifier === lost)).toMatchObject({
    NextAction: {
      requestedAction: "WaitingForManualAction",
      errorType: "Unknown",
      errorNote: expect.stringContaining("its redeemer is unreadable"),
    },
    CurrentTransaction: { txHash: step?.txHash },
  });
});

it("an escrow by datum hash is skipped, the log says so, and the sync continues", async () => {
  const chain = await TestChain.create();
  const source = await createSource(chain);
  const info = vi.spyOn(console, "info");
  const [mixed] = await chain.act([
    { do: "lockAll", orders: ["a", "b"].map((as, i) => ({ as, version: V1, isByHash: i === 0 })) },
    { do: "submitResult", on: "b" },
  ]);
  await settle(chain, source);
  const lines = linesOf(info.mock.calls);
  info.mockRestore();
  expect(lines.filter(({ event }) => event === "sync.output_skipped")).toEqual([
    {
      event: "sync.output_skipped",
      tx: mixed?.txHash,
      index: 0,
      reason: "only a datum hash, which the service does not sync",
    },
  ]);
  const followed = mixed?.escrows[1]?.identifier ?? "";
  expect(await states()).toEqual({ [followed]: ["ResultSubmitted", "ResultSubmitted"] });

  await chain.act([{ do: "requestRefund", on: "b" }]);
  await settle(chain, source);
  expect(await states()).toEqual({ [followed]: ["Disputed", "Disputed"] });
});
