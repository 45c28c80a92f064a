import fc from "fast-check";
import { beforeAll, describe, expect, it } from "vitest";
import { emptyTables } from "../../support/app.ts";
import { runs } from "../../support/effort.ts";
import { insertKey } from "../../support/keys.ts";
import { api, expectOk, X402Fixture } from "../x402-fixture.ts";
import { type Budget, budgetOf, grant, order, pay, purse, terms, type Wallet } from "./paying.ts";

const MAX_UINT256 = 2n ** 256n - 1n;

let x402: X402Fixture;
/** The administrator's; whoever else pays out of it needs a budget. */
let wallet: Wallet;

beforeAll(async () => {
  await emptyTables();
  x402 = await X402Fixture.create("84532-budgets");
  // All that there can ever be of the token: no payment below is more than the wallet holds.
  wallet = await purse(x402, {}, MAX_UINT256);
});

let keys = 0;

/** A key that may pay on the x402's chain, and holds nothing yet. */
async function newKey() {
  const id = `key-${++keys}`;
  const token = await insertKey({ id, canPay: true, networkLimit: [x402.caip2] });
  return { id, token, headers: { token } };
}

/** A payment of an amount of the x402's token. */
const payment = (amount: bigint | string) => order(wallet, [terms(x402, { amount: `${amount}` })]);

const OTHER = `0x${"1".repeat(40)}`;

describe("POST /x402/budgets", () => {
  it("sets what remains, and goes on counting what was spent", async () => {
    const { id, headers } = await newKey();
    const first = await expectOk(await grant(x402, id, wallet, "150"));
    expect(first).toEqual({
      id: expect.any(String),
      apiKeyId: id,
      evmWalletId: wallet.id,
      evmWalletAddress: wallet.address,
      caip2Network: x402.caip2,
      asset: x402.contracts.token.toLowerCase(),
      remainingAmount: "150",
      spentAmount: "0",
      isEnabled: true,
      createdById: "env-admin",
      createdAt: expect.any(String),
      updatedAt: expect.any(String),
    });
    await expectOk(await pay(payment(100n), headers));
    expect(await budgetOf(id)).toMatchObject({ remainingAmount: "50", spentAmount: "100" });
    const again = await expectOk(await grant(x402, id, wallet, MAX_UINT256.toString()));
    expect(again).toMatchObject({
      id: first.id,
      remainingAmount: MAX_UINT256.toString(),
      spentAmount: "100",
      createdAt: first.createdAt,
    });
    expect(await budgetOf(id)).toEqual(again);
  });

  it("is refused for another chain than the wallet's", async () => {
    const { id } = await newKey();
    expect(await grant(x402, id, wallet, "1", { caip2Network: "eip155:1" })).toMatchObject({
      status: 400,
      message: `caip2Network: the wallet is on ${x402.caip2}`,
    });
    await expectOk(await grant(x402, id, wallet, "1", { caip2Network: x402.caip2 }));
  });

  it("refills nothing when it is sent again under its Idempotency-Key", async () => {
    const { id, headers } = await newKey();
    const send = (amount: string) =>
      grant(x402, id, wallet, amount, {}, { "idempotency-key": `grant-${id}` });
    const answers = await Promise.all([1, 2, 3].map(() => send("100")));
    const [first, ...repeats] = await Promise.all(answers.map(expectOk));
    expect(repeats).toEqual([first, first]);
    await expectOk(await pay(payment(100n), headers));
    expect(await expectOk(await send("100"))).toEqual(first);
    expect((await send("101")).status).toBe(422);
    expect(await budgetOf(id)).toMatchObject({ remainingAmount: "0", spentAmount: "100" });
    expect((await pay(payment(1n), headers)).status).toBe(402);
  });

  it("is written when others are written, or spent from, at the same moment", async () => {
    const { id, headers } = await newKey();
    const created = await Promise.all(
      ["100", "200", "300"].map((amount) => grant(x402, id, wallet, amount)),
    );
    const budgets = await Promise.all(created.map(expectOk));
    expect(new Set(budgets.map((budget) => budget.id)).size).toBe(1);
    expect(budgets).toContainEqual(await budgetOf(id));

    const [again, ...paid] = await Promise.all([
      grant(x402, id, wallet, "1000"),
      ...[1, 2, 3, 4].map(() => pay(payment(10n), headers)),
    ]);
    for (const { status } of [again, ...paid]) expect(status).toBe(200);
    const before = BigInt(again.data.spentAmount);
    expect(await budgetOf(id)).toMatchObject({
      spentAmount: "40",
      remainingAmount: `${1000n - (40n - before)}`,
    });
  });

  it("answers 404 for no such key or wallet, 400 for a wallet that sells", async () => {
    const { id } = await newKey();
    expect((await grant(x402, "nobody", wallet, "1")).status).toBe(404);
    expect((await grant(x402, id, { id: "nowhere" }, "1")).status).toBe(404);
    expect((await grant(x402, id, x402.facilitator, "1")).status).toBe(400);
    expect(await budgetOf(id)).toBeUndefined();
  });
});

describe("GET /x402/budgets", () => {
  it("pages newest first by the last id seen", async () => {
    const { id } = await newKey();
    for (const n of [1, 2, 3])
      await expectOk(await grant(x402, id, wallet, `${n}`, { asset: `0x${`${n}`.repeat(40)}` }));
    const page = async (query: string) =>
      (await api<{ Budgets: Budget[] }>(`/x402/budgets?${query}`)).data.Budgets;
    const [third, second] = await page("limit=2");
    expect([third?.remainingAmount, second?.remainingAmount]).toEqual(["3", "2"]);
    expect(await page(`limit=1&cursorId=${second?.id}`)).toMatchObject([{ remainingAmount: "1" }]);
  });

  it("lists the budgets of one key alone", async () => {
    const [one, other] = [await newKey(), await newKey()];
    for (const { id } of [one, other]) await expectOk(await grant(x402, id, wallet, "1"));
    const { data } = await api<{ Budgets: Budget[] }>(`/x402/budgets?apiKeyId=${one.id}`);
    expect(data.Budgets).toEqual([await budgetOf(one.id)]);
  });
});

describe("POST /x402/pay by a key that does not own the wallet", () => {
  it("answers 404 without a budget, and with one in another token only", async () => {
    const { id, headers } = await newKey();
    expect((await pay(payment(1n), headers)).status).toBe(404);
    await expectOk(await grant(x402, id, wallet, "100", { asset: OTHER }));
    expect((await pay(payment(1n), headers)).status).toBe(404);
  });

  it("takes the terms it has a budget for, whatever stands before them", async () => {
    const { id, headers } = await newKey();
    await expectOk(await grant(x402, id, wallet, "100"));
    const accepts = [terms(x402, { asset: OTHER }), terms(x402)];
    const paid = await expectOk(await pay(order(wallet, accepts), headers));
    expect(paid.asset).toBe(x402.contracts.token.toLowerCase());
  });

  it.each([
    ["that its budget covers", "99", {}],
    ["whose budget is on", "1000", { isEnabled: false }],
  ])("takes the first terms %s", async (_, amount, over) => {
    const { id, headers } = await newKey();
    const asset = x402.contracts.feeToken;
    await x402.mint(asset, wallet.address, 10n);
    await expectOk(await grant(x402, id, wallet, amount, over));
    await expectOk(await grant(x402, id, wallet, "10", { asset }));
    const accepts = [terms(x402), terms(x402, { asset, amount: "10" })];
    const paid = await expectOk(await pay(order(wallet, accepts), headers));
    expect(paid.paymentPayload.accepted).toEqual(accepts[1]);
    expect(await pay(order(wallet, accepts), headers)).toMatchObject({
      status: 402,
      message: expect.stringContaining(x402.contracts.token.toLowerCase()),
    });
  });

  it("answers 402 beyond the budget and where it is off, and spends it to the last unit", async () => {
    const { id, headers } = await newKey();
    await expectOk(await grant(x402, id, wallet, "100", { isEnabled: false }));
    expect((await pay(payment(1n), headers)).status).toBe(402);
    await expectOk(await grant(x402, id, wallet, "100"));
    expect((await pay(payment(101n), headers)).status).toBe(402);
    expect(await budgetOf(id)).toMatchObject({ remainingAmount: "100", spentAmount: "0" });
    await expectOk(await pay(payment(100n), headers));
    expect(await budgetOf(id)).toMatchObject({ remainingAmount: "0", spentAmount: "100" });
    expect((await pay(payment(1n), headers)).status).toBe(402);
  });

  it("leaves the budgets of other keys and wallets alone", async () => {
    const [a, b] = [await newKey(), await newKey()];
    await expectOk(await grant(x402, a.id, wallet, "100"));
    await expectOk(await grant(x402, b.id, wallet, "100"));
    await expectOk(await pay(payment(60n), a.headers));
    expect(await budgetOf(b.id)).toMatchObject({ remainingAmount: "100", spentAmount: "0" });
    const other = await expectOk(
      await api<Wallet>("/x402/wallets", { caip2Network: x402.caip2, type: "Purchasing" }),
    );
    expect((await pay(order(other, [terms(x402)]), b.headers)).status).toBe(404);
  });

  it("succeeds exactly ten times of fifty at once where the budget is for ten", async () => {
    const { id, headers } = await newKey();
    await expectOk(await grant(x402, id, wallet, "1000"));
    const answers = await Promise.all(
      Array.from({ length: 50 }, () => pay(payment(100n), headers)),
    );
    const paid = answers.filter(({ status }) => status === 200).map(({ data }) => data);
    expect(answers.map(({ status }) => status).sort()).toEqual([
      ...Array(10).fill(200),
      ...Array(40).fill(402),
    ]);
    const signatures = paid.map(({ paymentPayload }) => paymentPayload.payload.signature);
    expect(new Set(signatures).size).toBe(10);
    expect(await budgetOf(id)).toMatchObject({ remainingAmount: "0", spentAmount: "1000" });
    expect(await recorded(headers)).toEqual(amounts(paid));
  });
});

describe("POST /x402/pay by the wallet's owner", () => {
  it("is not capped, unless it has a budget", async () => {
    const { id, headers } = await newKey();
    const own = await expectOk(
      await api<Wallet>("/x402/wallets", { caip2Network: x402.caip2, type: "Purchasing" }, headers),
    );
    const free = order(own, [terms(x402, { asset: x402.contracts.feeToken })]);
    await x402.mint(x402.contracts.feeToken, own.address, 1_000n);
    await expectOk(await pay(free, headers));
    await expectOk(await grant(x402, id, own, "99"));
    const accepts = [terms(x402), ...free.paymentRequired.accepts];
    const paid = await expectOk(await pay(order(own, accepts), headers));
    expect(paid.paymentPayload.accepted).toEqual(accepts[1]);
    await expectOk(await grant(x402, id, own, "99", { asset: x402.contracts.feeToken }));
    expect((await pay(free, headers)).status).toBe(402);
  });
});

/** What the list of attempts says a key has signed for: amounts by attempt. */
async function recorded(headers: { token: string }): Promise<Map<string, bigint>> {
  const { data } = await api<{ PaymentAttempts: { id: string; amount: string }[] }>(
    "/x402/payments?take=100",
    undefined,
    headers,
  );
  return new Map(data.PaymentAttempts.map(({ id, amount }) => [id, BigInt(amount)]));
}

const amounts = (paid: { attemptId: string; amount: string }[]) =>
  new Map(paid.map(({ attemptId, amount }) => [attemptId, BigInt(amount)]));

const sum = (values: Iterable<bigint>) => [...values].reduce((total, value) => total + value, 0n);

const anyAmount = fc.oneof(fc.bigInt(1n, 40n), fc.bigInt(1n, MAX_UINT256));

/** A payment as somebody may ask for it; one name for several is a repeat, or a clash. */
const anyOrder = fc.record({
  amount: anyAmount,
  name: fc.constantFrom("first-name-of-it", "other-name-of-it", null),
  by: fc.constantFrom("header", "identifier"),
  fails: fc.oneof(
    { arbitrary: fc.constant({}), weight: 4 },
    fc.constantFrom({ scheme: "upto" }, { asset: OTHER }, { amount: "0" }, { extra: {} }),
  ),
});
type AnyOrder = typeof anyOrder extends fc.Arbitrary<infer One> ? One : never;

function send({ amount, name, by, fails }: AnyOrder, token: string) {
  const accepts = [terms(x402, { amount: `${amount}`, ...fails })];
  if (name === null || by === "header")
    return pay(order(wallet, accepts), { token, ...(name && { "idempotency-key": name }) });
  const extensions = { "payment-identifier": { info: { required: false } } };
  const body = order(wallet, accepts, { extensions, paymentIdentifier: name });
  return api<{ attemptId: string; amount: string }>("/x402/pay", body, { token });
}

describe("any interleaving of payments", () => {
  it("spends no more than the budget, and exactly what was signed", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.oneof(fc.bigInt(0n, 100n), fc.bigInt(0n, MAX_UINT256)),
        fc.array(fc.array(anyOrder, { minLength: 2, maxLength: 6, size: "max" }), {
          minLength: 1,
          maxLength: 3,
          size: "max",
        }),
        async (budget, turns) => {
          const { id, token, headers } = await newKey();
          await expectOk(await grant(x402, id, wallet, `${budget}`));
          const paid = new Map<string, bigint>();
          const refused: bigint[] = [];
          for (const turn of turns) {
            const answers = await Promise.all(turn.map((one) => send(one, token)));
            for (const [i, { status, data }] of answers.entries()) {
              expect([200, 400, 402, 404, 409, 422]).toContain(status);
              if (status === 200) paid.set(data.attemptId, BigInt(data.amount));
              if (status === 402) refused.push(turn[i]?.amount ?? 0n);
            }
          }
          const spent = sum(paid.values());
          expect(await budgetOf(id)).toMatchObject({
            spentAmount: `${spent}`,
            remainingAmount: `${budget - spent}`,
          });
          expect(spent).toBeLessThanOrEqual(budget);
          expect(await recorded(headers)).toEqual(paid);
          for (const amount of refused) expect(amount).toBeGreaterThan(budget - spent);
        },
      ),
      // A smaller counterexample would take longer to find than it takes to read this one.
      { ...runs(5, 60), endOnFailure: true },
    );
  });
});
