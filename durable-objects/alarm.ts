/**
 * Makes an object run by a time at the latest: the alarm is moved earlier, never later, so the end
 * of a run keeps the alarm of a wake-up during it.
 *
 * @param at - epoch milliseconds
 */
export async function runBy(
  storage: Pick<DurableObjectStorage, "getAlarm" | "setAlarm">,
  at: number,
): Promise<void> {
  const set = await storage.getAlarm();
  if (set === null || at < set) await storage.setAlarm(at);
}

/**
 * Runs the work of an alarm, and again at once as long as it says that there is more. Never throws:
 * after six failures the platform drops an alarm. The next cron tick retries.
 *
 * @param failed - tells of an error, and when to run again (epoch milliseconds; null: leave it to
 *   the cron)
 */
export async function runAlarm(
  storage: Pick<DurableObjectStorage, "getAlarm" | "setAlarm">,
  run: () => Promise<boolean>,
  failed: (error: unknown) => Promise<number | null>,
): Promise<void> {
  let again: number | null = null;
  try {
    if (await run()) again = Date.now();
  } catch (error) {
    again = await failed(error);
  }
  if (again !== null) await runBy(storage, again);
}
