import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import * as mupdf from "mupdf";
import { expect, it, vi } from "vitest";

const root = fileURLToPath(new URL("../..", import.meta.url));
const COMMAND = /^curl .*\/api\/v1\/invoice\/monthly' \| node -e .*$/m;

it("npm start prints a command that writes invoice.pdf", { timeout: 120_000 }, async () => {
  const folder = mkdtempSync(join(tmpdir(), "invoice-command-"));
  const service = spawn(process.execPath, ["devnet/start.ts"], {
    cwd: root,
    env: { ...process.env, PORT: "0" },
  });
  try {
    let printed = "";
    service.stdout.on("data", (chunk) => {
      printed += chunk;
    });
    const [command] = await vi.waitUntil(() => COMMAND.exec(printed), { timeout: 90_000 });
    // The service polls the chain, so the payment may be a few seconds away.
    await vi.waitFor(() => promisify(execFile)("bash", ["-c", command], { cwd: folder }), {
      timeout: 20_000,
      interval: 500,
    });
    const pdf = mupdf.Document.openDocument(readFileSync(join(folder, "invoice.pdf")), "pdf");
    const text = pdf.loadPage(0).toStructuredText("").asText();
    expect(text).toContain("Demo Agents GmbH");
    expect(text).toContain("€0.00");
  } finally {
    const exit = once(service, "exit");
    service.kill("SIGINT");
    await exit;
    rmSync(folder, { recursive: true, force: true });
  }
});
