/** How many rows other lists have for a row. */
import { useLiveData } from "../../api/live.ts";
import { type ApiRequest, callApi, urlOf } from "../../api/request.ts";
import { pickTexts } from "../path.ts";
import type { CountedRows } from "../resource.ts";

/** The API gives at most so many rows at once. */
const MAX_COUNTED = 100;

export function RowCount({ counted, row }: { counted: CountedRows; row: unknown }) {
  const { path, rowsMember, fromRow, selections } = counted;
  const requests = selections.map(
    (selection): ApiRequest => ({
      method: "GET",
      path,
      query: { ...pickTexts(row, fromRow), ...selection, limit: String(MAX_COUNTED) },
    }),
  );
  const { data } = useLiveData(requests.map(urlOf).join(" "), async (signal) => {
    const answers = await Promise.all(
      requests.map((request) => callApi<Record<string, unknown[]>>(request, signal)),
    );
    return answers.map((answer) => answer[rowsMember]?.length ?? 0);
  });
  if (data === null) return <>…</>;
  const sum = data.reduce((all, count) => all + count, 0);
  return <>{data.includes(MAX_COUNTED) ? `${sum} or more` : sum}</>;
}
