import pMap from "p-map";
import { ENV_ADMIN_ID } from "../../api-keys/find-key.ts";
import { MAX_CONCURRENT_FETCHES } from "../../connections.ts";
import { openDb } from "../../db/client.ts";
import type { Env } from "../../env.ts";
import type { ServiceEventKind } from "../../events/event-kinds.ts";
import { log } from "../../log.ts";
import { openReceiver, RECEIVER_COLUMNS, type SealedReceiver } from "../endpoints/open-receiver.ts";
import { ENDPOINTS_WITH_CREATOR_SQL, mayReceiveCondition } from "../model/may-receive-condition.ts";
import type { OutgoingEvent } from "./format-body.ts";
import { readSendOptions, sendEvent } from "./send-event.ts";

/** An event of the service itself. */
interface ServiceEvent extends OutgoingEvent {
  kind: ServiceEventKind;
}

/**
 * Sends an event of the service to Admins' webhooks once, and stores nothing: for what a full database
 * cannot store.
 *
 * @param except - ids of webhooks that have received the event
 * @returns ids of the webhooks that received it now
 */
export async function sendDirectly(
  env: Env,
  event: ServiceEvent,
  except: readonly string[],
): Promise<string[]> {
  const allowed = mayReceiveCondition(env, {
    kind: `'${event.kind}'`,
    network: "'service'",
    sourceId: "NULL",
    ownerId: `'${ENV_ADMIN_ID}'`,
    walletIds: "NULL",
  });
  const receivers = await openDb(env).all<SealedReceiver>(
    `SELECT ${RECEIVER_COLUMNS} FROM ${ENDPOINTS_WITH_CREATOR_SQL}
     WHERE ${allowed.sql} AND e.id NOT IN (SELECT value FROM json_each(?))`,
    ...allowed.params,
    JSON.stringify(except),
  );
  const options = await readSendOptions(env);
  const received: string[] = [];
  const send = async (row: SealedReceiver) => {
    try {
      const attempt = await sendEvent(await openReceiver(env, row, Date.now()), event, options);
      if (attempt.result === "delivered") received.push(row.id);
    } catch (error) {
      const detail = { endpoint: row.id, eventId: event.id, error: String(error) };
      log("error", "delivery.failed", detail);
    }
  };
  await pMap(receivers, send, { concurrency: MAX_CONCURRENT_FETCHES });
  return received;
}
