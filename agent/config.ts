import { hostname } from 'node:os';
import { dirname, resolve } from 'node:path';
import { z } from 'zod';
import { kindOfConfig, misplaced } from '../lib/config-kind.js';
import { expandText, type Variables, variablesIn } from '../lib/expansion.js';
import { nearest } from '../lib/nearest.js';
import { readDatabases, readServer, readTelemetry } from './config-addresses.js';
import { expandValues, type Reading, readToml } from './config-files.js';
import { type AgentToml, agentToml, defaultProbesDir, LOG_FORMATS, LOG_LEVELS } from './config-schema.js';
import type { AgentConfig } from './config-values.js';
import { wordsOf } from './config-words.js';

/** An unusable configuration; the message names the file and every wrong key. */
export class AgentConfigError extends Error {}

/** What is wrong with one key; '' is the file as a whole. */
export interface AgentConfigProblem {
  key: string;
  text: string;
}

/** Reads, expands and checks agent.toml (AP-01); throws an AgentConfigError. */
export function loadAgentConfig(file: string, variables: Variables): AgentConfig {
  const { config, problems } = readAgentConfig(file, variables);
  if (config === null || problems.length > 0) throw new AgentConfigError(problems.map(({ text }) => text).join('\n'));
  return config;
}

/** The same with all that is wrong; the configuration is null where keys are unknown or of a wrong kind. */
export function readAgentConfig(
  file: string,
  variables: Variables,
): { config: AgentConfig | null; problems: readonly AgentConfigProblem[] } {
  const problems: AgentConfigProblem[] = [];
  const add = (key: string, what: string) => problems.push({ key, text: `${file}: ${what}` });
  const report = (key: string, why: string) => add(key, `${key}: ${why}`);
  const source = readSource(file);
  if ('problem' in source) return { config: null, problems: [{ key: '', text: source.problem }] };
  const expanded = expandValues(source.toml, variables, report);
  const parsed = agentToml.safeParse(expanded, { error: wordsOf });
  if (parsed.success && problems.length === 0)
    return { config: build(parsed.data, { directory: dirname(resolve(file)), variables, report }), problems };
  const unexpanded = problems.map(({ key }) => key);
  const found = parsed.success ? [] : parsed.error.issues.flatMap(describe);
  for (const { key, what } of found) if (!unexpanded.includes(key)) add(key, what);
  return { config: null, problems };
}

/** `probes.dir` of a file whose other keys may be wrong, or may need variables that only the agent has, and whether it names any. */
export function readProbesDir(
  file: string,
  variables: Variables,
): { directory: string; hasVariables: boolean } | { problem: string } {
  const source = readSource(file);
  if ('problem' in source) return source;
  const { probes } = source.toml as { probes?: { dir?: unknown } };
  const dir = probes?.dir ?? defaultProbesDir;
  const expanded = typeof dir === 'string' ? expandText(dir, variables) : { problem: 'must be a string' };
  if ('problem' in expanded) return { problem: `${file}: probes.dir: ${expanded.problem}` };
  return { directory: resolve(dirname(resolve(file)), expanded.text), hasVariables: variablesIn(source.text).length > 0 };
}

/** The parsed file, or why it is no agent.toml. */
function readSource(file: string): { toml: unknown; text: string } | { problem: string } {
  const source = readToml(file);
  const kind = 'problem' in source ? null : kindOfConfig(source.toml);
  return kind === null || kind === 'agent.toml' ? source : { problem: `${file}: ${misplaced[kind]}` };
}

function build(toml: AgentToml, reading: Reading): AgentConfig {
  const databases = readDatabases(toml, reading);
  if (databases.length === 0) reading.report('databases', 'at least one [databases.<name>.<environment>] is needed');
  return {
    agentId: toml.agent_id ?? hostname(),
    operations: toml.operations,
    ...workOf(toml),
    startup: {
      retryInitialMs: toml.startup_retry_initial_ms,
      retryMaxMs: toml.startup_retry_max_ms,
      maxWaitMs: toml.startup_max_wait_secs === 0 ? Number.POSITIVE_INFINITY : toml.startup_max_wait_secs * 1000,
    },
    server: readServer(toml, reading),
    limits: {
      maxRows: toml.limits.max_rows,
      maxResultBytes: toml.limits.max_result_bytes,
      maxRowBytes: toml.limits.max_row_bytes,
    },
    marker: {
      mode: toml.marker.mode,
      schema: toml.marker.schema ?? null,
      table: toml.marker.table,
      retentionDays: toml.marker.retention_days,
    },
    snapshotSync: {
      enabled: toml.schema_sync.enabled,
      onStartup: toml.schema_sync.sync_on_startup,
      intervalMs: toml.schema_sync.interval_secs * 1000,
    },
    probes: { dir: resolve(reading.directory, toml.probes.dir), listen: toml.probes.listen ?? null },
    telemetry: readTelemetry(toml, reading),
    log: {
      level: fromVariable('SVC_LOG_LEVEL', LOG_LEVELS, reading) ?? toml.log.level,
      format: fromVariable('SVC_LOG_FORMAT', LOG_FORMATS, reading) ?? toml.log.format,
    },
    databases,
  };
}

/** How much work at once, and how long the parts of it may take. */
function workOf(toml: AgentToml) {
  return {
    maxConcurrentTasks: toml.max_concurrent_tasks,
    maxConcurrentExplains: toml.max_concurrent_explains,
    pollWaitMs: toml.poll_wait_ms,
    pollIntervalMs: toml.poll_interval_ms,
    drainTimeoutMs: toml.drain_timeout_secs * 1000,
    statementTimeoutSecs: toml.statement_timeout_secs,
    maxStatementTimeoutSecs: toml.max_statement_timeout_secs,
    resultRetryMs: toml.result_retry_secs * 1000,
    fenceWaitMs: toml.fence_wait_secs * 1000,
    migrationLockWaitMs: toml.migration_lock_wait_secs * 1000,
  };
}

function describe(issue: z.core.$ZodIssue): { key: string; what: string }[] {
  const path = issue.path.map(String).join('.');
  if (issue.code === 'unrecognized_keys') {
    return issue.keys.map((one) => {
      const key = path === '' ? one : `${path}.${one}`;
      const near = nearest(one, keysAt(issue.path));
      return { key, what: `unknown key ${key}${near === null ? '' : ` (did you mean ${near}?)`}` };
    });
  }
  return [{ key: path, what: `${path}: ${issue.message}` }];
}

interface Table {
  properties?: Record<string, Table>;
  additionalProperties?: Table | boolean;
}

/** The keys that a table of the file may have. */
function keysAt(path: readonly PropertyKey[]): string[] {
  const whole = z.toJSONSchema(agentToml, { io: 'input' }) as Table;
  return Object.keys(path.map(String).reduce(tableIn, whole).properties ?? {});
}

const tableIn = ({ properties, additionalProperties: others }: Table, step: string): Table =>
  properties?.[step] ?? (typeof others === 'object' ? others : {});

/** The variable's value when it is set and allowed. */
function fromVariable<T extends string>(name: string, allowed: readonly T[], { variables, report }: Reading): T | undefined {
  const value = variables[name];
  if (value === undefined || value === '') return undefined;
  const found = allowed.find((one) => one === value);
  if (found === undefined) report(name, `must be one of ${allowed.join(', ')}`);
  return found;
}
