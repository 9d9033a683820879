import { deleteSession } from '../../db/mcp-sessions.js';
import { readStream } from '../../db/mcp-streams.js';
import type { Caller } from '../../domain/caller.js';
import { forbidden, invalid, notFound, refusal } from '../../domain/errors.js';
import { isUuid } from '../../lib/uuid.js';
import type { Services } from '../context.js';
import { eventStream } from '../http/event-stream.js';
import { empty, type Reply } from '../http/reply.js';
import type { HttpCall } from './context.js';
import { checkAcceptOfGet, namesStream, single, versionOf } from './headers.js';
import { rightsOf } from './rights.js';
import { sessionOf } from './session.js';
import { streamOf } from './stream.js';

/** `GET /mcp`: continues a stream after the event that the client has (MC-I2), for callers with the rights of the call (MC-21). */
export async function resumeStream(call: HttpCall, services: Services, commentMs: number): Promise<Reply> {
  const { headers } = call.sender.request;
  checkAcceptOfGet(headers);
  const last = single(headers, 'last-event-id');
  if (last === undefined || !namesStream({ headers }))
    throw refusal('route.method_not_allowed', 'GET only resumes a stream', 'send mcp-session-id and last-event-id');
  const from = eventId(last);
  const session = await sessionOf(services, call.caller, headers);
  if (session === null) throw notFound('mcp_session');
  versionOf(headers, session.protocolVersion);
  const key = { id: from.stream, sessionId: session.id };
  const news = await readStream(services.database, key, from.seq);
  if (news === undefined || from.seq > news.lastSeq) throw notFound('mcp_stream');
  const checkRights = (caller: Caller) => {
    if (rightsOf(caller) !== news.rights)
      throw forbidden('this stream is of a call with other rights: resume it with the token that made the call');
  };
  checkRights(call.caller);
  const next = news.events[0]?.seq;
  const hasGap = next === undefined ? from.seq < news.lastSeq : next !== from.seq + 1;
  if (hasGap) throw notFound('mcp_stream');
  const recheck = async () => checkRights(await call.recheck());
  const events = streamOf(services, key, { after: from.seq, recheck, commentMs });
  return eventStream(events);
}

function eventId(text: string): { stream: string; seq: number } {
  const colon = text.lastIndexOf(':');
  const [id, number] = [text.slice(0, Math.max(colon, 0)), text.slice(colon + 1)];
  if (!isUuid(id) || !/^\d{1,9}$/.test(number)) throw invalid('last-event-id must be <uuid>:<integer>', 'header.last-event-id');
  return { stream: id, seq: Number(number) };
}

/** `DELETE /mcp`: waits end, streams close. */
export async function endSession(call: HttpCall, services: Services): Promise<Reply> {
  const session = await sessionOf(services, call.caller, call.sender.request.headers);
  if (session === null) throw notFound('mcp_session');
  await deleteSession(services.database, session.id);
  return empty(200);
}
