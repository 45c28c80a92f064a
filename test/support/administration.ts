import { env } from "cloudflare:workers";
import { unlockedState } from "../../src/escrow/record.ts";
import { makeRecord, Writer } from "./records.ts";

/** Writes a payment of a wallet with a requested action, as if the API had set it. */
export async function addRecord(
  sourceId: string,
  wallet: { id: string; walletVkey: string; walletAddress: string },
  requestedAction: string,
): Promise<void> {
  const now = Date.now();
  const state = unlockedState(now);
  const base = makeRecord("payment", { sourceId });
  const record = {
    ...base,
    terms: {
      ...base.terms,
      wallet: { id: wallet.id, vkey: wallet.walletVkey, address: wallet.walletAddress },
    },
    state: { ...state, nextAction: { ...state.nextAction, requestedAction } },
  };
  // The cursor of the source stays as it is; the record alone says whose it is.
  const writer = await Writer.create(env.DB, `writer-of-${record.id}`);
  await writer.change([record]);
}
