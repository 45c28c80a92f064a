import { execFileSync, spawnSync } from "node:child_process";
import { once } from "node:events";
import {
  chmodSync,
  cpSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { freePort, killCopies, root, run, start } from "./copies.ts";

/** What a checkout needs to start, but for what an install puts into it. */
const PARTS = [
  "client",
  "console",
  "devnet",
  "durable-objects",
  "migrations",
  "migrations-search",
  "src",
  "package.json",
  "tsconfig.json",
  "wrangler.toml",
];

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "refusals-"));
});
afterEach(() => {
  killCopies();
  chmodSync(folder, 0o700);
  rmSync(folder, { recursive: true });
});

/** A copy of this checkout with its packages installed, by an install that ran no scripts. */
function copyCheckout(): void {
  for (const part of PARTS) cpSync(join(root, part), join(folder, part), { recursive: true });
  symlinkSync(join(root, "node_modules"), join(folder, "node_modules"));
}

/** Runs a program of the copied checkout to its end. */
async function outcome(program: string, ...prefix: string[]) {
  const [command = "", ...args] = [...prefix, process.execPath, program];
  const port = String(await freePort());
  const copy = run(command, args, { PORT: port }, folder);
  const [code] = await once(copy.process, "close");
  return { code, stdout: copy.stdout, stderr: copy.stderr };
}

it.each(["devnet/start.ts", "devnet/build.ts"])(
  "%s reports in one line that prepare has not run",
  async (program) => {
    copyCheckout();
    expect(await outcome(program)).toEqual({
      code: 1,
      stdout: "",
      stderr: expect.stringMatching(
        /^public\/, src\/packages\/ or client\/generated\/ has not been made: run `npm run prepare`, .*\n$/,
      ),
    });
  },
);

it("npm start reports in one line that the checkout is not writable", async () => {
  copyCheckout();
  chmodSync(folder, 0o555);
  // The administrator of a machine writes wherever it wants, unless it lays that power down.
  const humbly = process.getuid?.() === 0 ? ["setpriv", "--bounding-set", "-dac_override"] : [];
  expect(await outcome("devnet/start.ts", ...humbly)).toEqual({
    code: 1,
    stdout: "",
    stderr: expect.stringMatching(/cannot be written to, and npm start keeps \.dev\.vars in it\n$/),
  });
});

it.each(["", "/below"])(
  "npm start reports in one line that --keep=FILE%s is no folder",
  async (below) => {
    const file = join(folder, "file");
    writeFileSync(file, "");
    const copy = start(await freePort(), `--keep=${file}${below}`);
    expect((await once(copy.process, "close"))[0]).toBe(1);
    expect(copy.stderr).toBe(
      `--keep needs a folder, and ${file}${below} is a file or lies below one\n`,
    );
    expect(copy.stdout).toBe("");
  },
);

it("npm start says in one line that --origins names one that is not of this machine", async () => {
  const copy = start(await freePort(), "--origins=http://127.0.0.1:9000,http://10.0.0.1");
  expect((await once(copy.process, "close"))[0]).toBe(1);
  expect(copy.stderr).toBe(
    "--origins: http://10.0.0.1 is no origin on this machine, such as http://127.0.0.1:9000\n",
  );
  expect(copy.stdout).toBe("");
});

it("npm start reports an unknown option in one line, which names the list of options", async () => {
  const copy = run(process.execPath, ["devnet/start.ts", "--nodemo"], {});
  expect((await once(copy.process, "close"))[0]).toBe(1);
  expect(copy.stderr).toBe("there is no option --nodemo; npm start -- --help lists the options\n");
  expect(copy.stdout).toBe("");
});

it("npm start says in one line that ESCROW_CONTRACTS names a file that is not right", async () => {
  const file = join(folder, "contracts.json");
  writeFileSync(file, "{}");
  const variables = { PORT: String(await freePort()), ESCROW_CONTRACTS: file };
  const copy = run(process.execPath, ["devnet/start.ts"], variables);
  expect((await once(copy.process, "close"))[0]).toBe(1);
  expect(copy.stderr).toBe(`ESCROW_CONTRACTS: ${file}: names no generation\n`);
  expect(copy.stdout).toBe("");
});

it("npm start reports in one line that npm ci has not run", () => {
  for (const part of PARTS) cpSync(join(root, part), join(folder, part), { recursive: true });
  const { status, stdout, stderr } = spawnSync("npm", ["start", "--silent"], {
    cwd: folder,
    encoding: "utf8",
  });
  expect({ status, stdout, stderr }).toEqual({
    status: 1,
    stdout: "",
    stderr: "The packages are not installed: run npm ci, then npm start\n",
  });
});

it("npm start reports in one line a Node that is too old", () => {
  const program = `Object.defineProperty(process.versions, "node", { value: "20.1.0" });
    require("./devnet/require-node.cjs");`;
  const { status, stderr } = spawnSync(process.execPath, ["--eval", program], {
    cwd: root,
    encoding: "utf8",
  });
  expect(status).toBe(1);
  expect(stderr).toMatch(/^This is Node 20\.1\.0, and the service needs Node 24\.\S+: .*\n$/);
});

it("npm uses the Node of the install, whichever Node started npm", () => {
  const read = "process.stdout.write(process.versions.node)";
  const version = execFileSync("npm", ["exec", "--", "node", "-e", read], {
    cwd: root,
    encoding: "utf8",
  });
  const { devDependencies } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  expect(version).toBe(devDependencies.node);
});
