import { ConnectFailure } from './driver.js';
import { TooManyRows, Uncounted } from './row-bound.js';

/** The connection ended under a run. */
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

/** The cancel flag was found set between two statements. */
export class Interrupted extends Error {}

/** The database did not do what it was told, without an error; the message is for people. */
export class Unexpected extends Error {}

/** Text of section 11 for an error of a run; `serverText` words one that the server reported, or gives null. */
export function faultText(error: unknown, serverText: (error: unknown) => string | null): string {
  if (error instanceof TooManyRows || error instanceof Uncounted) return error.message;
  const ofConnection = error instanceof ConnectFailure || error instanceof ConnectionLost;
  return `driver error: ${ofConnection ? '' : 'query failed: '}${faultReason(error, serverText)}`;
}

/** The same without its class, for texts of another one. */
export function faultReason(error: unknown, serverText: (error: unknown) => string | null): string {
  if (error instanceof ConnectFailure) return `${error.kind} failed: ${error.message}`;
  if (error instanceof ConnectionLost) return `connection failed: ${error.why}`;
  if (error instanceof RowTooLarge || error instanceof Unexpected) return error.message;
  return serverText(error) ?? 'internal error of the agent';
}
