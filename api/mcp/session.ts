import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { insertSession, type McpSession, useSession } from '../../db/mcp-sessions.js';
import type { Caller } from '../../domain/caller.js';
import { clientName } from '../../domain/client-name.js';
import { forbidden, notFound, refusal } from '../../domain/errors.js';
import { shareOf } from '../../domain/fair-share.js';
import { isRecord } from '../../lib/record.js';
import { isUuid } from '../../lib/uuid.js';
import type { Services } from '../context.js';
import { isVersion, newestVersion, single } from './headers.js';
import { badParams } from './rpc.js';

/** The session that the call names; null without the header (MC-12, MC-21). */
export async function sessionOf(services: Services, caller: Caller, headers: IncomingMessage['headers']) {
  const id = single(headers, 'mcp-session-id');
  if (id === undefined) return null;
  const { sessionTtlSecs: ttlSecs } = services.config().mcp;
  const session = isUuid(id) ? await useSession(services.database, id, { subjectId: caller.id, ttlSecs }) : undefined;
  if (session === undefined) throw notFound('mcp_session');
  if (session.subjectId !== caller.id) throw forbidden('this session belongs to another user');
  return session;
}

/** MC-11: throws -32602 for bad params; then there is no session. */
export async function openSession(
  services: Services,
  caller: Caller,
  params: Record<string, unknown>,
): Promise<Omit<McpSession, 'active'>> {
  const { protocolVersion: wanted, capabilities, clientInfo } = params;
  if (typeof wanted !== 'string') throw badParams('protocolVersion must be a string', 'params.protocolVersion');
  if (!isRecord(capabilities)) throw badParams('capabilities must be an object', 'params.capabilities');
  const session = {
    id: randomUUID(),
    subjectId: caller.id,
    protocolVersion: isVersion(wanted) ? wanted : newestVersion,
    client: clientOf(clientInfo),
    elicits: isRecord(capabilities.elicitation),
  };
  const { sessionTtlSecs: ttlSecs, maxSessions: max } = services.config().mcp;
  const made = await insertSession(services.database, session, { ttlSecs, max, maxOfSubject: shareOf(max) });
  if (made === 'full')
    throw refusal('service.unavailable', `${max} MCP sessions are open, the most there may be`, 'end sessions with DELETE /mcp');
  if (made === 'subject_full')
    throw refusal(
      'service.unavailable',
      `you have ${shareOf(max)} MCP sessions, the most one user may have`,
      'end some of yours with DELETE /mcp',
    );
  return session;
}

function clientOf(info: unknown): string {
  if (!isRecord(info)) throw badParams('clientInfo must be an object', 'params.clientInfo');
  const { name, version } = info;
  if (typeof name !== 'string') throw badParams('clientInfo.name must be a string', 'params.clientInfo.name');
  if (typeof version !== 'string') throw badParams('clientInfo.version must be a string', 'params.clientInfo.version');
  return clientName(name, version);
}
