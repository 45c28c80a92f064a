import { isSpendingLimitExceeded } from "../api-keys/spending-limits.ts";
import { type Credential, parseAddress } from "../chain/address.ts";
import type { Network } from "../chain/network.ts";
import { type Database, onViolation, openDb, type Statement, statement } from "../db/client.ts";
import { newId } from "../db/id.ts";
import { commitWithAudit } from "../http/audit.ts";
import type { AuditAction } from "../http/audit-actions.ts";
import { listPermittedNetworks } from "../http/authenticate.ts";
import type { AppContext, Caller } from "../http/context.ts";
import { ApiError } from "../http/errors.ts";
import { runIdempotently, type StoreResponse } from "../http/idempotency.ts";
import { findActiveSource } from "../sources/find-source.ts";
import { openSourceProvider } from "../sources/open-source-provider.ts";
import type { SourceRow } from "../sources/source-row.ts";
import { requireAddress } from "../sources/validate-request.ts";
import {
  findScopedWallet,
  listScopedVkeys,
  type ManagedWallet,
} from "../wallets/managed/find-wallet.ts";
import { requirePermittedAddress } from "../wallets/managed/require-permitted-address.ts";
import { deleteTasks, upsertTasks } from "../wallets/queue/store.ts";
import { wakeWallet } from "../wallets/queue/wake-wallet.ts";
import { chargeFunding, computeSentFunds } from "./funding-charge.ts";
import { requireMetadataSize } from "./registration-labels.ts";
import {
  MIN_FUNDING,
  type RegistrationProfile,
  type RegistrationWallet,
} from "./registration-profile.ts";
import { mayDelete, mayDeregister, REGISTRATION_FEATURE, type RegistrationKind } from "./states.ts";
import {
  findRegistration,
  insertRegistration,
  readRegistration,
  toRegistrationTask,
  updateRegistration,
} from "./store.ts";
import type { RegistrationRow } from "./tables.ts";

/** Actions as the audit log names them. */
const AUDIT_NAMES = { Agent: "agent", InboxAgent: "inbox-agent" } as const;

/** A request to mint a token. */
export interface RegistrationRequest {
  network: Network;
  sellingWalletVkey: string;
  recipientWalletAddress: string | null;
  sendFundingMinorUnit: string | null;
}

/** The content of a token's metadata, and what goes with it. */
export interface PreparedProfile {
  profile: RegistrationProfile;
  /** For the batch that stores the registration. */
  statements: Statement[];
  /** Settings that are allowed but not advisable. */
  warnings: string[];
}

/**
 * Accepts a registration. The wallet's object mints the token afterwards.
 *
 * @param prepareProfile - builds the metadata for the payment source
 * @param now - epoch milliseconds
 * @returns the record, once per Idempotency-Key
 * @throws ApiError 400, 403, 404, 422
 */
export async function requestRegistration<ApiRecord>(
  c: AppContext,
  kind: RegistrationKind,
  body: RegistrationRequest,
  prepareProfile: (
    source: SourceRow,
    row: Pick<RegistrationRow, "id" | "createdById">,
  ) => PreparedProfile | Promise<PreparedProfile>,
  show: (row: RegistrationRow, warnings: string[]) => ApiRecord,
  now: number,
): Promise<ApiRecord> {
  const { network } = body;
  const database = openDb(c.env, network, { writes: "idempotent", deadline: c.var.deadline });
  return runIdempotently(c, database, now, async (remember) => {
    const { caller } = c.var;
    const wallet = await findScopedWallet(
      database,
      caller,
      network,
      body.sellingWalletVkey,
      "Selling",
    );
    const source = wallet && (await findActiveSource(database, wallet.sourceId));
    if (!wallet || !source)
      throw new ApiError(
        404,
        "sellingWalletVkey: no payment source of this network has this selling wallet",
      );
    const recipient = resolveRecipient(caller, wallet, body.recipientWalletAddress);
    requireFundingPermission(caller, body.sendFundingMinorUnit);
    const identity = { id: newId(now), createdById: caller.id };
    const { profile, statements, warnings } = await prepareProfile(source, identity);
    const request: Omit<RegistrationRow, "task"> = {
      ...identity,
      kind,
      network,
      sourceId: source.id,
      sourceType: source.type,
      contractAddress: source.contractAddress,
      policyId: source.policyId,
      profile,
      name: profile.name,
      state: "RegistrationRequested",
      stateChangedAt: now,
      error: null,
      agentIdentifier: null,
      wallet: toRegistrationWallet(wallet),
      walletVkey: wallet.vkey,
      recipient,
      sendFunding: body.sendFundingMinorUnit,
      fundingCharged: null,
      seed: null,
      tx: null,
      createdAt: now,
      updatedAt: now,
      lastCheckedAt: null,
      revision: 0,
    };
    const row = { ...request, task: toRegistrationTask(request, "Registration", now) };
    requireMetadataSize(row, "Registration");
    const record = show(row, warnings);
    const detail = { network, name: profile.name, wallet: wallet.vkey };
    await commitWithAudit(
      c,
      database,
      { action: `${AUDIT_NAMES[kind]}.register`, target: row.id, detail, now },
      [
        ...(await remember(record)),
        ...insertRegistration(database, row),
        ...statements,
        ...chargeFunding(caller, row),
      ],
    ).catch(throwSpendingLimitError(row));
    await wakeWallet(c.env, network, wallet.vkey, c.var.requestId);
    return record;
  });
}

/** A request to burn the token of an agent. */
export interface DeregistrationRequest {
  network: Network;
  agentIdentifier: string;
  smartContractAddress?: string | undefined;
}

/**
 * The same as `requestDeregistration`, once per Idempotency-Key.
 *
 * @throws ApiError 422 besides
 */
export async function requestDeregistrationOnce<ApiRecord>(
  c: AppContext,
  kind: RegistrationKind,
  body: DeregistrationRequest,
  show: (row: RegistrationRow) => ApiRecord,
  now: number,
): Promise<ApiRecord> {
  const deadline = c.var.deadline;
  const database = openDb(c.env, body.network, { writes: "idempotent", deadline });
  return runIdempotently(c, database, now, (remember) =>
    requestDeregistration(c, kind, body, show, now, remember),
  );
}

/**
 * Accepts a deregistration; the object of the wallet that holds the token burns it afterwards.
 *
 * @param now - epoch milliseconds
 * @throws ApiError 403, 404, 409; ProviderError when the holder cannot be determined
 */
export async function requestDeregistration<ApiRecord>(
  c: AppContext,
  kind: RegistrationKind,
  body: DeregistrationRequest,
  show: (row: RegistrationRow) => ApiRecord,
  now: number,
  remember: StoreResponse = async () => [],
): Promise<ApiRecord> {
  const { network, agentIdentifier } = body;
  const database = openDb(c.env, network, { writes: "idempotent", deadline: c.var.deadline });
  const { row, source } = await findOwnRegistration(c, database, kind, body);
  if (!mayDeregister(kind, row.state)) throw createStateError("agentIdentifier", row);
  const holder = await findHolder(c, source, agentIdentifier);
  const wallet = await requireHoldingWallet(c, database, source, holder);
  const change = {
    state: "DeregistrationRequested",
    error: null,
    wallet: toRegistrationWallet(wallet),
    walletVkey: wallet.vkey,
    tx: null,
  } as const;
  const task = toRegistrationTask({ ...row, ...change }, "Deregistration", now);
  const record = show({ ...row, ...change, task, stateChangedAt: now, updatedAt: now });
  await commitChange(c, database, row, `${AUDIT_NAMES[kind]}.deregister`, now, [
    ...(await remember(record)),
    ...updateRegistration(database, row, change, now),
    ...upsertTasks([task]),
  ]);
  await wakeWallet(c.env, network, wallet.vkey, c.var.requestId);
  return record;
}

/**
 * Permanently removes the record of a registration that failed or ended.
 *
 * @returns the row as it was
 * @throws ApiError 403, 404, 409
 */
export async function removeRegistration(
  c: AppContext,
  kind: RegistrationKind,
  id: string,
  now: number,
): Promise<RegistrationRow> {
  const database = openDb(c.env, undefined, { writes: "idempotent", deadline: c.var.deadline });
  const row = await readRegistration(database, id);
  if (row?.kind !== kind || !(await isInScope(c, database, row)))
    throw new ApiError(404, "id: there is no such registration");
  requireOwner(c, row);
  if (!mayDelete(row.state)) throw createStateError("id", row);
  await commitChange(c, database, row, `${AUDIT_NAMES[kind]}.delete`, now, [
    ...updateRegistration(database, row, {}, now),
    statement("DELETE FROM registration WHERE id = ?", id),
    ...deleteTasks(REGISTRATION_FEATURE, [id]),
  ]);
  return row;
}

/** @param field - what the request names the registration by */
export function createStateError(field: string, { state }: RegistrationRow): ApiError {
  return new ApiError("wrong_state", `${field}: the registration is in the state ${state}`);
}

/** A batch with its audit row; 409 when another write changed the registration first. */
export async function commitChange(
  c: AppContext,
  database: Database,
  row: RegistrationRow,
  action: AuditAction,
  now: number,
  statements: Statement[],
): Promise<void> {
  const detail = { network: row.network, agentIdentifier: row.agentIdentifier };
  await commitWithAudit(c, database, { action, target: row.id, detail, now }, statements).catch(
    onViolation("registration.revision", createChangedError),
  );
}

function createChangedError(): ApiError {
  const message = "The registration changed at the same time. Try again.";
  return new ApiError("changed_concurrently", message);
}

/** The registration of an agent's token, with its payment source. @throws ApiError 403, 404 */
export async function findOwnRegistration(
  c: AppContext,
  database: Database,
  kind: RegistrationKind,
  { network, agentIdentifier, smartContractAddress }: DeregistrationRequest,
): Promise<{ row: RegistrationRow; source: SourceRow }> {
  const row = await findRegistration(database, kind, network, agentIdentifier);
  const [source, isPermitted] = row
    ? await Promise.all([findActiveSource(database, row.sourceId), isInScope(c, database, row)])
    : [null, false];
  const isFound = source && isSameAddress(smartContractAddress, source.contractAddress);
  if (!row || !isFound || !isPermitted)
    throw new ApiError(404, "agentIdentifier: this service registered no such agent");
  requireOwner(c, row);
  return { row, source };
}

/** @throws ApiError 403 */
function requireOwner(c: AppContext, row: RegistrationRow): void {
  const { caller } = c.var;
  if (caller.permission !== "Admin" && caller.id !== row.createdById)
    throw new ApiError("not_owner", "The registration belongs to another API key");
}

/** Whether a registration is on a network and of a wallet that the API key may use. */
async function isInScope(
  { var: { caller } }: AppContext,
  database: Database,
  { network, walletVkey }: RegistrationRow,
): Promise<boolean> {
  if (!listPermittedNetworks(caller).includes(network)) return false;
  const vkeys = await listScopedVkeys(database, caller, network);
  return vkeys === null || vkeys.includes(walletVkey);
}

/** The credential that holds an agent's token. @throws ApiError 404; ProviderError */
export async function findHolder(
  c: AppContext,
  source: SourceRow,
  unit: string,
): Promise<Credential | undefined> {
  const provider = await openSourceProvider(c.env, source, { caller: c.var.caller.id });
  const holders = (await provider.assetHolders(unit)) ?? [];
  const holder = holders.find(({ quantity }) => BigInt(quantity) > 0n);
  if (!holder) throw new ApiError(404, "agentIdentifier: no wallet holds this agent's token");
  return parseAddress(holder.address)?.payment;
}

/** The managed wallet of a source whose key holds an agent's token. @throws ApiError 409 */
export async function requireHoldingWallet(
  c: AppContext,
  database: Database,
  source: SourceRow,
  holder: Credential | undefined,
): Promise<ManagedWallet> {
  const wallet =
    holder?.kind === "key" &&
    (await findScopedWallet(database, c.var.caller, source.network, holder.hash));
  if (wallet && wallet.sourceId === source.id) return wallet;
  throw new ApiError(
    409,
    "agentIdentifier: the token is in a wallet that the payment source does not manage",
  );
}

/** @throws ApiError 400, 403 */
export function resolveRecipient(
  caller: Caller,
  wallet: ManagedWallet,
  text: string | null,
): RegistrationWallet | null {
  if (text === null) return null;
  const field = "recipientWalletAddress";
  const address = requireAddress(wallet.network, field, text);
  const payment = parseAddress(address)?.payment;
  if (payment?.kind !== "key")
    throw new ApiError(400, `${field}: must be a wallet's address, not a contract's`);
  requirePermittedAddress(caller, field, address, [wallet]);
  return { vkey: payment.hash, address };
}

/**
 * Without Admin, no more of the native coin goes with a token than its output needs anyway.
 *
 * @throws ApiError 403
 */
export function requireFundingPermission({ permission }: Caller, amount: string | null): void {
  if (permission === "Admin" || BigInt(amount ?? 0) <= MIN_FUNDING) return;
  throw new ApiError(
    "permission_missing",
    `sendFundingMinorUnit: must be at most ${MIN_FUNDING}, which the token's output needs; an Admin may send more`,
  );
}

/** What a failed batch that charges the funding of a registration rejects with. */
export const throwSpendingLimitError = (row: RegistrationRow) => (error: unknown) => {
  throw isSpendingLimitExceeded(error) ? createSpendingLimitError(row) : error;
};

function createSpendingLimitError(row: RegistrationRow): ApiError {
  return new ApiError(
    "spending_limit_exceeded",
    `recipientWalletAddress: the API key's spending limits do not cover the ${computeSentFunds(row)} minor units sent with the token`,
  );
}

export const toRegistrationWallet = ({
  vkey,
  address,
}: RegistrationWallet): RegistrationWallet => ({
  vkey,
  address,
});

function isSameAddress(asked: string | undefined, address: string): boolean {
  return asked === undefined || asked.toLowerCase() === address;
}
