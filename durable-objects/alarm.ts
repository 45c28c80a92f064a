/**
 * Makes an object run by a time at the latest. The alarm is moved earlier, never later, so the end of a
 * run keeps the alarm of a wake-up during the run.
 *
 * @param at - epoch milliseconds
 */
export async function scheduleAlarmBy(
  storage: Pick<DurableObjectStorage, "getAlarm" | "setAlarm">,
  at: number,
): Promise<void> {
  const set = await storage.getAlarm();
  if (set === null || at < set) await storage.setAlarm(at);
}

/**
 * Runs the work of an alarm, and repeats it when the work asks for it. Never throws: the platform drops an
 * alarm after six failures. The next cron tick retries.
 *
 * @param run - returns the next time, epoch milliseconds. Null: the cron decides.
 * @param failed - logs an error, and returns the next time
 */
export async function runAlarm(
  storage: Pick<DurableObjectStorage, "getAlarm" | "setAlarm">,
  run: () => Promise<number | null>,
  failed: (error: unknown) => Promise<number | null>,
): Promise<void> {
  let again: number | null;
  try {
    again = await run();
  } catch (error) {
    again = await failed(error);
  }
  if (again !== null) await scheduleAlarmBy(storage, again);
}
