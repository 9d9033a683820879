import type { Opened } from './session.js';

/** A request of the client that is not answered yet. */
export interface Flight {
  /** JSON text. */
  id: string;
  /** Where it was sent; null for a tool of this machine, or without a session. */
  session: Opened | null;
  /** Nobody wants an answer any more. */
  isCancelled: boolean;
  /** Ends the work on it. */
  stop: AbortController;
  /** Resolves when the server has taken it, or it has ended: only then can it be cancelled there. */
  begun: Promise<void>;
  begin(): void;
  /** Ids, as JSON text, of the questions that the client was asked for it. */
  asked: Set<string>;
  /** Takes the answer to a question of this machine's own; null if the server asked. */
  onAnswer: ((text: string) => void) | null;
}

export function createFlight(id: string): Flight {
  let begin = () => {};
  const begun = new Promise<void>((resolve) => {
    begin = resolve;
  });
  return { id, session: null, isCancelled: false, stop: new AbortController(), begun, begin, asked: new Set(), onAnswer: null };
}
