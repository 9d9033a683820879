/** The attempts that this process has started; only verified ones count, or a forged claim could shut out the real one (ET-39). */
export interface StartedAttempts {
  /** Remembers an attempt; false when it was started before. */
  add(attempt: { request_id: string; fence: number }): boolean;
}

/** A token is good for six minutes at most, in which no agent starts that many jobs. */
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
