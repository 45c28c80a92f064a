import { env } from "cloudflare:workers";
import { beforeEach, expect, it } from "vitest";
import { MOVED_AUDIT } from "../../src/api-keys/archived-audit.ts";
import { moveFinalRecords } from "../../src/archive/move-records.ts";
import { newId } from "../../src/db/id.ts";
import { continueErasures } from "../../src/erasure/continue-erasures.ts";
import { MOVED_ESCROWS } from "../../src/escrow/store/archived-escrows.ts";
import { app, emptyTables } from "../support/app.ts";
import {
  ARCHIVES,
  emptyArchives,
  makeFinal,
  NO_ARCHIVES,
  readArchive,
} from "../support/archives.ts";
import { insertKey } from "../support/keys.ts";
import { makeRecord, Writer } from "../support/sources/records.ts";

const NOTE = "for Ada Lovelace";
const BINDINGS = { ...env, ...ARCHIVES, ARCHIVE_AFTER_MINUTES: "0" };

beforeEach(async () => {
  await emptyTables();
  await emptyArchives();
});

it("The erasure of a key removes its notes and audit details from archives too, and waits for those that are not bound", async () => {
  await insertKey({ id: "key-a" });
  const writer = await Writer.create(env.DB);
  const record = makeRecord("payment");
  await writer.change([record], Date.now(), "Withdrawn");
  await env.DB.prepare(
    "INSERT INTO escrow_request (record_id, requested_by_id, metadata, made_at) VALUES (?, 'key-a', ?, 1)",
  )
    .bind(record.id, NOTE)
    .run();
  await env.DB.prepare(
    "INSERT INTO audit VALUES (?, 1, 'key-a', 'r', 'api-key.update', 'key-a', ?)",
  )
    .bind(newId(1), JSON.stringify({ note: NOTE }))
    .run();
  await makeFinal();
  const kinds = [MOVED_ESCROWS, MOVED_AUDIT];
  await moveFinalRecords(BINDINGS, kinds, Date.now() + 1_000, Date.now() + 60_000);
  const archived = await readArchive(env.ARCHIVE_1);
  for (const table of ["escrow_request", "audit"])
    expect(JSON.stringify(archived[table])).toContain(NOTE);

  for (const bindings of [{ ...env, ...NO_ARCHIVES }, BINDINGS]) {
    const answer = await app.request(
      "/api/v1/erasure",
      {
        method: "POST",
        headers: { token: env.ADMIN_KEY ?? "" },
        body: JSON.stringify({ apiKeyId: "key-a" }),
      },
      bindings,
    );
    expect(answer.status).toBe(200);
    expect(await answer.json()).toMatchObject({ data: { isComplete: false } });
  }
  const later = Date.now() + 60 * 60_000;
  await continueErasures({ ...env, ...NO_ARCHIVES }, later, Date.now() + 60_000);
  await continueErasures(BINDINGS, Date.now(), Date.now() + 60_000);
  expect(JSON.stringify(await readArchive(env.ARCHIVE_1))).not.toContain(NOTE);
});
