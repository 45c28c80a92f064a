/** `npm run document`: writes the parts of docs/ that follow from the code. */
import { globSync, readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { readDocument } from "./document.ts";
import { eventsPage } from "./events.ts";
import { findBundledPackages, noticeOf } from "./notice.ts";
import { withQuotes } from "./quotes.ts";
import { withTable } from "./tables.ts";

const GUIDE = new URL("../../docs/monitoring.md", import.meta.url);
writeFileSync(GUIDE, withTable(readFileSync(GUIDE, "utf8")));

const EVENTS = new URL("../../docs/webhook-events.md", import.meta.url);
writeFileSync(EVENTS, eventsPage(await readDocument()));

const NOTICE = new URL("../../NOTICE", import.meta.url);
writeFileSync(NOTICE, noticeOf(await findBundledPackages()));

const ROOT = new URL("../../", import.meta.url);
const read = (path: string) => readFileSync(new URL(path, ROOT), "utf8");
for (const path of globSync("{README.md,docs/*.md}", { cwd: fileURLToPath(ROOT) }))
  writeFileSync(new URL(path, ROOT), withQuotes(read(path), read));
