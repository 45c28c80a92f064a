import { renderLogTable } from "../../src/log-events.ts";

const PLACE = /(<!-- log events: .*? -->\n)[\s\S]*?(<!-- end -->)/;

/**
 * The operating guide with the table of what is logged.
 *
 * @throws where the guide has no place for it
 */
export function withTable(guide: string): string {
  if (!PLACE.test(guide)) throw new Error("docs/operating.md has no place for the log events");
  return guide.replace(
    PLACE,
    (_, begin: string, end: string) => `${begin}${renderLogTable()}\n${end}`,
  );
}
