import { errorText, rpcCodes } from '../../domain/json-rpc.js';
import type { Context } from '../context.js';
import { CommandFailure } from '../failure.js';
import type { Flight } from './flight.js';
import type { Session } from './session.js';
import type { Writer } from './writer.js';

/** What the parts of `svc mcp` share. */
export interface Bridge {
  context: Context;
  session: Session;
  /** To the client; the only writer of standard output. */
  writer: Writer;
  /** By the id of the request, as JSON text. */
  flights: Map<string, Flight>;
  /** The questions that the client has not answered, by their id. */
  questions: Map<string, Flight>;
  /** Aborts when the bridge ends. */
  signal: AbortSignal;
  /** A line on standard error. It must not hold what messages say. */
  note(text: string): void;
}

/** Answers a request with -32603 (CL-49), unless it was cancelled: then no answer follows. */
export async function answerFailure(bridge: Bridge, flight: Flight, error: unknown): Promise<void> {
  const problem = problemOf(error);
  if (flight.isCancelled || bridge.signal.aborted) return;
  bridge.note(`a call was not forwarded: ${problem.code}`);
  await bridge.writer.send(errorText(flight.id, { rpcCode: rpcCodes.internal, ...problem }));
}

/** The server's words, or ours; of a fault of this program only that there was one. */
export function problemOf(error: unknown): { message: string; code: string; hint: string | null } {
  if (!(error instanceof CommandFailure)) return { message: 'internal error', code: 'internal_error', hint: null };
  const { message, code, hint } = error;
  return { message: message.replace(/^(?:mcp|svc_\w+): /, ''), code, hint };
}

/** Takes back the questions that a call leaves open: nobody waits for their answers. */
export async function withdrawQuestions({ questions, writer }: Bridge, flight: Flight): Promise<void> {
  for (const id of flight.asked) {
    questions.delete(id);
    const params = `{"requestId":${id},"reason":"the call that asked has ended"}`;
    await writer.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":${params}}`);
  }
  flight.asked.clear();
}
