/** A task cannot be done, now or ever, for a reason that its feature knows. The message is for people. */
export class TaskError extends Error {
  override name = "TaskError";
}
