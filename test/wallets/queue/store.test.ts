import { env } from "cloudflare:workers";
import { beforeEach, describe, expect, it } from "vitest";
import { openDb } from "../../../src/db/client.ts";
import {
  createQueuedState,
  PENDING_STATE,
  updateTaskStates,
  upsertTasks,
} from "../../../src/wallets/queue/store.ts";
import type { WalletTask } from "../../../src/wallets/queue/tables.ts";
import { emptyTables } from "../../support/app.ts";

const OPEN: WalletTask = {
  ...{ feature: "registration", subjectId: "one", id: "one:Registration", network: "Preprod" },
  ...{ walletVkey: "ab".repeat(28), sourceId: "source", requestedAt: 1, updatedAt: 1 },
  ...createQueuedState(1),
};
const WAITING = { ...OPEN, dueAt: 9, reasonCode: "chain", reason: "waits for the chain" } as const;

beforeEach(emptyTables);

/** The due time and the reason of the task, after a run has stored it and another run has put it off. */
async function putOff(stored: WalletTask): Promise<unknown> {
  await openDb(env).batch([...upsertTasks([stored]), ...updateTaskStates([WAITING])]);
  return env.DB.prepare("SELECT due_at AS dueAt, reason FROM wallet_task").first();
}

describe("a run that puts a task off", () => {
  it("changes a task that is still open", async () => {
    expect(await putOff(OPEN)).toEqual({ dueAt: 9, reason: "waits for the chain" });
  });

  it("leaves a task to which another run has given a transaction", async () => {
    expect(await putOff({ ...OPEN, ...PENDING_STATE })).toEqual({ dueAt: null, reason: null });
  });
});
