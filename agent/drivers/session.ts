/** One connection, held by one job. */
export interface Session {
  readonly lost: boolean;
  /** The schemas searched when the session last took a request lock, as JSON text; null where there is no search path. */
  readonly searchPath: string | null;
  /** Runs one text and returns its rows as text; throws the server's error, RowTooLarge or ConnectionLost. */
  query(text: string, values?: readonly string[]): Promise<(string | null)[][]>;
  /** Makes `release` close the connection, whatever its state: a cancel may still be on its way to it. */
  distrust(): void;
  /** Ends the connection during a statement. */
  destroy(): void;
  /** Resets the connection and returns it to the pool, or closes it when that fails or its state is in doubt (AP-84). */
  release(): Promise<void>;
}

export interface PoolOptions {
  url: string;
  /** Transactions are read-only from the start (AP-25, AP-30). */
  readOnly: boolean;
  max: number;
  maxRowBytes: number;
  connectTimeoutMs: number;
}

export interface SessionPool<S extends Session> {
  /**
   * A session without transaction, changed setting or lock. Returns null when the signal aborts while all are taken; throws a
   * ConnectFailure.
   */
  acquire(signal?: AbortSignal): Promise<S | null>;
  /** A session outside the pool, for cancels and doubtful commits. */
  open(): Promise<S>;
  close(): Promise<void>;
}
