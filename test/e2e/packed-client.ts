/** The client as its users get it: a packed file, and a registry with what the client depends on. */
import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect } from "vitest";
import { root, run } from "./copies.ts";

/** What the client depends on comes from this repository's own packages: no test asks the internet. */
const DEPENDENCIES = ["openapi-fetch", "openapi-typescript-helpers"];

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
    };
  }

  /** Starts the registry. */
  static async open(): Promise<PackedClient> {
    const folder = mkdtempSync(join(tmpdir(), "packed-"));
    const packages = new Map(DEPENDENCIES.map((name) => [name, packDependency(name, folder)]));
    const registry = createServer(({ url = "" }, response) => {
      const name = url.slice(1);
      const { manifest, file } = packages.get(name.replace(/\.tgz$/, "")) ?? {};
      if (!manifest || !file) response.writeHead(404).end();
      else if (name.endsWith(".tgz")) response.end(readFileSync(file));
      else response.end(JSON.stringify(documentOf(manifest, originOf(registry))));
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
    const shell = run("sh", ["-c", command], { ...this.env, REPOSITORY: root }, folder);
    expect(await shell.closed, shell.stderr).toBe(0);
  }

  close(): void {
    this.#registry.close();
    rmSync(this.#folder, { recursive: true });
  }
}

interface Manifest {
  name: string;
  version: string;
}

function packDependency(name: string, folder: string): { manifest: Manifest; file: string } {
  const path = join(root, "node_modules", name);
  const packed = execute("npm", "pack", "--silent", "--pack-destination", folder, path).trim();
  const manifest = JSON.parse(readFileSync(join(path, "package.json"), "utf8"));
  return { manifest, file: join(folder, packed) };
}

/** What a registry answers about a package. */
function documentOf(manifest: Manifest, origin: string): object {
  const { name, version } = manifest;
  const published = { ...manifest, dist: { tarball: `${origin}/${name}.tgz` } };
  return { name, "dist-tags": { latest: version }, versions: { [version]: published } };
}

function originOf(server: Server): string {
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

function execute(command: string, ...args: string[]): string {
  return execFileSync(command, args, { cwd: root, encoding: "utf8" });
}
