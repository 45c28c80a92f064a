import { createRouter, serve } from "../../../http/endpoint.ts";
import { described, textField } from "../../../http/openapi/fields.ts";
import { wholeNumberParameter } from "../../../http/openapi/parameters.ts";
import { openReadSession } from "../../../http/session.ts";
import { listQuery } from "../query-schemas.ts";
import { buildCsvFile } from "./build-csv-file.ts";

/** Lines of a file: with the longest identifiers they still fit the memory of a Worker. */
const MAX_LINES = 2_000;

const CSV_MEDIA_TYPE = "text/csv";

const csvQuery = listQuery.omit({ includeHistory: true }).extend({
  limit: described(
    wholeNumberParameter({ min: 1, max: MAX_LINES, default: MAX_LINES }),
    "Maximum number of records in the file.",
    MAX_LINES,
  ),
});

/** `GET /payment/csv` and `GET /purchase/csv`: the lists, for spreadsheets. */
export function createCsvRoutes() {
  const router = createRouter();
  for (const side of ["purchase", "payment"] as const) {
    const list = side === "purchase" ? "Purchases" : "Payments";
    serve(
      router,
      {
        method: "get",
        path: `/${side}/csv`,
        operationId: `export${list}`,
        takesBookmark: true,
        mayBePaged: true,
        access: "User",
        scope: "wallets",
        tag: list,
        summary: `Lists ${side}s as CSV, newest first`,
        description: `The records of \`GET /${side}\` with the same filters: a header, then a line per record (RFC 4180). \`amount\`, fees and lists of amounts are in minor units; \`wholeAmount\` is exact too. An apostrophe precedes text that a spreadsheet would read as a formula. If more records follow, the last line begins with \`More follow\`, and \`Link\` names the next file.`,
        query: csvQuery,
        media: CSV_MEDIA_TYPE,
        data: textField("A header, and a line per record.", "id,createdAt,network\r\n"),
      },
      async (c, { query }) => {
        const session = openReadSession(c, query.network);
        const filters = { ...query, includeHistory: false, viewer: c.var.caller };
        const { text, nextCursor } = await buildCsvFile(c, session, side, filters);
        const bookmark = session.bookmark();
        return c.body(text, 200, {
          "content-type": `${CSV_MEDIA_TYPE}; charset=utf-8; header=present`,
          "content-disposition": `attachment; filename="${side}s.csv"`,
          ...(bookmark !== null && { "x-d1-bookmark": bookmark }),
          ...(nextCursor !== null && { link: buildNextLink(c.req.url, nextCursor) }),
        });
      },
    );
  }
  return router;
}

/** RFC 8288: the same request for what follows. */
function buildNextLink(url: string, cursorId: string): string {
  const { pathname, searchParams } = new URL(url);
  searchParams.set("cursorId", cursorId);
  return `<${pathname}?${searchParams}>; rel="next"`;
}
