import type { z } from 'zod';
import { outsideCall } from '../../db/call-limit.js';
import { listRequests } from '../../db/request-list.js';
import { type ListedRequest, readDetail } from '../../db/request-page.js';
import { iso, isoOrNull } from '../../db/row-types.js';
import type { Caller } from '../../domain/caller.js';
import { relatedBy } from '../../domain/request/relation.js';
import type { Status } from '../../domain/request/types.js';
import { closeObject, openObject } from '../../lib/json/write.js';
import type { Services } from '../context.js';
import { type JsonChunk, type Reply, rawJson, type StreamedChunk } from '../http/reply.js';
import type { Call } from '../http/route.js';
import { listed } from './schemas.js';

interface ListQuery {
  limit: number;
  offset: number;
  status?: Status | undefined;
  user?: string | undefined;
  database?: string | undefined;
  environment?: string | undefined;
  operation?: string | undefined;
  pending_for_me: boolean;
  decided_by_me: boolean;
}

type Page = z.input<typeof listed>;

/** `GET /api/requests` (RQ-2, RQ-3). */
export async function showRequests(call: Call<undefined, ListQuery, undefined>, services: Services): Promise<Page | Reply> {
  const { limit, offset, pending_for_me: pendingForMe, decided_by_me: decidedByMe, ...filters } = call.query;
  const { rows, total, isEstimate } = await listRequests(services.database, call.caller, filters, {
    limit,
    offset,
    pendingForMe,
    decidedByMe,
  });
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
