/** One connection while one job has it. */
export interface Session {
  /** Whether the connection has ended. */
  readonly lost: boolean;
  /** JSON text of the schemas that it searched for names when it last took a request lock; null where there is no such path. */
  readonly searchPath: string | null;
  /** Runs one text and gives its rows as text; throws the server's error, RowTooLarge or ConnectionLost. */
  query(text: string, values?: readonly string[]): Promise<(string | null)[][]>;
  /** The connection is closed when it is given back, whatever its state: a cancel may still be on its way to it. */
  distrust(): void;
  /** Ends the connection under a statement that may still run. */
  destroy(): void;
  /** Resets the connection and gives it back, or closes it when that fails or its state is in doubt (AP-84). */
  release(): Promise<void>;
}

export interface PoolOptions {
  url: string;
  /** Sessions whose transactions are read-only from the start (AP-25, AP-30). */
  readOnly: boolean;
  max: number;
  maxRowBytes: number;
  connectTimeoutMs: number;
}

export interface SessionPool<S extends Session> {
  /** A session with no transaction, setting or lock in it; null when the signal aborted while all were taken; throws a ConnectFailure. */
  acquire(signal?: AbortSignal): Promise<S | null>;
  /** A session outside the pool, for cancelling and for looking up a doubtful commit. */
  open(): Promise<S>;
  close(): Promise<void>;
}
