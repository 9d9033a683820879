import { visible } from '../../lib/visible.js';
import type { Client } from '../client.js';
import type { Context } from '../context.js';

/** The same command, whose reads survive a server that is away for a while (CL-22a). `onAway` is told why, and null once it answers. */
export function patiently(context: Context, onAway: (reason: string | null) => void): Context {
  const patient = (client: Client): Client => ({ ...client, call: (call) => client.call({ ...call, onAway }) });
  return { ...context, client: () => patient(context.client()) };
}

/** What a line that is redrawn says of it; cut from its end where it is too long. */
export const awayDetail = (reason: string): string => `trying again: the server cannot be reached (${visible(reason)})`;

/** Elsewhere one line when the server is away, and one when it answers again. */
export function awayNotes({ output }: Context, id: string): (reason: string | null) => void {
  let isAway = false;
  return (reason) => {
    if ((reason !== null) === isAway) return;
    isAway = reason !== null;
    const told = reason === null ? 'the server answers again' : awayDetail(reason);
    output.note(`request ${id}: ${told}`);
  };
}
