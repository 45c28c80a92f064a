import { env } from "cloudflare:workers";
import { expect, it } from "vitest";
import { openDb } from "../../../src/db/client.ts";
import type { WalletPorts, WalletRun } from "../../../src/wallets/spending/context/wallet-ports.ts";
import { sendNewTransaction } from "../../../src/wallets/spending/send-transactions.ts";
import { transaction } from "./transactions.ts";

const SCRIPT = `${"5c".repeat(32)}#1`;
const OTHER = `${"0e".repeat(32)}#0`;

it.each([
  ["all that it spends is in blocks", "InBlock", ["Refused"]],
  ["it waits for another one", "Sent", []],
] as const)(
  "a refusal that names a published script's output is told of where %s",
  async (_, phase, events) => {
    const missed: (readonly string[])[] = [];
    const ports = {
      ...{ db: openDb(env), network: "Preprod", vkey: "", requestId: "test", now: () => 0 },
      journal: { append: async () => true },
      provider: { submit: async () => ({ refused: `BadInputsUTxO missing inputs ${SCRIPT}` }) },
      onMissingScripts: async (outputs: readonly string[]) => void missed.push(outputs),
    } as unknown as WalletPorts;
    const open = [transaction("aa", [], { phase })];
    const one = transaction("bb", ["aa#0"], { reads: [OTHER, SCRIPT] });
    const verdict = await sendNewTransaction(
      ports,
      { openTransactions: open } as unknown as WalletRun,
      one,
      new Uint8Array(),
      null,
    );
    expect(verdict.map(({ event }) => event)).toEqual(events);
    expect(missed).toEqual([[SCRIPT]]);
  },
);
