import { z } from 'zod';
import { outsideCall } from '../../db/call-limit.js';
import { listRequests } from '../../db/request-list.js';
import { type ListedRequest, readDetail } from '../../db/request-page.js';
import { iso, isoOrNull } from '../../db/row-types.js';
import type { Caller } from '../../domain/caller.js';
import { OPERATIONS } from '../../domain/policies.js';
import { relatedBy } from '../../domain/request/relation.js';
import { STATUSES } from '../../domain/request/types.js';
import { userIdPattern } from '../../domain/selectors.js';
import { closeObject, openObject } from '../../lib/json/write.js';
import type { Services } from '../context.js';
import { booleanParam, choiceParam, limitParam, offsetParam, textParam } from '../http/query.js';
import { type JsonChunk, type Reply, rawJson, type StreamedChunk } from '../http/reply.js';
import type { Call } from '../http/route.js';
import { listed } from './schemas.js';

export const listQuery = z.object({
  limit: limitParam(50, 100),
  offset: offsetParam,
  status: choiceParam(STATUSES, 'Only requests of this status.'),
  user: textParam('Only those of this user.', { pattern: userIdPattern.source }),
  database: textParam('Only those on this database.', { maxLength: 63 }),
  environment: textParam('Only those in this environment.', { maxLength: 63 }),
  operation: choiceParam(OPERATIONS, 'Only those of this operation.'),
  pending_for_me: booleanParam(false, 'Only those that you can approve now.'),
  decided_by_me: booleanParam(false, 'Only those that you approved or rejected.'),
});

/** Who may ask for it. */
export const listAccess = { anyOf: ['request.view'], unless: 'pending_for_me' } as const;

type Page = z.input<typeof listed>;

type ListCall = Pick<Call<undefined, z.output<typeof listQuery>, undefined>, 'caller' | 'query'>;

/** The page that a call asks for. */
export function readPage({ caller, query }: ListCall, { database }: Pick<Services, 'database'>) {
  const { limit, offset, pending_for_me: pendingForMe, decided_by_me: decidedByMe, ...filters } = query;
  return listRequests(database, caller, filters, { limit, offset, pendingForMe, decidedByMe });
}

/** `GET /api/requests` (RQ-2, RQ-3). */
export async function showRequests(call: ListCall, services: Services): Promise<Page | Reply> {
  const { rows, total, isEstimate } = await readPage(call, services);
  const { limit, offset } = call.query;
  const page = {
    requests: rows.map((row) => shownItem(call.caller, row)),
    total,
    total_is_estimate: isEstimate,
    limit,
    offset,
  };
  return rows.some(({ detail }) => detail === null) ? inPieces(services, page, rows) : page;
}

const shownItem = (caller: Caller, row: ListedRequest): Page['requests'][number] => ({
  id: row.id,
  requester: row.requester,
  database: row.database,
  environment: row.environment,
  operation: row.operation,
  detail: row.detail ?? '',
  risk_level: row.risk_level,
  status: row.status,
  reason: row.reason,
  emergency: row.emergency,
  created_at: iso(row.created_at),
  updated_at: iso(row.updated_at),
  expires_at: isoOrNull(row.expires_at),
  related: relatedBy({ requested: row.requester === caller.id, decided: row.decided, can_decide: row.can_decide }),
  ...(row.status === 'pending'
    ? { total_steps: row.total_steps, current_step: row.current_step, next_approvers: row.step_selectors }
    : {}),
});

/** Reads one long text after the other while they are sent: a hundred of them, for a few slow readers, would take the memory of the process. */
function inPieces({ database }: Services, page: Page, rows: readonly ListedRequest[]): Reply {
  const { requests, ...rest } = listed.parse(page);
  const items = requests.flatMap(({ detail, ...item }, index): JsonChunk[] => [
    `${index === 0 ? '' : ','}${openObject(JSON.stringify(item), 'detail')}`,
    longText(database, rows[index]) ?? JSON.stringify(detail),
    closeObject(),
  ]);
  return rawJson([`${openObject('{}', 'requests')}[`, ...items, `]${closeObject(rest)}`]);
}

function longText(database: Services['database'], row: ListedRequest | undefined): StreamedChunk | null {
  if (row === undefined || row.detail_bytes === null) return null;
  const { id, detail_bytes: bytes } = row;
  async function* read() {
    yield Buffer.from(await outsideCall(() => readDetail(database, id)));
  }
  return { bytes, read };
}
