/** `npm run document`: writes the parts of docs/ that follow from the code. */
import { readFileSync, writeFileSync } from "node:fs";
import { readDocument } from "./document.ts";
import { eventsPage } from "./events.ts";
import { findBundledPackages, noticeOf } from "./notice.ts";
import { withTable } from "./tables.ts";

const GUIDE = new URL("../../docs/operating.md", import.meta.url);
writeFileSync(GUIDE, withTable(readFileSync(GUIDE, "utf8")));

const EVENTS = new URL("../../docs/webhook-events.md", import.meta.url);
writeFileSync(EVENTS, eventsPage(await readDocument()));

const NOTICE = new URL("../../NOTICE", import.meta.url);
writeFileSync(NOTICE, noticeOf(await findBundledPackages()));
