import * as z from "zod";
import { seal } from "../../../src/db/sealed.ts";
import { EVENT_KINDS } from "../../../src/events/event-kinds.ts";
import { hashTarget } from "../../../src/webhooks/endpoints/find-endpoint.ts";
import { toEndpointEncryptionContext } from "../../../src/webhooks/endpoints/open-receiver.ts";
import { generateSecret } from "../../../src/webhooks/endpoints/signature.ts";
import { toEventsJson, UNUSED_ENDPOINT } from "../../../src/webhooks/endpoints/update-endpoint.ts";
import {
  type EndpointRow,
  type WebhookFormat,
  webhookEndpoint,
} from "../../../src/webhooks/model/tables.ts";
import {
  defineKind,
  type ImportContext,
  LeftOut,
  optionalText,
  text,
  time,
} from "../import-context.ts";

const schema = z.object({
  id: text,
  createdAt: time,
  url: text,
  urlHash: optionalText,
  authToken: optionalText,
  format: z
    .enum(["EXTENDED", "SLACK", "GOOGLE_CHAT", "DISCORD"])
    .transform((name): WebhookFormat => (name === "SLACK" ? "CHAT" : name)),
  events: z.array(z.enum(EVENT_KINDS)).min(1),
  name: optionalText,
  paymentSourceId: optionalText,
  createdByApiKeyId: optionalText,
});

/** Webhooks. They are inactive at first, and have a new signing secret. */
export const webhooks = defineKind({
  name: "webhooks",
  table: "WebhookEndpoint",
  schema,
  async convert(row, context) {
    const { id, format } = row;
    if (context.present.names.get("webhook_endpoint")?.has(id)) return "present";
    const source = row.paymentSourceId ? context.requireSource(row.paymentSourceId) : null;
    const url = row.urlHash === null ? row.url : context.secrets.open(row.url);
    if (!url || !/^https?:\/\//i.test(url) || !URL.canParse(url))
      throw new LeftOut("ENCRYPTION_KEY does not open its URL");
    const authToken = openAuthToken(row, context);
    const secret = generateSecret();
    const sealFor = (column: "url" | "auth_token" | "secret", value: string) =>
      seal(context.env, toEndpointEncryptionContext(id, column), value);
    const target = {
      createdById: context.ownerOf(row.createdByApiKeyId),
      sourceId: source?.id ?? null,
      format,
    };
    const targetHash = hashTarget(context.env, { ...target, url });
    context.claim("webhook_endpoint", id, targetHash, "its owner has the same webhook");
    const endpoint: EndpointRow = {
      ...target,
      id,
      targetHash,
      url: await sealFor("url", url),
      name: row.name ?? "",
      events: toEventsJson(row.events),
      authToken: authToken && (await sealFor("auth_token", authToken)),
      secret: await sealFor("secret", secret),
      ...UNUSED_ENDPOINT,
      isActive: false,
      createdAt: row.createdAt,
      updatedAt: context.now,
    };
    context.newSecrets.push(`webhook ${id} has the new signing secret ${secret}`);
    return [context.orm.insert(webhookEndpoint).values(endpoint).toSQL()];
  },
});

function openAuthToken(
  { authToken, urlHash }: z.output<typeof schema>,
  { secrets }: ImportContext,
): string | null {
  if (authToken === null || urlHash === null) return authToken;
  const token = secrets.open(authToken);
  if (token === null) throw new LeftOut("ENCRYPTION_KEY does not open its authToken");
  return token;
}
