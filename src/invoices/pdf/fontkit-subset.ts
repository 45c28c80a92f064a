import type { PDFDocument } from "pdf-lib";
import { loadFontkit } from "../../packages.ts";

type Fontkit = Parameters<PDFDocument["registerFontkit"]>[0];
type Font = ReturnType<Fontkit["create"]>;

/** The stream that pdf-lib reads a subset from: it only listens. */
interface SubsetStream {
  on(event: string, listener: (bytes?: Uint8Array) => void): SubsetStream;
}

/**
 * Adapts fontkit 2 to pdf-lib 1.17, which was made for a fork of fontkit 1. Subsets of that fork lose
 * outlines. Subsets of fontkit 2 are correct, but are bytes where pdf-lib reads a stream.
 */
export async function subsettingFontkit(): Promise<Fontkit> {
  const fontkit = await loadFontkit();
  return {
    create(bytes: Uint8Array): Font {
      const font = fontkit.create(bytes as Parameters<typeof fontkit.create>[0]);
      if (!("createSubset" in font)) throw new Error("a font collection is no font");
      const createSubset = font.createSubset.bind(font);
      return Object.assign(font, {
        createSubset() {
          const subset = createSubset();
          return Object.assign(subset, { encodeStream: () => streamOf(() => subset.encode()) });
        },
      }) as unknown as Font;
    },
  };
}

/** Everything in one chunk, once the listeners are attached. */
function streamOf(encode: () => Uint8Array): SubsetStream {
  const listeners = new Map<string, (bytes?: Uint8Array) => void>();
  queueMicrotask(() => {
    try {
      listeners.get("data")?.(encode());
      listeners.get("end")?.();
    } catch (error) {
      listeners.get("error")?.(error as Uint8Array);
    }
  });
  const stream: SubsetStream = {
    on(event, listener) {
      listeners.set(event, listener);
      return stream;
    },
  };
  return stream;
}
