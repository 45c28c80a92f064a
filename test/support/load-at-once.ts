import type { Plugin } from "vitest/config";

const DYNAMIC = /\bimport\(\s*"([^"]+)",?\s*\)/g;

/**
 * Loads what the service imports where it needs it together with the file that does. The tests' module
 * loader asks its host at each dynamic import, and everybody who imports the same waits for the first
 * who asked: once an object is stopped while it asks, all others would wait for good.
 */
export function loadAtOnce(): Plugin {
  return {
    name: "load-at-once",
    transform(code, id) {
      if (!/\/(src|durable-objects)\/.*\.ts$/.test(id)) return null;
      const loaded: string[] = [];
      const now = code.replace(DYNAMIC, (_, path: string) => {
        loaded.push(`import * as loaded${loaded.length} from "${path}";`);
        return `Promise.resolve(loaded${loaded.length - 1})`;
      });
      // At the end, so that every line keeps its number.
      return loaded.length === 0 ? null : { code: `${now}\n${loaded.join(" ")}`, map: null };
    },
  };
}
