/** Which wallets the forms offer to pay from, and what they say of the balances. */
import { beforeAll, expect, test, vi } from "vitest";
import { describeFunding } from "../../console/pages/wallets/payers.ts";
import { walletsPage } from "../../console/pages/wallets/wallets.ts";

let listOptions: typeof import("../../console/ui/known-options.ts").listOptions;
beforeAll(async () => {
  // What the modules look at when they are loaded.
  vi.stubGlobal("location", { hash: "" });
  vi.stubGlobal("addEventListener", () => undefined);
  vi.stubGlobal("sessionStorage", { getItem: () => null });
  ({ listOptions } = await import("../../console/ui/known-options.ts"));
});

const createWallet = (note: string, coins: string | null) => ({
  ...{ id: note, note, walletAddress: `addr_test1${note}`, type: "Selling" },
  ...{ network: "Preprod", drives: "all" },
  Balance: coins === null ? null : [{ unit: "", amount: coins }],
});
const wallet = createWallet("poor", "0");
const rich = createWallet("rich", "12500000");
const findAction = (name: string) =>
  walletsPage.tabs[0]?.actions?.find((action) => action.name === name);

test("the form that funds a wallet offers other wallets with their balances", () => {
  const field = findAction("fund")?.fields?.find(({ name }) => name === "fromWalletAddress");
  const known = field?.knownIdsBy?.({}, wallet);
  if (!known) throw new Error("the field has no list");
  const watcher = { ...createWallet("watcher", "1"), drives: "nothing" };
  const unread = createWallet("unread", null);
  const options = listOptions(known, [wallet, rich, watcher, unread]);
  expect(options).toEqual([
    { id: rich.walletAddress, label: "rich", detail: "holds 12.5 ADA · Selling · addr_test1rich" },
    { id: unread.walletAddress, label: "unread", detail: "Selling · addr_test1unread" },
  ]);
});

test("the form that pays from a wallet shows the balance of the wallet", () => {
  expect(findAction("transfer")?.reads).toMatchObject([{ heading: "Balance", path: "Balance" }]);
});

test("the form of a top-up rule says what the Funding wallet holds", () => {
  const { describe } = findAction("top-up")?.prerequisite ?? {};
  expect(describe?.([[rich]], wallet, {})).toBe("rich holds 12.5 ADA.");
  expect(describe?.([[{ ...rich, note: null }]], wallet, {})).toBe(
    "The Funding wallet holds 12.5 ADA.",
  );
  expect(describe?.([[]], wallet, {})).toMatch(/has no Funding wallet/);
  expect(describeFunding([createWallet("unread", null)])).toBeNull();
});
