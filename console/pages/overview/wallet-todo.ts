/** Problems of a wallet that need a person. */
import { formatFunds, shortenId, toSentence } from "../../ui/format.ts";
import { arrayAt, textAt, valueAt } from "../../ui/path.ts";
import { rowHref } from "../../ui/route.ts";
import { describeWait } from "../escrow/describe-next.ts";
import type { Funds } from "../escrow/sides.ts";
import { describeLackReason, hasPayer } from "../wallets/lacks.ts";
import type { Todo } from "./todo-kinds.ts";

type Rows = readonly unknown[];

const sumOf = (funds: readonly Funds[], unit: string) =>
  funds.filter((one) => one.unit === unit).reduce((sum, one) => sum + BigInt(one.amount), 0n);

/** Minor units of a unit that payments under way bring to a wallet. */
function sumComing(wallet: unknown, unit: string, transfers: Rows): bigint {
  const coming = transfers.filter(
    (one) =>
      ["Pending", "Sent"].includes(textAt(one, "status")) &&
      textAt(one, "toAddress") === textAt(wallet, "walletAddress"),
  );
  const funds = coming.flatMap((one): Funds[] => [
    { unit: "", amount: textAt(one, "minorUnitAmount") },
    ...arrayAt(one, "assets").map((asset) => ({
      unit: textAt(asset, "unit"),
      amount: textAt(asset, "quantity"),
    })),
  ]);
  return sumOf(funds, unit);
}

/** The rule that brings the whole missing amount of a unit. Undefined: no rule does. */
function findTopUp(wallet: unknown, { unit, amount }: Funds, rules: Rows): unknown {
  const balance = valueAt(wallet, "Balance") as Funds[] | null;
  return rules.find((rule) => {
    const present = balance ? sumOf(balance, unit) : BigInt(textAt(rule, "balance") || "0");
    return (
      valueAt(rule, "enabled") === true &&
      textAt(rule, "walletId") === textAt(wallet, "id") &&
      textAt(rule, "unit") === unit &&
      present < BigInt(textAt(rule, "below")) &&
      present + BigInt(amount) <= BigInt(textAt(rule, "upTo"))
    );
  });
}

/** Waits of a top-up that need nobody. */
const SHORT_WAIT = /^(the top-up that is under way|ten minutes after|the next day)/;
const POOR_PAYER = /^funds: of (\d+) minor units the Funding wallet (\S+) holds (\d+)$/;

/** The wait of a top-up as a sentence. */
function describeTopUpWait(waitsFor: string, unit: string): string {
  const [, amount = "", payer = "", balance = ""] = POOR_PAYER.exec(waitsFor) ?? [];
  if (payer === "") return describeWait(waitsFor, "");
  return `The Funding wallet ${shortenId(payer)} holds ${formatFunds(balance, unit)} of ${formatFunds(amount, unit)}.`;
}

/** Funds that come to a wallet. `isSure`: nobody has to act. Null: no funds come. */
function describeComing(wallet: unknown, lack: Funds, rules: Rows, transfers: Rows) {
  if (sumComing(wallet, lack.unit, transfers) >= BigInt(lack.amount))
    return { isSure: true, text: "A payment to it is under way." };
  const rule = findTopUp(wallet, lack, rules);
  if (!rule) return null;
  const waitsFor = textAt(rule, "waitsFor");
  const wait = waitsFor && describeTopUpWait(waitsFor, lack.unit);
  return waitsFor === "" || SHORT_WAIT.test(waitsFor)
    ? { isSure: true, text: ["A top-up rule fills it up.", wait].join(" ").trim() }
    : { isSure: false, text: `Its top-up rule cannot pay now. ${wait}` };
}

/** @param lists - all wallets, top-up rules and transfers that are known */
export function toWalletTodo(
  row: unknown,
  { Wallets = [], Rules = [], transfers = [] }: Readonly<Record<string, Rows>>,
): Todo | null {
  const name = textAt(row, "note") || shortenId(textAt(row, "walletAddress"));
  const on = textAt(row, "id");
  const href = rowHref(row, "wallets", { on });
  const about = { name, href, listHref: rowHref(row, "wallets") };
  if (valueAt(row, "SpentElsewhere") && textAt(row, "drives") !== "nothing")
    return { kind: "walletSpent", ...about };
  const missing = arrayAt(row, "Missing") as Funds[];
  const lacks = missing.map((lack) => ({
    lack,
    coming: describeComing(row, lack, Rules, transfers),
  }));
  const worst = lacks.find(({ coming }) => !coming?.isSure) ?? lacks[0];
  if (worst) {
    const { lack, coming } = worst;
    const lacking = {
      ...about,
      name: `${name} lacks funds`,
      funds: missing,
    };
    if (coming?.isSure) return { kind: "walletToppedUp", ...lacking, advice: coming.text };
    const send = `Send ${formatFunds(lack.amount, lack.unit)} to ${shortenId(textAt(lack, "sendTo"))}: ${describeLackReason(lack)}.`;
    return {
      kind: "walletLacks",
      ...lacking,
      href: hasPayer(row, Wallets) ? rowHref(row, "wallets", { on, do: "fund" }) : href,
      advice: coming ? `${coming.text} ${send}` : send,
    };
  }
  if (valueAt(row, "HeldUp"))
    return { kind: "walletBlocked", ...about, advice: toSentence(textAt(row, "HeldUp.reason")) };
  return null;
}
