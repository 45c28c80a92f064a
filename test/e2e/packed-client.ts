/** The client as its users get it: a packed file, and a registry with what programs depend on. */
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { expect } from "vitest";
import { root, run } from "./copies.ts";

const LOCK = JSON.parse(readFileSync(join(root, "package-lock.json"), "utf8"));
/** Folders of this repository's own packages, from which the registry serves: no test asks the internet. */
const PACKAGES: string[] = Object.keys(LOCK.packages).filter((path) =>
  existsSync(join(root, path)),
);
const ARCHIVES = "/archives/";

export class PackedClient {
  /** What npm needs in its environment to ask nobody but this registry. */
  readonly env: Record<string, string>;
  readonly #folder: string;
  readonly #registry: Server;
  #file: string | undefined;

  private constructor(folder: string, registry: Server) {
    this.#folder = folder;
    this.#registry = registry;
    this.env = {
      npm_config_registry: originOf(registry),
      npm_config_cache: join(folder, "cache"),
      npm_config_audit: "false",
      npm_config_fund: "false",
      npm_config_update_notifier: "false",
      REPOSITORY: root,
    };
  }

  /** Starts the registry. */
  static async open(): Promise<PackedClient> {
    const folder = mkdtempSync(join(tmpdir(), "packed-"));
    const registry = createServer(({ url = "" }, response) => {
      const path = decodeURIComponent(url);
      if (path.startsWith(ARCHIVES)) {
        const files = join(root, path.slice(ARCHIVES.length));
        const args = ["-C", dirname(files), "--exclude", "node_modules", "-cz", "-f", "-"];
        spawn("tar", [...args, files.slice(dirname(files).length + 1)]).stdout.pipe(response);
        return;
      }
      const document = documentOf(path.slice(1), originOf(registry));
      response.writeHead(document ? 200 : 404).end(JSON.stringify(document));
    });
    await once(registry.listen(0, "127.0.0.1"), "listening");
    return new PackedClient(folder, registry);
  }

  /** Path of the client's file, packed by the command that the guides name. */
  get file(): string {
    this.#file ??= execute("npm", "run", "--silent", "pack:client", "--", this.#folder).trim();
    return this.#file;
  }

  /** Installs the client into a folder by a command, which has the repository's path. */
  async install(folder: string, command = `npm install "${this.file}"`): Promise<void> {
    const shell = run("sh", ["-c", command], this.env, folder);
    expect(await shell.closed, shell.stderr).toBe(0);
  }

  close(): void {
    this.#registry.close();
    rmSync(this.#folder, { recursive: true });
  }
}

/** The registry's document about a package: the versions that this repository has, or null. */
function documentOf(name: string, origin: string): object | null {
  const paths = PACKAGES.filter((path) => path.endsWith(`node_modules/${name}`));
  const versions = paths.map((path) => {
    const manifest = JSON.parse(readFileSync(join(root, path, "package.json"), "utf8"));
    const dist = { tarball: `${origin}${ARCHIVES}${encodeURIComponent(path)}` };
    return [manifest.version, { ...manifest, dist }] as const;
  });
  const top = paths.indexOf(`node_modules/${name}`);
  const latest = (versions[top] ?? versions[0])?.[0];
  return latest ? { name, "dist-tags": { latest }, versions: Object.fromEntries(versions) } : null;
}

function originOf(server: Server): string {
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

function execute(command: string, ...args: string[]): string {
  return execFileSync(command, args, { cwd: root, encoding: "utf8" });
}
