import { NETWORKS, type Network } from "../chain/network.ts";
import type { AppContext, Caller, KeyScope } from "./context.ts";
import { ApiError } from "./errors.ts";
import { enforceAddressRateLimit } from "./rate-limit.ts";

/** What an endpoint requires of a key; `none`: it needs no key. */
export type AccessLevel = "none" | "User" | "+PAY" | "Admin";

/** No token is longer; a longer header is not worth a look-up. */
export const MAX_TOKEN_LENGTH = 256;

/**
 * Finds the caller by the header `token`, or by `Authorization: Bearer <API key>` (RFC 6750 §2.1).
 * Both may be sent with the same key; other schemes in `Authorization` are ignored.
 *
 * @throws ApiError 401, 429
 */
export async function authenticate(c: AppContext): Promise<Caller> {
  const token = c.req.header("token") || null;
  const bearer = readBearerToken(c);
  if (token !== null && bearer !== null && token !== bearer)
    throw new ApiError(
      "ambiguous_key",
      "token: differs from the API key in Authorization. Send only one of them.",
    );
  if (token !== null) return findCallerByToken(c, "token", token);
  if (bearer !== null) return findCallerByToken(c, "authorization", bearer);
  throw new ApiError(
    "missing_key",
    "token: an API key is required in this header, or as Authorization: Bearer",
  );
}

/**
 * Finds the caller by `Authorization: Bearer <API key>` (RFC 6750 §2.1), for the paths under /v1.
 *
 * @throws ApiError 401, 429
 */
export async function authenticateBearer(c: AppContext): Promise<Caller> {
  const token = readBearerToken(c);
  if (token === null)
    throw new ApiError("missing_key", "authorization: a bearer API key is required in this header");
  return findCallerByToken(c, "authorization", token);
}

function readBearerToken(c: AppContext): string | null {
  return /^Bearer +(\S+) *$/i.exec(c.req.header("authorization") ?? "")?.[1] ?? null;
}

async function findCallerByToken(c: AppContext, header: string, token: string): Promise<Caller> {
  const { findCaller, deadline } = c.var;
  const caller =
    token.length > MAX_TOKEN_LENGTH
      ? null
      : await findCaller(c.env, token, deadline, () => enforceAddressRateLimit(c));
  if (!caller) throw new ApiError("unknown_key", `${header}: the API key is unknown or revoked`);
  return caller;
}

/** @throws ApiError 403 when the key lacks the access */
export function requireAccess(caller: Caller, access: Exclude<AccessLevel, "none">): void {
  if (access === "Admin" && caller.permission !== "Admin")
    throw new ApiError("permission_missing", "This needs an API key with the permission Admin");
  if (access === "+PAY" && !caller.canPay)
    throw new ApiError("permission_missing", "This needs an API key with +PAY access");
}

/**
 * @param network - a network's name or a CAIP-2 id
 * @param field - the part of the request that names it
 * @throws ApiError 403 when the key is limited to other networks
 */
export function requireNetwork(caller: Caller, network: string, field = "network"): void {
  if (caller.networkLimit !== null && !caller.networkLimit.includes(network))
    throw new ApiError(
      "network_not_permitted",
      `${field}: the API key is not valid for ${network}`,
    );
}

/** The ledger's networks that a key may use. */
export function listPermittedNetworks({ networkLimit }: Caller): Network[] {
  return NETWORKS.filter((network) => networkLimit === null || networkLimit.includes(network));
}

/** Whether a key may use a wallet. */
export function mayUseWallet(scope: KeyScope | undefined, walletId: string): boolean {
  return !scope?.walletIds || scope.walletIds.includes(walletId);
}
