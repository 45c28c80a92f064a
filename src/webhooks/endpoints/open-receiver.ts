import { type EncryptionContext, unseal } from "../../db/sealed.ts";
import type { Env } from "../../env.ts";
import type { EndpointRow, WebhookFormat } from "../model/tables.ts";

/** The decrypted settings of a receiver. Never log or store them. */
export interface Receiver {
  url: string;
  format: WebhookFormat;
  authToken: string | null;
  /** Signing secrets: the secret and, during a rotation's overlap, the previous secret. */
  secrets: string[];
}

/** The columns a receiver is opened from. */
export type SealedReceiver = Pick<
  EndpointRow,
  "id" | "url" | "format" | "authToken" | "secret" | "previousSecret" | "previousSecretUntil"
>;

/** The columns of `SealedReceiver`, of endpoint `e`. */
export const RECEIVER_COLUMNS = `e.id, e.url, e.format, e.auth_token AS authToken, e.secret,
  e.previous_secret AS previousSecret, e.previous_secret_until AS previousSecretUntil`;

/** The place that an endpoint's sealed column is bound to; both secrets share that of `secret`. */
export function toEndpointEncryptionContext(
  id: string,
  column: "url" | "auth_token" | "secret",
): EncryptionContext {
  return { table: "webhook_endpoint", id, column };
}

/**
 * @param now - epoch milliseconds, which decides whether the previous secret still signs
 * @throws SealError
 */
export async function openReceiver(
  env: Pick<Env, "SEALING_KEYS">,
  row: SealedReceiver,
  now: number,
): Promise<Receiver> {
  const secretPlace = toEndpointEncryptionContext(row.id, "secret");
  const secrets = [await unseal(env, secretPlace, row.secret)];
  if (row.previousSecret !== null && now < (row.previousSecretUntil ?? 0))
    secrets.push(await unseal(env, secretPlace, row.previousSecret));
  return {
    url: await unseal(env, toEndpointEncryptionContext(row.id, "url"), row.url),
    format: row.format,
    authToken:
      row.authToken &&
      (await unseal(env, toEndpointEncryptionContext(row.id, "auth_token"), row.authToken)),
    secrets,
  };
}
