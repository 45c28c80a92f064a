/**
 * Plays stories of escrows, the same stories for the same seed:
 *
 *     npx node test/model/escrows/slice.ts --seed 7 --stories 10000
 *
 * It prints each story that ends badly as JSON. Add these to the stories of escrows.test.ts. It
 * exits with 1 if there is one.
 */
import { parseArgs } from "node:util";
import fc from "fast-check";
import { endOf, STORIES } from "./stories.ts";

const { values } = parseArgs({
  options: { seed: { type: "string" }, stories: { type: "string" } },
});
const seed = Number(values.seed ?? 1);
const numRuns = Number(values.stories ?? 1000);

let now = 0;
Date.now = () => now;
let drawn = 0n;
// A story with the same storyActions has the same ids.
const random = crypto.getRandomValues.bind(crypto);
crypto.getRandomValues = <A extends ArrayBufferView>(array: A): A =>
  array instanceof BigUint64Array ? array.fill(++drawn) : (random(array as never) as unknown as A);
for (const level of ["info", "warn", "error"] as const) console[level] = () => {};

const begun = process.cpuUsage();
let bad = 0;
for (const [type, funds, storyActions] of fc.sample(STORIES, { seed, numRuns })) {
  drawn = 0n;
  const end = await endOf(type, funds, storyActions, (time) => {
    now = time;
  }).catch((error: unknown) => ({ thrown: [error instanceof Error ? error.stack : error] }));
  if (Object.values(end).every((wrong) => wrong.length === 0)) continue;
  bad++;
  process.stdout.write(`${JSON.stringify([type, funds, storyActions, end])}\n`);
}
const { user, system } = process.cpuUsage(begun);
const each = ((user + system) / 1000 / numRuns).toFixed(1);
process.stdout.write(
  `seed ${seed}: ${numRuns} stories, ${bad} ended badly, ${each} ms of CPU each\n`,
);
process.exitCode = bad === 0 ? 0 : 1;
