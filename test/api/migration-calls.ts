import { bundleOf } from '../domain/migration/bundles.js';
import { type AgentCalls, pollBody, scope } from './agent-calls.js';

/** A pair for each case, so that no case waits for another one's migration. */
export const linePairs = Array.from({ length: 60 }, (_, at) => `line-${at}`);

export const lineToml = `
[[databases]]
name = "line"
environments = [${linePairs.map((name) => `"${name}"`).join(', ')}]
dialect = "postgresql"

[[execution_policies]]
database = "line"
environment = "line-0"
migration_lease_duration_secs = 5

[[execution_policies]]
database = "line"
environment = "line-1"
migration_statement_timeout_secs = 100

[[execution_policies]]
database = "line"
environment = "line-2"
migration_statement_timeout_secs = 100
migration_lease_duration_secs = 700

[[execution_policies]]
database = "line"
environment = "line-3"
migration_statement_timeout_secs = 0
statement_timeout_secs = 200

[[execution_policies]]
database = "line"
environment = "line-59"
migration_lease_duration_secs = 2147483647
`;

let made = 0;

/** Calls about migrations, over those of agents. */
export function migrationCalls(calls: AgentCalls) {
  return {
    /** A dispatched `migrate_up` of a pair of database `line`, no two alike. */
    migration: (environment: string, over: object = {}): Promise<string> => {
      made += 1;
      const detail = JSON.stringify(bundleOf([made]));
      return calls.created(calls.requester, { database: 'line', environment, operation: 'migrate_up', detail, ...over });
    },
    /** An agent of these pairs that has polled. */
    agentOf: (environments: string[], capabilities: object = {}) =>
      calls.known(lineBody(environments, { limit: 0 }, capabilities)),
    hint: async (id: string): Promise<string | null> => (await calls.show(calls.requester, id)).body.queue_hint,
    /** What is stored about a pair: which request runs there, and for how long it was busy. */
    pairOf: async (environment: string) =>
      (
        await calls.sql<{ running: string | null; busy_ms: number }>(
          `select running, busy_ms from migration_pairs where database = 'line' and environment = $1`,
          [environment],
        )
      )[0],
  };
}

export const lineBody = (environments: string[], over: object = {}, capabilities: object = {}) =>
  pollBody({ ...over }, { scopes: environments.map((name) => scope('line', name)), ...capabilities });

export const done = { success: true, result_data: '{"applied":["1"]}' };
