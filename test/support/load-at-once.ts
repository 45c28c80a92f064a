import type { Plugin } from "vitest/config";

const DYNAMIC = /\bimport\(\s*"([^"]+)",?\s*\)/g;

/**
 * Loads dynamic imports of the service together with the importing file. The tests' module loader
 * asks its host at each dynamic import, and later importers wait for the first. If an object is
 * stopped while it asks, all others wait forever.
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
