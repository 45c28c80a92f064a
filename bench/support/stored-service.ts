/** A service whose stored bytes are read between two parts of its work. */
import { mkdtempSync } from "node:fs";
import { join } from "node:path";
import { until } from "../../devnet/client/wait.ts";
import type { Receiver } from "../../devnet/demo/receiver.ts";
import type { EventKind } from "../../src/events/event-kinds.ts";
import { type BenchContext, type BenchService, call, startBenchService } from "./service.ts";
import { readStoredBytes, type StoredBytes } from "./stored-bytes.ts";

const LOOK_MS = 100;
const STOPPED_AFTER_MS = 60_000;

export interface StoredService {
  /** The running service, another one after `read`. */
  readonly service: BenchService;
  /** Subscribes an endpoint at a receiver to one kind of event. */
  subscribe(receiver: Receiver, kind: EventKind): Promise<void>;
  /**
   * Waits until the chain is read up to a height, all events have arrived, and no transaction is open. Then
   * stops, reads and starts again.
   */
  read(height?: number): Promise<StoredBytes>;
}

/** Starts a service on a new folder. */
export async function startStoredService(
  context: BenchContext,
  bindings: Record<string, string>,
): Promise<StoredService> {
  const folder = mkdtempSync(join(context.folder, "stored-"));
  const start = () => startBenchService(context, bindings, folder);
  let service = await start();

  const subscribe = async (receiver: Receiver, kind: EventKind) => {
    const body = { url: `${receiver.url}/${kind}`, Events: [kind] };
    await call(service, "/api/v1/webhooks", { method: "POST", body });
  };

  const read = async (height = 0) => {
    const { d1 } = service.host;
    // The chain's clock has jumped ahead of the wallets' next looks.
    const lookNow = d1.prepare("UPDATE wallet_transaction SET due_at = 0 WHERE due_at IS NOT NULL");
    const open = d1.prepare(
      `SELECT (SELECT count(*) FROM event WHERE seq > ifnull((SELECT seq FROM event_cursor), 0))
         + (SELECT count(*) FROM webhook_delivery WHERE due_at IS NOT NULL)
         + (SELECT count(*) FROM wallet_transaction WHERE due_at IS NOT NULL)
         + (ifnull((SELECT height FROM chain_tip), 0) < ${height}) AS n`,
    );
    const look = async () => {
      await lookNow.run();
      await service.host.scheduled();
      return (await open.first<number>("n")) === 0;
    };
    await until(look, { what: "an end", everyMs: LOOK_MS, limitMs: STOPPED_AFTER_MS });
    await service.host.close();
    const stored = readStoredBytes(folder);
    service = await start();
    return stored;
  };

  return {
    get service() {
      return service;
    },
    subscribe,
    read,
  };
}
