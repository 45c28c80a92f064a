import { env } from "cloudflare:workers";
import { db, statement } from "../../src/db/client.ts";
import { newId } from "../../src/db/id.ts";
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

/** Writes a wallet's agents that were registered long ago, straight into the table. */
export async function addRegistered(
  sourceId: string,
  wallet: { walletVkey: string },
  agents: number,
): Promise<void> {
  const one = () =>
    statement(
      `INSERT INTO registration (id, kind, network, source_id, source_type, contract_address,
         policy_id, profile, name, state, wallet, wallet_vkey, failures, created_by_id, created_at,
         updated_at, rev)
       VALUES (?, 'Agent', 'Preprod', ?, 'Web3ChainV1', '', '', '{}', '', 'RegistrationConfirmed',
         '{}', ?, 0, 'key-a', 1, 1, 0)`,
      newId(Date.now()),
      sourceId,
      wallet.walletVkey,
    );
  await db(env).batch(Array.from({ length: agents }, one));
}
