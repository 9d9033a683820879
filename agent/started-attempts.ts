/**
 * The attempts that this process has started; counts only verified ones, or a forged claim could shut out the real one (ET-39).
 */
export interface StartedAttempts {
  /** Remembers an attempt; false when it was already started. */
  add(attempt: { request_id: string; fence: number }): boolean;
}

/** A token is valid for six minutes at most; no agent starts that many jobs in that time. */
const REMEMBERED = 10_000;

export function createStartedAttempts(): StartedAttempts {
  const started = new Set<string>();
  return {
    add({ request_id: requestId, fence }) {
      const key = `${requestId}:${fence}`;
      if (started.has(key)) return false;
      started.add(key);
      const [oldest] = started;
      if (started.size > REMEMBERED && oldest !== undefined) started.delete(oldest);
      return true;
    },
  };
}
