import { anySignal } from '../../lib/signals.js';
import { visible } from '../../lib/visible.js';
import type { Context } from '../context.js';
import { type CommandFailure, failure } from '../failure.js';
import type { Bridge } from '../mcp/bridge.js';
import { serve } from '../mcp/serve.js';
import { Session } from '../mcp/session.js';
import { createWriter } from '../mcp/writer.js';
import type { Answer } from '../output/output.js';

/** Clients wait about two seconds for the end before they kill. */
const closeMs = 1_500;

/** `svc mcp`: MCP on standard input and output, until the input ends (CL-47 to CL-49). */
export async function runMcp(context: Context): Promise<Answer> {
  const { terminal, output, what } = context;
  if (output.mode !== 'human')
    throw failure('usage', `${what}: standard output belongs to MCP, so there is no --json or --format`);
  await greet(context);
  const stuck = new AbortController();
  const { signal, release } = anySignal([context.signal, stuck.signal]);
  const onStuck = () => stuck.abort(failure('timeout', `${what}: the client has stopped reading`));
  const note = (text: string) => output.note(`svc mcp: ${visible(text)}`);
  const session = new Session(context.client(), note);
  const writer = createWriter(terminal.stdout, terminal.limits.streamMs, signal, onStuck);
  const bridge: Bridge = { context, session, writer, flights: new Map(), questions: new Map(), signal, note };
  try {
    await serve(bridge);
  } finally {
    release();
    await session.close(closeMs).catch(() => note('the session could not be ended; it will expire'));
  }
  if (signal.aborted) throw ended(context, signal.reason, writer.isBehind());
  return { data: 'null', human: () => '' };
}

/** Throws unless the server answers, has MCP and takes the credential: without it, `svc mcp` must not look like a server (CL-49). */
async function greet(context: Context): Promise<void> {
  const body = '{"jsonrpc":"2.0","id":0,"method":"ping"}';
  await context.client().call({ method: 'POST', path: ['mcp'], body, repeatable: true });
}

/** A process that ends waits until its output is read. With a client that reads nothing, that is for ever. */
function ended({ terminal, output }: Context, reason: CommandFailure, isBehind: boolean): CommandFailure {
  if (!isBehind) return reason;
  output.fail(reason);
  terminal.exitNow(reason.exit);
  return reason;
}
