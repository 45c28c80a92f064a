import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { expect, it, vi } from "vitest";
import { emptyTables } from "../../../support/app.ts";
import { objectsLike } from "../../../support/objects.ts";
import { SettlementFixture } from "../../settlement-fixture.ts";

/** Later than the alarm of a wallet that has payments under way, and not later than that of one that has none. */
const RESTING_MS = 10_000;
const AN_HOUR_MS = 3_600_000;

it("a payment that comes while its wallet ends its run settles at once", async () => {
  await emptyTables();
  const fixture = await SettlementFixture.open("84532-pump-end");
  let isLayingDown = false;
  let isHeld = true;
  await runInDurableObject(fixture.objects().wallet, (instance, { storage }) => {
    const held = {
      kv: storage.kv,
      sql: storage.sql,
      getAlarm: () => storage.getAlarm(),
      deleteAlarm: () => storage.deleteAlarm(),
      setAlarm: async (at: number) => {
        if (at - Date.now() > RESTING_MS) {
          isLayingDown = true;
          while (isHeld) await scheduler.wait(1);
          // Nothing but the pump itself is to help.
          return storage.setAlarm(at + AN_HOUR_MS);
        }
        return storage.setAlarm(at);
      },
    };
    Object.defineProperty(instance, "ctx", { value: { storage: held }, configurable: true });
  });
  expect((await fixture.settle()).data.settleResponse.success).toBe(true);
  await vi.waitUntil(() => isLayingDown, { interval: 1, timeout: 120_000 });

  await fixture.again();
  let isWaiting = false;
  const { wallet, payment } = fixture.objects();
  await runInDurableObject(payment, (instance) => {
    const FACILITATOR_WALLET = objectsLike("FACILITATOR_WALLET", (id) => {
      const real = env.FACILITATOR_WALLET.get(id);
      return {
        submit: (...order: Parameters<typeof real.submit>) => {
          isWaiting = true;
          return real.submit(...order);
        },
      };
    });
    const value = { ...env, FACILITATOR_WALLET };
    Object.defineProperty(instance, "env", { value, configurable: true });
  });
  const answer = fixture.settle();
  await vi.waitUntil(() => isWaiting, { interval: 1, timeout: 120_000 });
  // Behind the call that waits.
  await runInDurableObject(wallet, () => {});
  isHeld = false;
  expect((await answer).data).toMatchObject({ replay: false, settleResponse: { success: true } });
  await fixture.expectSettledOnce();
});
