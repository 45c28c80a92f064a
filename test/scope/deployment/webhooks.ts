import { EVENT_KINDS, TENANT_EVENT_KINDS } from "../../../src/events/event-kinds.ts";
import { freshPath } from "../../support/webhooks/receivers.ts";
import type { Service } from "../service.ts";
import { STRANGERS, type Stranger } from "../strangers.ts";
import type { Wallets } from "./wallets.ts";

export const WEBHOOK_NAME = "webhook of the owner";
export const AUTH_TOKEN = "secret-token-of-the-webhook";

/** An endpoint, and the path at the receiver where its events arrive. */
export interface Endpoint {
  id: string;
  path: string;
  secret: string;
}

/** The endpoint of each key. */
export type Endpoints = Readonly<Record<Stranger | "owner" | "admin", Endpoint>>;

/** Has every key subscribe to all that it may. */
export async function subscribe(
  service: Service,
  { tokens, source }: Pick<Wallets, "tokens" | "source">,
): Promise<Endpoints> {
  const add = async (token?: string, more: object = {}): Promise<Endpoint> => {
    const path = freshPath();
    const Events = token === undefined ? EVENT_KINDS : TENANT_EVENT_KINDS;
    const { id, secret } = await service.webhooks.create(path, { Events, ...more }, token);
    return { id, path, secret };
  };
  const strangers: [Stranger, Endpoint][] = [];
  for (const stranger of STRANGERS) strangers.push([stranger, await add(tokens[stranger])]);
  // The owner has one for a source alone, too.
  await add(tokens.owner, { paymentSourceId: source.id });
  return {
    ...(Object.fromEntries(strangers) as Record<Stranger, Endpoint>),
    owner: await add(tokens.owner, { name: WEBHOOK_NAME, authToken: AUTH_TOKEN }),
    admin: await add(),
  };
}
