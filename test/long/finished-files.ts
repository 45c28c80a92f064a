import { appendFileSync } from "node:fs";
import { relative } from "node:path";
import type { Reporter, TestModule } from "vitest/node";

/**
 * A reporter that appends the path of each test file that ran, one per line, to the file that the
 * variable `FINISHED_FILES` names. It omits a file whose tests were all skipped.
 */
export default class FinishedFiles implements Reporter {
  onTestModuleEnd(module: TestModule): void {
    if (module.state() === "skipped") return;
    const log = process.env.FINISHED_FILES;
    if (log === undefined) throw new Error("FINISHED_FILES is not set: name a file for the paths");
    appendFileSync(log, `${relative(module.project.vitest.config.root, module.moduleId)}\n`);
  }
}
