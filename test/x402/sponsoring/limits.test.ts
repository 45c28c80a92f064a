import { env } from "cloudflare:workers";
import fc from "fast-check";
import { beforeAll, describe, expect, it } from "vitest";
import { openDb } from "../../../src/db/client.ts";
import {
  buildCancellation,
  buildRelease,
  buildReservation,
  GasNotSponsoredError,
  isGasAvailable,
  throwIfNotSponsored,
} from "../../../src/x402/attempts/sponsored-gas.ts";
import type { AttemptOrder } from "../../../src/x402/model/messages.ts";
import { emptyTables } from "../../support/app.ts";
import { runs } from "../../support/effort.ts";
import { api, expectOk, X402Fixture } from "../x402-fixture.ts";

const GWEI = 10n ** 9n;
const DAY_MS = 24 * 60 * 60_000;
const MAX_PER_PAYER = 50n * GWEI;
const MAX_PER_DAY = 100n * GWEI;

let network: string;

beforeAll(async () => {
  await emptyTables();
  network = (await X402Fixture.create("84532-gas-limits")).caip2;
  const gasSponsoring = { maxWeiPerPayer: `${MAX_PER_PAYER}`, maxWeiPerDay: `${MAX_PER_DAY}` };
  await expectOk(await api("/x402/networks", { caip2Id: network, gasSponsoring }));
});

interface Reservation {
  payer: string;
  asset: string;
  day: number;
  cost: bigint;
}

const reservation: fc.Arbitrary<Reservation> = fc.record({
  payer: fc.constantFrom("0xa", "0xb", "0xc"),
  asset: fc.constantFrom("0x1", "0x2"),
  day: fc.constantFrom(20_000, 20_001),
  cost: fc.bigInt(1n, MAX_PER_PAYER + 1n),
});
const step = fc.oneof(
  { weight: 3, arbitrary: reservation },
  { weight: 2, arbitrary: fc.record({ end: fc.constantFrom("release", "cancel"), nth: fc.nat() }) },
);

const roundUp = (wei: bigint) => ((wei + GWEI - 1n) / GWEI) * GWEI;
const sum = (some: readonly Reservation[]) =>
  some.reduce((total, { cost }) => total + roundUp(cost), 0n);

describe("reservations of gas", () => {
  it("never exceed the limits, of which they use all, and are open once per payer and token", async () => {
    const core = openDb(env);
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 25 }), async (steps) => {
        await env.DB.prepare("DELETE FROM x402_sponsored_gas").run();
        let stored: (Reservation & { id: string; isOpen: boolean })[] = [];
        for (const [i, one] of steps.entries()) {
          if ("end" in one) {
            const ended = stored[one.nth % stored.length];
            if (!ended) continue;
            const order = toOrder(ended.id, ended.asset);
            if (one.end === "release") {
              await core.batch(buildRelease(order));
              ended.isOpen = false;
            } else if (ended.isOpen) {
              await core.batch(buildCancellation(order));
              stored = stored.filter((other) => other !== ended);
            }
            continue;
          }
          const { payer, asset, day, cost } = one;
          const sameDay = stored.filter((other) => other.day === day);
          const samePayer = sameDay.filter((other) => other.payer === payer);
          const isFree =
            sum([...sameDay, one]) <= MAX_PER_DAY &&
            sum([...samePayer, one]) <= MAX_PER_PAYER &&
            !stored.some((other) => other.isOpen && other.payer === payer && other.asset === asset);
          const order = toOrder(`attempt-${i}`, asset);
          const now = day * DAY_MS + i;
          expect(await isGasAvailable(core, order.requirements, payer, `${cost}`, now)).toBe(
            isFree,
          );
          const written = core
            .batch([buildReservation(order, payer, `${cost}`, now)])
            .catch(throwIfNotSponsored);
          if (isFree) await written;
          else await expect(written).rejects.toThrow(GasNotSponsoredError);
          if (isFree) stored.push({ ...one, id: order.attemptId, isOpen: true });
        }
      }),
      runs(25, 400),
    );
  });
});

function toOrder(attemptId: string, asset: string): AttemptOrder {
  return { attemptId, claim: "permit2:", requirements: { network, asset } } as AttemptOrder;
}
