/** What an action depends on, which its form says before the fields. */
import { useEffect, useState } from "preact/hooks";
import { callApi } from "../api/request.ts";
import type { FieldValues } from "./form-values.ts";
import { pickTexts } from "./path.ts";
import { RemedyLink } from "./problem.tsx";
import type { Action, FormList } from "./resource.ts";
import { network } from "./route.ts";

type Rows = readonly (readonly unknown[])[];

const buildQuery = (list: FormList, values: FieldValues, row: unknown): Record<string, string> => ({
  ...list.query,
  ...(list.hasNetwork && { network: network.value }),
  ...pickTexts(row, list.fromRow ?? {}),
  ...pickTexts(values, list.fromFields ?? {}),
});

async function readRows({ path, rowsMember }: FormList, query: Record<string, string>) {
  const data = await callApi<Record<string, unknown[]>>({ method: "GET", path, query });
  return data[rowsMember] ?? [];
}

/** A list that cannot be read keeps nobody from the form. */
export function PrerequisiteNotice({
  action: { prerequisite, remedy },
  values,
  row,
  hasLink,
}: {
  action: Action;
  values: FieldValues;
  row: unknown;
  /** Whether the link of the remedy may stand here: a refusal has the link itself. */
  hasLink: boolean;
}) {
  const [rows, setRows] = useState<Rows | null>(null);
  const lists = prerequisite?.lists ?? [];
  const queries = lists.map((list) => buildQuery(list, values, row));
  useEffect(() => {
    let isStopped = false;
    setRows(null);
    Promise.all(lists.map((list, i) => readRows(list, queries[i] ?? {}))).then(
      (found) => {
        if (!isStopped) setRows(found);
      },
      () => undefined,
    );
    return () => {
      isStopped = true;
    };
  }, [JSON.stringify(queries)]);
  const text = rows && prerequisite?.describe(rows, row, values);
  if (!text) return null;
  return (
    <>
      <p class="notice" role="status">
        {text}
      </p>
      {hasLink && prerequisite?.hasRemedy && remedy && (
        <RemedyLink remedy={remedy} values={values} row={row} />
      )}
    </>
  );
}
