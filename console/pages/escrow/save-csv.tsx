/** What a list shows, as a file: the service makes it, with more rows than a page of the list. */
import { useState } from "preact/hooks";
import { toCallError } from "../../api/live.ts";
import { downloadFile } from "../../api/request.ts";
import { announce } from "../../ui/status.tsx";
import { saveFile } from "../../ui/value.tsx";
import { SIDES, type Side } from "./sides.ts";

export function SaveCsvButton({
  side,
  query,
}: {
  side: Side;
  query: Readonly<Record<string, string>>;
}) {
  const [isSaving, setSaving] = useState(false);
  const save = async () => {
    setSaving(true);
    try {
      // As many rows as the API gives at once; the last line of the file says whether more follow.
      const { limit: _, ...asked } = query;
      const text = await downloadFile(`/${side}/csv`, asked);
      saveFile(`${SIDES[side].title.toLowerCase()}.csv`, new Blob([text], { type: "text/csv" }));
    } catch (error) {
      announce(`The CSV cannot be saved: ${toCallError(error).message}`);
    } finally {
      setSaving(false);
    }
  };
  return (
    <button type="button" disabled={isSaving} onClick={save}>
      {isSaving ? "Saving…" : "Save as CSV"}
    </button>
  );
}
