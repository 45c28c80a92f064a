/** What the overview says needs a person, and where each line leads. */
import { beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import type { Todo } from "../../console/pages/overview/todo-kinds.ts";

const HERE = "Preprod";
const OLD = "2026-11-22T12:00:00.000Z";
const PAYER = { walletAddress: "addr_test1payer", network: HERE, drives: "all" };
/** A wallet that lacks 5 ADA. */
const PURSE = {
  id: "purse",
  note: "Purse",
  walletAddress: "addr_test1purse",
  network: HERE,
  drives: "all",
  Balance: [{ unit: "", amount: "1000000" }],
  Missing: [{ unit: "", amount: "5000000", sendTo: "addr_test1purse", reason: "for a task" }],
};
const RULE = { id: "1", walletId: "purse", unit: "", below: "2000000", upTo: "9000000" };

type Console = typeof import("../../console/pages/overview/todo-sources.ts") &
  typeof import("../../console/pages/overview/health-todos.ts") &
  typeof import("../../console/pages/wallets/lacks.ts");
let shown: Console;
beforeAll(async () => {
  // What the modules look at when they are loaded.
  vi.stubGlobal("location", { hash: "" });
  vi.stubGlobal("addEventListener", () => undefined);
  vi.stubGlobal("sessionStorage", { getItem: () => null });
  shown = {
    ...(await import("../../console/pages/overview/todo-sources.ts")),
    ...(await import("../../console/pages/overview/health-todos.ts")),
    ...(await import("../../console/pages/wallets/lacks.ts")),
  };
});
const allow = async (canAdmin: boolean) => {
  const { keyStatus } = await import("../../console/api/session.ts");
  keyStatus.value = { id: "1", token: "", canPay: true, canAdmin, networkLimit: [] };
};
beforeEach(() => allow(true));

function listTodos(title: string, lists: Readonly<Record<string, readonly unknown[]>>): Todo[] {
  const source = shown.TODO_SOURCES.find((one) => one.title === title);
  if (!source) throw new Error(`no list is called ${title}`);
  return shown.listTodos(source, lists);
}
const stuck = (count: number, listed: readonly Todo[], kind = "SOURCE_STUCK") =>
  shown.toHealthTodos([{ kind, count }], listed);

describe("a source that lags", () => {
  const registry = { id: "r1", note: "Main", network: HERE, error: "status 500" };
  const payment = { ...registry, id: "p1", paymentSourceType: "Web3ChainV1" };

  test("a registry source is named, and leads to its row among the registry sources", () => {
    const [todo] = listTodos("Registry sources", { sources: [registry] });
    expect(todo).toMatchObject({
      kind: "registry",
      name: "Main",
      href: "#/sources?tab=registry&on=r1",
      listHref: "#/sources?tab=registry",
    });
    expect(stuck(1, [todo as Todo])).toEqual([]);
  });

  test("a source of another network is told of only where no source here explains the health", () => {
    const there = { ...payment, id: "p2", network: "Mainnet" };
    const listed = listTodos("Sources", { ExtendedPaymentSources: [payment, there] });
    const [, elsewhere] = listed;
    expect(elsewhere?.href).toBe("#/sources?on=p2&network=Mainnet");
    expect(elsewhere?.name).toMatch(/ on Mainnet$/);
    expect(stuck(1, listed)).toEqual([]);
    expect(stuck(2, listed)).toEqual([elsewhere]);
  });

  test("a source that reports no error is found by its last read", () => {
    const silent = { ...payment, error: null, lastCheckedAt: OLD };
    const listed = listTodos("Sources", { ExtendedPaymentSources: [silent] });
    expect(stuck(1, listed)).toMatchObject([{ kind: "source", href: "#/sources?on=p1" }]);
  });

  test("a provider that fails leads to the source that uses it", () => {
    const RpcProviderOutages = [{ provider: 0, use: "reads", reason: "status 503" }];
    const rows = { sources: [{ ...registry, error: null, RpcProviderOutages }] };
    const listed = listTodos("Registry sources", rows);
    expect(stuck(1, listed, "PROVIDER_OUT")).toMatchObject([
      { kind: "provider", href: "#/sources?tab=registry&on=r1" },
    ]);
  });

  test("a key that may not see the sources gets no button that leads nowhere", async () => {
    await allow(false);
    expect(stuck(1, [])).toMatchObject([{ kind: "source", href: "" }]);
  });
});

describe("a wallet that lacks funds", () => {
  const todoOf = (lists: Readonly<Record<string, readonly unknown[]>>, wallet: object = PURSE) =>
    listTodos("Wallets", { Wallets: [wallet], ...lists })[0];
  const ruleOf = (change: object) => ({ ...RULE, enabled: true, waitsFor: null, ...change });

  test("only a wallet with another one that can pay leads to the form of a payment", () => {
    const payerOf = (amount: string) => ({ ...PAYER, Balance: [{ unit: "", amount }] });
    const hrefWith = (payer: object) => todoOf({ Wallets: [PURSE, payer] })?.href;
    expect(hrefWith(payerOf("9000000"))).toBe("#/wallets?on=purse&do=fund");
    expect(hrefWith(payerOf("5000000"))).toBe("#/wallets?on=purse");
    expect(hrefWith({ ...payerOf("9000000"), network: "Mainnet" })).toBe("#/wallets?on=purse");
    expect(hrefWith({ ...payerOf("9000000"), drives: "nothing" })).toBe("#/wallets?on=purse");
  });

  test("a payment under way of as much as the wallet lacks leaves nothing to do", () => {
    const transferOf = (minorUnitAmount: string, status: string) => ({
      transfers: [{ toAddress: PURSE.walletAddress, minorUnitAmount, status, assets: null }],
    });
    expect(todoOf(transferOf("5000000", "Sent"))?.kind).toBe("walletToppedUp");
    expect(todoOf(transferOf("4000000", "Sent"))?.kind).toBe("walletLacks");
    expect(todoOf(transferOf("5000000", "Failed"))?.kind).toBe("walletLacks");
  });

  test.each([
    ["which pays", {}, "walletToppedUp"],
    ["which waits for minutes", { waitsFor: "ten minutes after the last" }, "walletToppedUp"],
    ["which fills up to less", { upTo: "5000000" }, "walletLacks"],
    ["whose Funding wallet is missing", { waitsFor: "a Funding wallet: none" }, "walletLacks"],
    ["which is off", { enabled: false }, "walletLacks"],
  ])("a top-up rule %s: %s is %s", (_, change, kind) => {
    expect(todoOf({ Rules: [ruleOf(change)] })?.kind).toBe(kind);
  });

  test("a Funding wallet that holds too little is named with its amounts", () => {
    const waitsFor =
      "funds: of 8000000 minor units the Funding wallet addr_test1fund holds 3000000";
    const advice = todoOf({ Rules: [ruleOf({ waitsFor })] })?.advice;
    expect(advice).toContain("The Funding wallet addr_test1fund holds 3 ADA of 8 ADA.");
  });

  test("a second unit that nothing brings needs a person, although a rule fills up the first", () => {
    const token = { ...PURSE.Missing[0], unit: "ab".repeat(28), amount: "7" };
    const wallet = { ...PURSE, Missing: [...PURSE.Missing, token] };
    expect(todoOf({ Rules: [ruleOf({})] }, wallet)?.kind).toBe("walletLacks");
  });

  test("a rule that was low at its last check, and is not now, asks for nothing", () => {
    const wallet = { ...PURSE, Missing: [], LowBalanceSummary: { isLow: true } };
    expect(todoOf({}, wallet)).toBeUndefined();
  });

  test("the form of a payment says that no other wallet can pay, and that of a rule why none fills up", () => {
    const { describePayerLack, describeFundingLack } = shown;
    const rich = { ...PAYER, Balance: [{ unit: "", amount: "9000000" }] };
    expect(describePayerLack([PURSE], PURSE)).toMatch(/^No other wallet holds more than 5 ADA/);
    expect(describePayerLack([PURSE, rich], PURSE)).toBeNull();
    expect(describePayerLack([PURSE, { ...rich, Balance: null }], PURSE)).toBeNull();
    expect(describeFundingLack([])).toMatch(/has no Funding wallet/);
    expect(describeFundingLack([{ ...rich, drives: "nothing" }])).toMatch(/only watches/);
    expect(describeFundingLack([{ ...rich, Balance: [] }])).toMatch(/holds nothing/);
    expect(describeFundingLack([rich])).toBeNull();
  });
});
