/** What is global in the Worker and named in the types of `src/`, for programs that run in Node. */
import type * as Workers from "@cloudflare/workers-types";

declare global {
  type D1Database = Workers.D1Database;
  type D1DatabaseSession = Workers.D1DatabaseSession;
  type D1PreparedStatement = Workers.D1PreparedStatement;
  type D1Result<T = unknown> = Workers.D1Result<T>;
  type DurableObjectLocationHint = Workers.DurableObjectLocationHint;
  type DurableObjectNamespace<Object extends Rpc.DurableObjectBranded | undefined = undefined> =
    Workers.DurableObjectNamespace<Object>;
  type DurableObjectState = Workers.DurableObjectState;
  type DurableObjectStorage = Workers.DurableObjectStorage;
  type SqlStorage = Workers.SqlStorage;
  type SqlStorageValue = Workers.SqlStorageValue;
  type Fetcher = Workers.Fetcher;
  type Queue<Body = unknown> = Workers.Queue<Body>;
  type RateLimit = Workers.RateLimit;
  interface SubtleCrypto {
    timingSafeEqual(a: ArrayBuffer | ArrayBufferView, b: ArrayBuffer | ArrayBufferView): boolean;
  }
  interface Scheduler {
    /** Resolves after some milliseconds. */
    wait(milliseconds: number): Promise<void>;
  }
}
