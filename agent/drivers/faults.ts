import { ConnectFailure } from './driver.js';

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

/** Text of section 11 for an error of a run; `serverText` words one that the server reported, or gives null. */
export function faultText(error: unknown, serverText: (error: unknown) => string | null): string {
  if (error instanceof ConnectFailure) return `driver error: ${error.kind} failed: ${error.message}`;
  if (error instanceof ConnectionLost) return `driver error: connection failed: ${error.why}`;
  if (error instanceof RowTooLarge) return 'driver error: query failed: row too large';
  return `driver error: query failed: ${serverText(error) ?? 'internal error of the agent'}`;
}
