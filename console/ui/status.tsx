/** What the console tells of itself: what was done, when it last read, and what it cannot read. */
import { signal } from "@preact/signals";
import { lastReadAt, readError } from "../api/live.ts";
import { formatRelativeTime } from "./format.ts";
import { clock } from "./value.tsx";

const MESSAGE_DURATION_MS = 6_000;
const announcement = signal("");

/** Says something to everyone, those who listen to the screen included. */
export function announce(text: string): void {
  announcement.value = text;
  setTimeout(() => {
    if (announcement.value === text) announcement.value = "";
  }, MESSAGE_DURATION_MS);
}

export function Announcement() {
  return (
    <div class="announcement" role="status">
      {announcement.value}
    </div>
  );
}

/** Whether what is shown is up to date. */
export function LastReadStatus() {
  const at = lastReadAt.value;
  const error = readError.value;
  if (error) return <span class="freshness bad">{error.message}</span>;
  if (at === null) return <span class="freshness first">Reading…</span>;
  const age = clock.value - at;
  return (
    <span class={age < 15_000 ? "freshness live" : "freshness"}>
      {age < 15_000 ? "Live" : `Read ${formatRelativeTime(at, clock.value)}`}
    </span>
  );
}

const SKELETON_LINES = [1, 2, 3, 4, 5, 6];

/** What stands where an answer is still to come. */
export function LoadingIndicator() {
  return (
    <div class="reading">
      <p class="hidden">Reading…</p>
      {SKELETON_LINES.map((line) => (
        <span key={line} />
      ))}
    </div>
  );
}
