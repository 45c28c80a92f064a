/** The code blocks of the guides, run as they stand there when they are served. */
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect } from "vitest";
import { withTimeout } from "../../../src/timeout.ts";
import { readGuides } from "../../../tools/docs/read-guides.ts";
import { type Copy, root, run, WAIT_MS } from "../copies.ts";
import type { PackedClient } from "../packed-client.ts";

/** The guides of which every block is a program or a command. */
export const GUIDES = ["escrow-for-buyers.md", "escrow-for-sellers.md", "polling.md"] as const;

/** Guides whose reader has the demo of `npm start`. Every block of theirs is run, too. */
export const DEMO_GUIDES = [
  "first-job.md",
  "mcp.md",
  "webhooks.md",
  "x402-for-sellers.md",
] as const;
const served = readGuides();
type Guide = (typeof GUIDES)[number] | (typeof DEMO_GUIDES)[number];

/** How a block is run: the program of its language, and the name of its file. */
const LANGUAGES = {
  ts: { command: [process.execPath], file: "program.ts" },
  js: { command: [process.execPath], file: "program.js" },
  sh: { command: ["sh"], file: "program.sh" },
  py: { command: ["python3"], file: "program.py" },
  go: { command: ["go", "run"], file: "program.go" },
  php: { command: ["php"], file: "program.php" },
};
type Language = keyof typeof LANGUAGES;

/** Languages that not every machine has, and how they are asked for. */
const OPTIONAL = { py: ["python3", "--version"], go: ["go", "version"], php: ["php", "-v"] };

/** Whether the machine has a language; a line says where it has not. */
export function has(language: keyof typeof OPTIONAL): boolean {
  const [command = "", argument = ""] = OPTIONAL[language];
  if (spawnSync(command, [argument]).status === 0) return true;
  console.log(`no ${command}: the blocks in it are not run`);
  return false;
}

export interface Block {
  /** Guide and position. */
  name: string;
  language: Language;
  code: string;
}

/** The blocks of a guide in a language, or in any. */
export function blocksOf(guide: Guide, language?: Language): Block[] {
  const text = served[guide] ?? "";
  const found = [...text.matchAll(/^```(\w+)\n([\s\S]*?)^```$/gm)].map(([, name, code = ""], i) => {
    // What shows data has a language too, but none that is run.
    if (name !== "json" && !(name && name in LANGUAGES)) throw new Error(`${guide}: ${name}`);
    return { name: `${guide} ${i}`, language: name as Language, code };
  });
  return found.filter(
    (one) => one.language in LANGUAGES && (one.language === language || !language),
  );
}

/** The shell blocks of a page, as the repository has them. @param page - its path */
export function shellBlocksOf(page: string): string[] {
  const blocks = readFileSync(join(root, page), "utf8").matchAll(/^ *```sh\n([\s\S]*?)^ *```$/gm);
  return [...blocks].map(([, block = ""]) => block);
}

/**
 * A command inside a guide's sentence, which runs a program.
 *
 * @param file - the name under which the reader saves the program
 */
export function commandOf(guide: Guide | "clients.md", file: string): Block {
  const commands = (served[guide] ?? "").matchAll(/`([^`\n]+)`/g);
  const code = [...commands].map(([, one = ""]) => one).find((one) => one.endsWith(` ${file}`));
  if (!code) throw new Error(`${guide}: no command runs ${file}`);
  return { name: `${guide} ${file}`, language: "sh", code };
}

/** Blocks of guides that no test ran, without those in languages that the machine lacks. */
export function blocksLeft(guides: readonly Guide[]): string[] {
  const missing = (["py", "go", "php"] as const).filter((language) => !has(language));
  const left = guides
    .flatMap((guide) => blocksOf(guide))
    .filter(
      ({ name, language }) => !Blocks.ran.has(name) && !missing.some((one) => one === language),
    );
  return left.map(({ name, language }) => `${name}: ${language}`);
}

/** Orders a job from an agent under an identifier that no service takes. @returns the status of the answer */
export async function orderWrongly(agentUrl: string): Promise<number> {
  const order = { identifier_from_purchaser: "job-1", input_data: { text: "Guten Tag" } };
  const init = { method: "POST", body: JSON.stringify(order) };
  return (await fetch(`${agentUrl}/start_job`, init)).status;
}

/** How a block is run. */
export interface Conditions {
  env?: Record<string, string>;
  /** The folder in which the block runs. Left out: a folder for this block alone. */
  folder?: string;
  /** Around the block, where it is a function that something has to call. */
  before?: string;
  after?: string;
  args?: string[];
  /** With which `output` wants it to end. Default: 0. */
  exitCode?: number;
  /** Files beside the block, by name: other blocks, which the block runs. */
  files?: Record<string, Block | undefined>;
}

/** Runs code blocks, each in its folder, whose files persist between its runs. */
export class Blocks {
  /** Names of those that were run, by any. */
  static readonly ran = new Set<string>();
  readonly #folder = mkdtempSync(join(tmpdir(), "guides-"));
  readonly #env: Record<string, string>;

  /** @param env - what every block has in its environment */
  constructor(env: Record<string, string>) {
    this.#env = env;
  }

  /** Installs what the programs import: the client as its users do, the rest from this repository. */
  async install(client: PackedClient, ...others: string[]): Promise<void> {
    writeFileSync(join(this.#folder, "package.json"), '{"type":"module"}');
    await client.install(this.#folder);
    for (const name of others)
      symlinkSync(join(root, "node_modules", name), join(this.#folder, "node_modules", name));
  }

  /** Starts a block; `killCopies` ends it. */
  start(block: Block | undefined, conditions: Conditions = {}): Copy {
    if (!block) throw new Error("the guide has no such block");
    const { env = {}, before = "", after = "", args = [], files = {} } = conditions;
    const { command, file } = LANGUAGES[block.language];
    const folder = join(this.#folder, conditions.folder ?? block.name);
    mkdirSync(folder, { recursive: true });
    for (const [name, beside] of Object.entries({ ...files, [file]: block })) {
      if (!beside) throw new Error(`the guide has no block for ${name}`);
      const code = beside === block ? `${before}${block.code}${after}` : beside.code;
      writeFileSync(join(folder, name), code);
      Blocks.ran.add(beside.name);
    }
    const [program = "", ...flags] = command;
    return run(program, [...flags, file, ...args], { ...this.#env, ...env }, folder);
  }

  /** Runs a block to its end and answers what it printed. */
  async output(block: Block | undefined, conditions: Conditions = {}): Promise<string> {
    const copy = this.start(block, conditions);
    const code = await withTimeout(WAIT_MS, copy.closed, () => {
      throw new Error(`${block?.name}: no end within ${WAIT_MS} ms\n${copy.stderr}`);
    });
    expect(copy.stderr).toBe("");
    expect(code).toBe(conditions.exitCode ?? 0);
    return copy.stdout;
  }

  remove(): void {
    rmSync(this.#folder, { recursive: true });
  }
}
