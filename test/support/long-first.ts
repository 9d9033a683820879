import { BaseSequencer, type TestSpecification } from 'vitest/node';

/**
 * Files that take long and look short: they wait for programs, clocks and engines, or judge much. The usual order, by size where nothing
 * is known of earlier runs, would leave them to the end, where they run alone.
 */
const long = [
  'sql/postgres-suite',
  'api/mcp-many',
  'faults/outages',
  'faults/slack-outage',
  'dev/killed-starts',
  'api/fuzz',
  'faults/faults',
  'faults/restore',
  'faults/lost-answers',
  'api/waiters',
  'browser/refusals',
  'dev/demo',
  'docs/commands',
  'sql/mysql/suite',
  'agent/mysql/migration-kill',
  'agent/migrations/kill',
  'agent/ten-million-rows',
  'db/request-list',
  'worker/main',
  'runtime/check-agrees',
  'api/preflight-agreement',
  'model/requests',
  'agent/marker-made',
  'agent/key-rotation',
  'api/main',
  'cli/trust-killed',
  'domain/request/exhaustive-walk',
  'domain/request/invariants',
  'faults/kill-points',
  'agent/mysql/kill',
  'agent/kill',
];

/** Starts the long files first. */
export class LongFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files);
    const first = long.flatMap((name) => sorted.filter(({ moduleId }) => moduleId.endsWith(`/test/${name}.test.ts`)));
    return [...first, ...sorted.filter((file) => !first.includes(file))];
  }
}
