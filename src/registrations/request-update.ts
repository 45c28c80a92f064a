import { openDb } from "../db/client.ts";
import { countOpenQuotes } from "../escrow/queries/count-open-quotes.ts";
import type { AppContext } from "../http/context.ts";
import { ApiError } from "../http/errors.ts";
import { runIdempotently } from "../http/idempotency.ts";
import type { SourceRow } from "../sources/source-row.ts";
import { upsertTasks } from "../wallets/queue/store.ts";
import { wakeWallet } from "../wallets/queue/wake-wallet.ts";
import { chargeFunding } from "./funding-charge.ts";
import { requireMetadataSize } from "./registration-labels.ts";
import {
  commitChange,
  createStateError,
  type DeregistrationRequest,
  findHolder,
  findOwnRegistration,
  type PreparedProfile,
  type RegistrationRequest,
  requireFundingPermission,
  requireHoldingWallet,
  resolveRecipient,
  throwSpendingLimitError,
  toRegistrationWallet,
} from "./request-registration.ts";
import { mayUpdate } from "./states.ts";
import { toRegistrationTask, updateRegistration } from "./store.ts";
import type { RegistrationRow } from "./tables.ts";

/** A request to replace the token of an agent. */
type UpdateRequest = DeregistrationRequest & Omit<RegistrationRequest, "sellingWalletVkey">;

/**
 * Accepts an update of an agent. One transaction mints its next version.
 *
 * @param prepareProfile - builds the token's metadata
 * @param now - epoch milliseconds
 * @returns the record, once per Idempotency-Key
 * @throws ApiError 400, 402, 403, 404, 409, 422; ProviderError when the holder cannot be determined
 */
export async function requestUpdate<ApiRecord>(
  c: AppContext,
  body: UpdateRequest,
  prepareProfile: (source: SourceRow, row: RegistrationRow) => Promise<PreparedProfile>,
  show: (row: RegistrationRow, warnings: string[]) => ApiRecord,
  now: number,
): Promise<ApiRecord> {
  const { network, agentIdentifier } = body;
  const database = openDb(c.env, network, { writes: "idempotent", deadline: c.var.deadline });
  return runIdempotently(c, database, now, async (remember) => {
    const { caller } = c.var;
    const { row, source } = await findOwnRegistration(c, database, "Agent", body);
    if (source.type === "Web3ChainV1")
      throw new ApiError(
        400,
        "agentIdentifier: the policy of Web3ChainV1 has no update; deregister the agent and register it again",
      );
    if (!mayUpdate(row.state)) throw createStateError("agentIdentifier", row);
    const holder = await findHolder(c, source, agentIdentifier);
    const [wallet, quotes] = await Promise.all([
      requireHoldingWallet(c, database, source, holder),
      countOpenQuotes(database, source.id, agentIdentifier, now),
    ]);
    requireFundingPermission(caller, body.sendFundingMinorUnit);
    const { profile, statements, warnings } = await prepareProfile(source, row);
    const change = {
      state: "UpdateRequested",
      error: null,
      profile,
      name: profile.name,
      wallet: toRegistrationWallet(wallet),
      walletVkey: wallet.vkey,
      recipient: resolveRecipient(caller, wallet, body.recipientWalletAddress),
      sendFunding: body.sendFundingMinorUnit,
      fundingCharged: null,
      tx: null,
    } as const;
    const request = { ...row, ...change, stateChangedAt: now, updatedAt: now };
    const updated = { ...request, task: toRegistrationTask(request, "Update", now) };
    requireMetadataSize(updated, "Update");
    const record = show(updated, [...warnings, ...describeOpenQuotes(quotes)]);
    await commitChange(c, database, row, "agent.update", now, [
      ...(await remember(record)),
      ...updateRegistration(database, row, change, now),
      ...upsertTasks([updated.task]),
      ...statements,
      ...chargeFunding(caller, updated),
    ]).catch(throwSpendingLimitError(updated));
    await wakeWallet(c.env, network, wallet.vkey, c.var.requestId);
    return record;
  });
}

function describeOpenQuotes(quotes: number): string[] {
  if (quotes === 0) return [];
  return [
    `agentIdentifier: ${quotes} unpaid quotes name it, and nobody can buy them once the update is confirmed. Quote again then.`,
  ];
}
