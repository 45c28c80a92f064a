import { env } from "cloudflare:workers";
import { openDb, statement } from "../../src/db/client.ts";
import { newId } from "../../src/db/id.ts";
import type { Step } from "../../src/escrow/model/intent.ts";
import { ChangeSet } from "../../src/escrow/store/change-set.ts";
import { makeRecord, Writer } from "./sources/records.ts";

/** Writes a payment of a wallet, with a transaction on its way for a step; without one it is finished. */
export async function addRecord(
  sourceId: string,
  wallet: { id: string; walletVkey: string; walletAddress: string },
  step?: Step,
): Promise<void> {
  const now = Date.now();
  const base = makeRecord("payment", { sourceId });
  const transaction = new ChangeSet([], now, 0).createTransaction(base, "cd".repeat(32));
  const intent = step && { id: newId(now), step, resultHash: null, by: "key-a", since: now };
  const record = {
    ...base,
    wallet: { id: wallet.id, vkey: wallet.walletVkey, address: wallet.walletAddress },
    ...(intent && {
      progress: { ...base.progress, intent, pendingTransaction: { transaction, spends: null } },
    }),
  };
  // The cursor of the source stays as it is; the record alone says whose it is.
  const writer = await Writer.create(env.DB, `writer-of-${record.id}`);
  await writer.change([record]);
  if (step === undefined)
    await env.DB.prepare("UPDATE escrow SET on_chain_state = 'Withdrawn' WHERE id = ?")
      .bind(record.id)
      .run();
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
         policy_id, profile, name, state, state_changed_at, wallet, wallet_vkey, created_by_id,
         created_at, updated_at, revision)
       VALUES (?, 'Agent', 'Preprod', ?, 'Web3ChainV1', '', '', '{}', '', 'RegistrationConfirmed', 1,
         '{}', ?, 'key-a', 1, 1, 0)`,
      newId(Date.now()),
      sourceId,
      wallet.walletVkey,
    );
  await openDb(env).batch(Array.from({ length: agents }, one));
}
