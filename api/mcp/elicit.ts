import {
  answerElicitation,
  askElicitation,
  closeElicitation,
  type ElicitationAnswer,
  findAnswer,
} from '../../db/mcp-elicitations.js';
import type { McpSession } from '../../db/mcp-sessions.js';
import { topic } from '../../db/notifications.js';
import { GatewayError, invalid } from '../../domain/errors.js';
import { maxReasonBytes, reasonQuestion } from '../../domain/mcp-texts.js';
import { isBadText } from '../../lib/bad-text.js';
import { isRecord } from '../../lib/record.js';
import { isBlank } from '../../lib/visible.js';
import type { Services } from '../context.js';
import { longPoll } from '../http/long-poll.js';
import type { HttpCall } from './context.js';
import { type Flight, send } from './flight.js';

/** An answer whose news was lost is found so soon (HT-102). */
const lookEveryMs = 5000;

/** Asks the user of the client for a reason, through the call's stream (MC-30). False if there is none in time, or at a drain. */
export async function elicitReason(services: Services, call: HttpCall, flight: Flight): Promise<string | false> {
  const { database, lifecycle, metrics } = services;
  const { elicitationTimeoutSecs } = services.config().mcp;
  const { sessionId } = flight.key;
  const number = await askElicitation(database, flight.key);
  if (number === null) return false;
  const id = `elicit-${number}`;
  const message = JSON.stringify({ jsonrpc: '2.0', id, method: 'elicitation/create', params: reasonQuestion });
  await send(services, flight, message);
  const waiting = { ...call, signal: flight.signal };
  const until = performance.now() + elicitationTimeoutSecs * 1000;
  let answer: ElicitationAnswer | null = null;
  while (answer === null && performance.now() < until && !flight.signal.aborted && !lifecycle.draining) {
    const wait = { topics: [topic.mcp(sessionId)], ms: Math.min(lookEveryMs, until - performance.now()) };
    answer = await longPoll(waiting, services, wait, () => findAnswer(database, sessionId, number));
  }
  answer ??= await closeElicitation(database, sessionId, number);
  metrics.mcpElicitations.inc({ outcome: answer?.action ?? 'cancel' });
  return answer?.reason ?? false;
}

/**
 * A response that the client posts (MC-31). Only the first answer to a question that is open counts; one that cannot be read is 400 and ends the question
 * as declined, for clients do not answer twice, and the tool would wait for its time limit.
 */
export async function takeAnswer(services: Services, session: McpSession, { id, result, failed }: Answered): Promise<void> {
  const number = /^"elicit-(0|[1-9]\d{0,8})"$/.exec(id)?.[1];
  const answer = failed ? declined : readAnswer(result);
  const taken = answer instanceof GatewayError ? declined : answer;
  const isTaken = number !== undefined && (await answerElicitation(services.database, session.id, Number(number), taken));
  if (!isTaken) throw invalid('no question with this id is open', 'body.id');
  if (answer instanceof GatewayError) throw answer;
}

interface Answered {
  /** JSON text. */
  id: string;
  result: unknown;
  failed: boolean;
}

const declined: ElicitationAnswer = { action: 'decline', reason: null };

function readAnswer(result: unknown): ElicitationAnswer | GatewayError {
  const { action, content } = isRecord(result) ? result : {};
  if (action === 'decline' || action === 'cancel') return { action, reason: null };
  if (action !== 'accept') return invalid('action must be accept, decline or cancel', 'body.result.action');
  const reason = isRecord(content) ? content.reason : undefined;
  if (typeof reason !== 'string' || isBlank(reason) || Buffer.byteLength(reason) > maxReasonBytes || isBadText(reason))
    return invalid(`reason must be a text of 1 to ${maxReasonBytes} bytes`, 'body.result.content.reason');
  return { action, reason };
}
