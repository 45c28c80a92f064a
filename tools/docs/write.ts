/** `npm run document`: writes docs/webhook-events.md and NOTICE, which follow from the code. */
import { writeFileSync } from "node:fs";
import { readDocument } from "./document.ts";
import { eventsPage } from "./events.ts";
import { findBundledPackages, noticeOf } from "./notice.ts";

const EVENTS = new URL("../../docs/webhook-events.md", import.meta.url);
writeFileSync(EVENTS, eventsPage(await readDocument()));

const NOTICE = new URL("../../NOTICE", import.meta.url);
writeFileSync(NOTICE, noticeOf(await findBundledPackages()));
