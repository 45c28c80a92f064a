/**
 * Child process of `compile.ts`: compiles the Pebble source named by its argument and prints the
 * program (bare flat encoding) in hex as its last line. The compiler never returns from a second
 * compilation in one process, so each source gets a process of its own.
 */
import { readFileSync } from "node:fs";
import { basename } from "node:path";
import { Compiler, createMemoryCompilerIoApi, productionOptions } from "@harmoniclabs/pebble";

const path = process.argv[2];
if (path === undefined) throw new Error("usage: compile-one.ts <source.pebble>");
const entry = basename(path);
const io = createMemoryCompilerIoApi({ sources: new Map([[entry, readFileSync(path)]]) });
const flat = await new Compiler(io, productionOptions).compile({ entry, root: "." });
process.stdout.write(`${Buffer.from(flat).toString("hex")}\n`);
