import { ConnectFailure } from './driver.js';
import { TooManyRows, Uncounted } from './row-bound.js';

/** The connection ended during a run. */
export class ConnectionLost extends Error {
  readonly why: string;
  constructor(why: string) {
    super(why);
    this.why = why;
  }
}

/** The agent ended the connection because of AP-72. */
export class RowTooLarge extends Error {
  constructor() {
    super('row too large');
  }
}

/**
 * A server sent what its protocol does not allow. Thrown by a listener of the stream, the error of reading it would end the agent with the jobs of
 * all databases; given to the stream, it ends the connection.
 */
export const unreadableAnswer = (): Error => Object.assign(new Error('unreadable answer'), { code: 'unreadable answer' });

/** The cancel flag was set between two statements. */
export class Interrupted extends Error {}

/** The database silently did something other than asked; the message is shown to people. */
export class Unexpected extends Error {}

/** The text of agent-process.md section 11 for a run's error. `serverText` words an error that the server reported, and returns null for others. */
export function faultText(error: unknown, serverText: (error: unknown) => string | null): string {
  if (error instanceof TooManyRows || error instanceof Uncounted) return error.message;
  const ofConnection = error instanceof ConnectFailure || error instanceof ConnectionLost;
  return `driver error: ${ofConnection ? '' : 'query failed: '}${faultReason(error, serverText)}`;
}

/** The same without the error class, to embed in other texts. */
export function faultReason(error: unknown, serverText: (error: unknown) => string | null): string {
  if (error instanceof ConnectFailure) return `${error.kind} failed: ${error.message}`;
  if (error instanceof ConnectionLost) return `connection failed: ${error.why}`;
  if (error instanceof RowTooLarge || error instanceof Unexpected) return error.message;
  return serverText(error) ?? 'internal error of the agent';
}
