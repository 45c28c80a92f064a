/** `npm run document`: writes the parts of docs/ that follow from the code. */
import { readFileSync, writeFileSync } from "node:fs";
import { withTable } from "./tables.ts";

const GUIDE = new URL("../../docs/operating.md", import.meta.url);
writeFileSync(GUIDE, withTable(readFileSync(GUIDE, "utf8")));
