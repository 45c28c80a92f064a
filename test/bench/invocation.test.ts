import { expect, test } from "vitest";
import { Invocation, ObjectClock } from "../../bench/platform/invocation.ts";

/** Begins a database call; the result ends the call. */
function begin(invocation: Invocation): () => Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const done = invocation.query(() => promise);
  return async () => {
    resolve();
    await done;
  };
}

test("calls that overlap are not in series", async () => {
  const invocation = new Invocation("cron", null);
  const ends = [begin(invocation), begin(invocation), begin(invocation)];
  for (const end of ends) await end();
  expect(invocation.counts).toMatchObject({ "D1 calls": 3, "in series": 1, connections: 3 });
});

test("the series is the longest chain of calls that begin after another has ended", async () => {
  const invocation = new Invocation("cron", null);
  const endLong = begin(invocation);
  await begin(invocation)();
  await begin(invocation)();
  const endThird = begin(invocation);
  await endLong();
  // Begins after the long call and the two short calls, while the third runs.
  await begin(invocation)();
  await endThird();
  expect(invocation.counts).toMatchObject({ "D1 calls": 5, "in series": 3 });
});

test("a seventh call waits for one of six connections, and then follows in series", async () => {
  const invocation = new Invocation("cron", 6);
  const ends = Array.from({ length: 6 }, () => begin(invocation));
  let isOpen = false;
  const seventh = invocation.query(async () => {
    isOpen = true;
  });
  await Promise.resolve();
  expect(isOpen).toBe(false);
  await ends[0]?.();
  await seventh;
  for (const end of ends.slice(1)) await end();
  expect(invocation.counts).toMatchObject({ connections: 6, waits: 1, "in series": 2 });
});

test("a call that fails frees its connection", async () => {
  const invocation = new Invocation("cron", 1);
  const failed = invocation.connect(() => Promise.reject(new Error("refused")));
  await expect(failed).rejects.toThrow("refused");
  expect(await invocation.connect(async () => "answered")).toBe("answered");
});

test("invocations that run at the same time share the time of their object", () => {
  let now = 0;
  const clock = new ObjectClock(() => now);
  const [first, second] = [new Invocation("A.wait", null), new Invocation("A.wait", null)];
  clock.begin(first);
  now = 100;
  clock.begin(second);
  now = 300;
  clock.end(first);
  now = 350;
  clock.end(second);
  now = 1_000;
  clock.begin(first);
  expect(first.counts["object ms"]).toBe(200);
  expect(second.counts["object ms"]).toBe(150);
});
