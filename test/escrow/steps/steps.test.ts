import { env } from "cloudflare:workers";
import { beforeEach, describe, expect, it } from "vitest";
import { IDLE_PROGRESS } from "../../../src/escrow/model/intent.ts";
import { emptyTables } from "../../support/app.ts";
import { RESULT, StepFixture } from "../../support/escrow/step-fixture.ts";
import { insertKey } from "../../support/keys.ts";

beforeEach(emptyTables);

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const ISO = /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/;

const at = (ms: number) => String(Date.now() + ms);
const audited = () =>
  env.DB.prepare("SELECT count(*) AS n FROM audit WHERE action LIKE '%.step'").first<number>("n");

describe("POST /payment/submit-result", () => {
  it("stores one result, and gives the same answer to a repeated request", async () => {
    const fixture = await StepFixture.open("Web3ChainV1");
    const key = { "idempotency-key": "job-1" };
    const first = await fixture.ask("submit-result", { submitResultHash: "AB".repeat(32) }, key);
    expect(first).toMatchObject({
      status: 200,
      data: {
        onChainState: "FundsLocked",
        resultHash: "",
        NextAction: {
          requestedAction: "SubmitResultRequested",
          resultHash: RESULT,
          errorType: null,
        },
        TransactionHistory: [],
      },
    });
    expect(await fixture.ask("submit-result")).toMatchObject({ status: 200, data: first.data });
    expect(await fixture.ask("submit-result", { submitResultHash: "cd".repeat(32) })).toMatchObject(
      {
        status: 409,
        message:
          "blockchainIdentifier: SubmitResult of the payment was requested and is not done yet",
      },
    );
    expect((await fixture.ask("authorize-refund")).status).toBe(409);

    await fixture.act("payment");
    expect(await fixture.state()).toBe("ResultSubmitted");
    expect((await fixture.ask("submit-result")).data).toMatchObject({
      onChainState: "ResultSubmitted",
      NextAction: { requestedAction: "WaitingForExternalAction", resultHash: null },
    });
    const again = await fixture.ask("submit-result", {}, key);
    expect({ ...again.data, nextActionLastChangedAt: "" }).toEqual({
      ...first.data,
      nextActionLastChangedAt: "",
      nextActionOrOnChainStateOrResultLastChangedAt: again.data.nextActionLastChangedAt,
    });
    expect(
      await fixture.ask("submit-result", { submitResultHash: "cd".repeat(32) }, key),
    ).toMatchObject({ status: 422 });
    expect(await audited()).toBe(1);
  });

  it("replaces a wrong hash, after the seller's cooldown", async () => {
    const fixture = await StepFixture.open("Web3ChainV2");
    await fixture.take("submit-result");
    const { data } = await fixture.ask("submit-result", { submitResultHash: "cd".repeat(32) });
    expect(data.NextAction.requestedAction).toBe("SubmitResultRequested");
    await fixture.act("payment");
    expect((await fixture.buying.only("payment")).resultHash).toBe(RESULT);
    await fixture.later(HOUR / 2);
    await fixture.act("payment");
    expect(await fixture.buying.only("purchase")).toMatchObject({
      onChainState: "ResultSubmitted",
      resultHash: "cd".repeat(32),
    });
  });
});

describe("a step that is asked for", () => {
  it("is refused with the state or the time that prevents it", async () => {
    const fixture = await StepFixture.open("Web3ChainV1");
    const message = async (...asked: Parameters<StepFixture["ask"]>) =>
      (await fixture.ask(...asked)).message;
    const of = (text: string) => `blockchainIdentifier: ${text}`;
    expect(await message("authorize-refund")).toBe(
      of("the payment is FundsLocked, and authorize-refund is possible while it is Disputed"),
    );
    expect(await message("withdraw-refund")).toMatch(/withdraw-refund is possible from 20/);
    expect(await message("cancel-refund-request")).toBe(
      of(
        "the purchase is FundsLocked, and cancel-refund-request is possible while it is RefundRequested or Disputed",
      ),
    );
    await fixture.put("purchase", { state: { onChainState: "FundsOrDatumInvalid" } });
    expect(await message("request-refund")).toBe(
      of(
        "the purchase is FundsOrDatumInvalid, and request-refund is possible while it is FundsLocked or ResultSubmitted",
      ),
    );
    await fixture.put("payment", { state: { onChainState: "RefundRequested" } });
    expect(await message("authorize-refund")).toMatch(
      /nothing to authorize: without a result the buyer can collect the refund from 20/,
    );
    const over = { onChainState: "FundsLocked" as const };
    await fixture.put("payment", { state: over, terms: { submitResultTime: at(1.9 * MINUTE) } });
    expect(await message("submit-result")).toMatch(
      new RegExp(
        `the time to request submit-result ended at ${ISO.source}, 2 minutes before the deadline`,
      ),
    );
    await fixture.put("payment", { terms: { submitResultTime: at(2.2 * MINUTE) } });
    expect((await fixture.ask("submit-result")).status).toBe(200);

    const cooling = { onChainState: "ResultSubmitted" as const, buyerCooldown: at(HOUR) };
    await fixture.put("purchase", { state: cooling, terms: { unlockTime: at(HOUR + MINUTE) } });
    expect(await message("request-refund")).toMatch(
      /is possible from 20.*, too late for the deadline/,
    );
    await fixture.put("purchase", { state: { buyerCooldown: String(2n ** 53n - 1n) } });
    expect(await message("request-refund")).toBe(
      of("request-refund is impossible: its earliest time is after its deadline"),
    );
    const manual = { isManual: true, type: "Unknown", note: "Somebody moved it", txHash: null };
    await fixture.put("purchase", { progress: { error: manual } });
    expect(await message("request-refund")).toMatch(/waits for a person's decision: Somebody/);
    await fixture.put("purchase", { state: { onChainState: null } });
    expect(await message("request-refund")).toBe(of("the purchase's funds are not locked"));
  });

  it("is open to the record's owner and to Admins, within the wallets of the key", async () => {
    const fixture = await StepFixture.open("Web3ChainV2");
    const as = async (options: Parameters<typeof insertKey>[0]) => ({
      token: await insertKey({ canPay: true, ...options }),
    });
    const { id } = (await fixture.buying.only("payment")).SmartContractWallet ?? { id: "" };
    expect(await fixture.ask("submit-result", {}, await as({}))).toMatchObject({
      status: 403,
      message: "blockchainIdentifier: the payment belongs to another API key",
    });
    expect(
      await fixture.ask("submit-result", {}, await as({ networkLimit: ["Mainnet"] })),
    ).toMatchObject({ status: 403 });
    expect(
      await fixture.ask("submit-result", {}, await as({ walletLimit: ["other"] })),
    ).toMatchObject({
      status: 404,
      message: "blockchainIdentifier: there is no such payment",
    });
    const owner = await as({ id: "owner", walletLimit: [id] });
    await env.DB.prepare("UPDATE escrow SET requested_by_id = 'owner'").run();
    expect((await fixture.ask("submit-result", {}, owner)).status).toBe(200);
    expect((await fixture.ask("request-refund", {}, owner)).status).toBe(404);
    const revoked = await as({ id: "revoked", status: "Revoked" });
    await env.DB.prepare("UPDATE escrow SET requested_by_id = 'revoked'").run();
    expect((await fixture.ask("submit-result", {}, revoked)).status).toBe(401);
    expect((await fixture.ask("submit-result")).status).toBe(200);
    expect((await fixture.ask("request-refund")).status).toBe(200);
  });

  it("is not taken later by an Idempotency-Key that was answered that there is nothing to do", async () => {
    const fixture = await StepFixture.open("Web3ChainV1");
    const key = { "idempotency-key": "once" };
    expect((await fixture.ask("request-refund")).status).toBe(200);
    expect((await fixture.ask("request-refund", {}, key)).status).toBe(200);
    await fixture.act("purchase");
    await fixture.later(HOUR / 3);
    await fixture.take("cancel-refund-request");
    expect(await fixture.state()).toBe("FundsLocked");
    expect(await fixture.ask("request-refund", {}, key)).toMatchObject({
      status: 200,
      data: { NextAction: { requestedAction: "WaitingForExternalAction" } },
    });
    expect((await fixture.ask("request-refund")).data.NextAction.requestedAction).toBe(
      "SetRefundRequestedRequested",
    );
  });

  it("is refused where nobody would take it", async () => {
    const fixture = await StepFixture.open("Web3ChainV2");
    const { sourceId } = fixture.buying.fixture;
    const change = (fields: object) =>
      fixture.buying.fixture.ask("PATCH", "/payment-source-extended", { id: sourceId, ...fields });
    await change({ drives: "finish" });
    expect((await fixture.ask("request-refund")).status).toBe(200);
    await change({ drives: "nothing" });
    expect(await fixture.ask("submit-result")).toMatchObject({
      status: 503,
      message: `The payment source ${sourceId} takes no steps: its drives is nothing`,
    });
    await change({ drives: "all" });
    await env.DB.prepare("UPDATE managed_wallet SET deleted_at = 1 WHERE role = 'Selling'").run();
    expect(await fixture.ask("submit-result")).toMatchObject({
      status: 409,
      message: "blockchainIdentifier: the wallet was removed. Add the wallet again first.",
    });
  });

  it("takes the place of one that comes by itself and is not begun", async () => {
    const fixture = await StepFixture.open("Web3ChainV2");
    await fixture.take("submit-result");
    const intent = {
      id: "w",
      step: "Withdraw",
      resultHash: null,
      by: "automatic",
      since: 1,
    } as const;
    await fixture.put("payment", {
      state: { sellerCooldown: "0" },
      progress: { ...IDLE_PROGRESS, intent },
    });
    expect((await fixture.ask("withdraw")).data.NextAction.requestedAction).toBe(
      "WithdrawRequested",
    );
    expect((await fixture.ask("authorize-refund")).data.NextAction).toMatchObject({
      requestedAction: "AuthorizeRefundRequested",
    });
  });
});
