import { reasonQuestion } from '../../domain/mcp-texts.js';
import { tryJson } from '../../lib/json/read.js';
import { sleep } from '../../lib/sleep.js';
import type { Bridge } from './bridge.js';
import type { Flight } from './flight.js';

/** As long as the server waits (MC-31). */
const waitMs = 300_000;

let asked = 0;

/** Asks the client's user for the reason that a policy demands (MC-30); null if there is none. The server's own ids begin otherwise. */
export async function askReason(bridge: Bridge, flight: Flight): Promise<string | null> {
  if (!bridge.session.hasElicitation) return null;
  const id = JSON.stringify(`svc-elicit-${asked}`);
  asked += 1;
  const answered = new AbortController();
  const end = () => answered.abort();
  let answer: string | null = null;
  flight.onAnswer = (text) => {
    answer = text;
    end();
  };
  flight.asked.add(id);
  bridge.questions.set(id, flight);
  flight.stop.signal.addEventListener('abort', end, { once: true });
  const params = JSON.stringify(reasonQuestion);
  await bridge.writer.send(`{"jsonrpc":"2.0","id":${id},"method":"elicitation/create","params":${params}}`);
  await sleep(flight.stop.signal.aborted ? 0 : waitMs, answered.signal);
  flight.stop.signal.removeEventListener('abort', end);
  flight.onAnswer = null;
  return answer === null ? null : reasonOf(answer);
}

function reasonOf(answer: string): string | null {
  const result = tryJson(answer)?.get('result');
  if (result?.get('action')?.string() !== 'accept') return null;
  const reason = result.get('content')?.get('reason')?.string() ?? '';
  return reason.trim() === '' ? null : reason;
}
