import fc from "fast-check";
import { expect, it } from "vitest";
import { createIdGenerator, deriveId, firstIdAt, newId, timeOfId } from "../../src/db/id.ts";
import { runs } from "../support/effort.ts";

const NOW = Date.UTC(2026, 10, 22);
const many = (make: () => string) => Array.from({ length: 1_000 }, make);

it.each([
  ["newId", () => newId(NOW)],
  ["ascendingIds", createIdGenerator(NOW)],
])("%s makes ids of one millisecond that differ and sort as they were made", (_, make) => {
  const ids = many(make);
  expect(ids).toEqual([...new Set(ids)].sort());
  expect(ids.every((id) => /^[0-9a-hjkmnp-tv-z]{26}$/.test(id))).toBe(true);
  expect(ids.every((id) => id >= firstIdAt(NOW) && id < firstIdAt(NOW + 1))).toBe(true);
});

it("newId sorts by its time, whichever was made first", () => {
  const [later, earlier] = [newId(NOW + 1), newId(NOW)];
  expect(earlier < later).toBe(true);
});

it("ascendingIds goes on behind what others made of its millisecond, and before those of another", () => {
  const make = createIdGenerator(NOW);
  const ids = [make(), newId(NOW), make()];
  newId(NOW + 1);
  ids.push(make());
  expect(ids).toEqual([...new Set(ids)].sort());
});

it("deriveId makes one id of a name, which sorts by its time", () => {
  const ids = Array.from({ length: 1_000 }, (_, i) => deriveId(NOW, `payment ${i}`));
  expect(new Set(ids).size).toBe(1_000);
  expect(ids.every((id) => id >= firstIdAt(NOW) && id < firstIdAt(NOW + 1))).toBe(true);
  expect(deriveId(NOW, "payment 0")).toBe(ids[0]);
});

it("timeOfId returns the time of which an id was made", () => {
  fc.assert(
    fc.property(fc.nat(2 ** 48 - 1), (at) => timeOfId(newId(at)) === at),
    runs(100, 10_000),
  );
});
