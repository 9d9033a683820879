import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Services } from '../../../api/context.js';
import { auditError, auditTexts } from '../../../api/requests/redaction.js';
import { migrationSummary } from '../../../domain/migration/summary.js';
import { isNotificationEvent } from '../../../domain/notifications/events.js';
import { type Notice, requestNotices } from '../../../domain/notifications/notice.js';
import { genericBody } from '../../../domain/notifications/payload.js';
import { slackBody } from '../../../domain/notifications/slack-message.js';
import type { Operation } from '../../../domain/policies.js';
import { createdRequest } from '../../../domain/request/creation.js';
import type { Move } from '../../../domain/request/moves.js';
import { createSqlClassifier, type SqlClassifier } from '../../../sql/classify.js';
import { emergency, newRequest, passedByPolicy } from '../../support/new-request.js';
import { now } from '../../support/stored-request.js';
import { attempts, instantOf, madeOn, moveOf, requests } from '../request/generated.js';
import { make, type World } from '../request/world.js';

let sql: SqlClassifier;
beforeAll(async () => {
  sql = await createSqlClassifier();
});
afterAll(() => sql.close());

const marker = 'geheim7f3a';
const bodiesOf = (notices: readonly Notice[]) => notices.flatMap((notice) => [genericBody(notice), slackBody(notice, null)]);
const withRedaction = (redaction: string) => ({ config: () => ({ audit: { redaction } }) }) as unknown as Services;
const modes = ['literals', 'full', 'none'];

/** The bodies of a creation with this detail, as the gateway makes its texts. */
async function created(mode: string, operation: Operation, dialect: 'postgresql' | 'mysql', detail: string) {
  const isSql = operation.startsWith('execute_');
  const redactedDetail = isSql ? await sql.redact(detail, dialect) : migrationSummary(operation, detail);
  const { detailRaw } = auditTexts(withRedaction(mode), { operation, detail, redactedDetail });
  return [{}, passedByPolicy, emergency].flatMap((over) => {
    const input = { ...newRequest(over).input, detail };
    const { events, request } = createdRequest(newRequest({ ...over, input, operation, detailRaw }), now);
    return bodiesOf(requestNotices(events, request, detailRaw));
  });
}

describe.each(modes)('with redaction %s a notification of a creation', (mode) => {
  const texts = [
    ['postgresql', `update t set a = '${marker}', b = $$${marker}$$ where c = 4711471147 /* ${marker} */`],
    ['mysql', `update t set a = "${marker}", b = '${marker}' where c = 4711471147 # ${marker}`],
  ] as const;

  it.each(texts)('has no constant and no comment of the SQL but with none: %s (AU-50, AU-I7)', async (dialect, detail) => {
    const bodies = await created(mode, 'execute_dml', dialect, detail);
    expect(bodies).toHaveLength(10);
    const leaking = bodies.filter((body) => body.includes(marker) || body.includes('4711471147'));
    expect(leaking).toHaveLength(mode === 'none' ? 6 : 0);
    expect(bodies.filter((body) => body.includes('update t set a = ?'))).toHaveLength(mode === 'literals' ? 6 : 0);
  });

  it('has the versions of a migration and none of its SQL (AU-52)', async () => {
    const migrations = [{ version: '20260101', sql: `insert into t values ('${marker}')`, transactional: true }];
    const bundle = { format: 'v2', direction: 'up', dir_sha256: 'a'.repeat(64), versions: ['20260101'], migrations };
    const bodies = await created(mode, 'migrate_up', 'postgresql', JSON.stringify(bundle));
    expect(bodies.filter((body) => body.includes(marker))).toEqual([]);
    expect(bodies.filter((body) => body.includes('migrate_up: versions=[20260101]'))).toHaveLength(mode === 'full' ? 0 : 6);
  });
});

describe('whatever happens to a request', () => {
  const ofOurAgent = `driver error: query failed: duplicate key (${marker})\nDETAIL: second line ${marker}`;
  const ofAnotherAgent = `Duplicate entry '${marker}' for key 'a'\nDETAIL: second line ${marker}`;
  const planted = (move: Move, mode: string, errorMessage: string): Move => {
    if (move.kind !== 'result') return move;
    const auditErrorOf = auditError(withRedaction(mode), errorMessage);
    return { ...move, submission: { ...move.submission, errorMessage, auditError: auditErrorOf } };
  };

  it.each(modes.flatMap((mode) => [ofOurAgent, ofAnotherAgent].map((error) => [mode, error] as const)))(
    'no notification has its text or that of an error, but for one line with none: %s, %s (C7, AU-53, AU-I7)',
    (mode, error) => {
      let lines = 0;
      fc.assert(
        fc.property(requests, attempts, (request, list) => {
          let world: World = { request: { ...request, detail: `select '${marker}'` }, executions: [], events: [] };
          let at = now;
          for (const tried of list) {
            const attempt = madeOn(world, tried);
            at = instantOf(world, attempt, at);
            const { world: after, verdict } = make(world, planted(moveOf(world, attempt), mode, error), at);
            const notices = requestNotices(verdict.change?.events ?? [], after.request);
            for (const notice of notices) {
              expect(genericBody(notice)).not.toContain(marker);
              const slack = slackBody(notice, null);
              expect(slack).not.toContain('DETAIL');
              const told = slack.includes(marker);
              if (told) expect([mode, notice.event]).toEqual(['none', 'execution.failed']);
              lines += told ? 1 : 0;
            }
            world = after;
          }
        }),
        { numRuns: 60 },
      );
      expect(lines > 0).toBe(mode === 'none');
    },
  );

  it('each of its events of the catalogue is told once, in order (NT-3)', () => {
    fc.assert(
      fc.property(requests, attempts, (request, list) => {
        let world: World = { request, executions: [], events: [] };
        const told: string[] = [];
        let at = now;
        for (const tried of list) {
          const attempt = madeOn(world, tried);
          at = instantOf(world, attempt, at);
          const { world: after, verdict } = make(world, moveOf(world, attempt), at);
          told.push(...requestNotices(verdict.change?.events ?? [], after.request).map(({ event }) => event));
          world = after;
        }
        expect(told).toEqual(world.events.map(({ type }) => type).filter(isNotificationEvent));
      }),
      { numRuns: 60 },
    );
  });
});
