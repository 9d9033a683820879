import { readFileSync } from 'node:fs';
import { hostname } from 'node:os';
import { dirname, resolve } from 'node:path';
import { parse, TomlError } from 'smol-toml';
import type { z } from 'zod';
import { type AgentToml, agentToml, type Operation } from './config-schema.js';
import { dialectOfUrl, urlProblem } from './drivers/url.js';
import { expandValues } from './expansion.js';
import { isPrivateHost } from './transport-rule.js';

export interface DatabaseConfig {
  database: string;
  environment: string;
  url: string;
  readUrl: string;
  poolMax: number;
}

export interface AgentConfig {
  agentId: string;
  maxConcurrentTasks: number;
  maxConcurrentExplains: number;
  pollWaitMs: number;
  pollIntervalMs: number;
  drainTimeoutMs: number;
  statementTimeoutSecs: number;
  maxStatementTimeoutSecs: number;
  operations: readonly Operation[];
  resultRetryMs: number;
  fenceWaitMs: number;
  startup: { retryInitialMs: number; retryMaxMs: number; maxWaitMs: number };
  server: { url: string; agentToken: string; ca: string | null };
  limits: { maxRows: number; maxResultBytes: number; maxRowBytes: number };
  marker: { mode: 'auto' | 'required' | 'off'; schema: string | null; table: string; retentionDays: number };
  schemaSync: { enabled: boolean; onStartup: boolean; intervalMs: number };
  probes: { dir: string; listen: string | null };
  log: { level: 'error' | 'warn' | 'info' | 'debug'; format: 'text' | 'json' };
  databases: DatabaseConfig[];
}

/** A configuration that cannot be used; the message names the file and every wrong key. */
export class AgentConfigError extends Error {}

type Variables = Readonly<Record<string, string | undefined>>;

/** Reads, expands and checks agent.toml (section 2); throws an AgentConfigError. */
export function loadAgentConfig(file: string, variables: Variables): AgentConfig {
  const problems: string[] = [];
  const report = (key: string, why: string) => problems.push(`${key}: ${why}`);
  const expanded = expandValues(parseToml(file), variables, report);
  const parsed = agentToml.safeParse(expanded);
  if (!parsed.success) for (const issue of parsed.error.issues) problems.push(...describe(issue));
  if (!parsed.success || problems.length > 0) throw new AgentConfigError(problems.map((one) => `${file}: ${one}`).join('\n'));
  const config = build(parsed.data, { directory: dirname(resolve(file)), variables, report });
  if (problems.length > 0) throw new AgentConfigError(problems.map((one) => `${file}: ${one}`).join('\n'));
  return config;
}

interface Reading {
  directory: string;
  variables: Variables;
  report: (key: string, why: string) => void;
}

function build(toml: AgentToml, reading: Reading): AgentConfig {
  const { variables, report } = reading;
  const databases = readDatabases(toml, reading);
  if (databases.length === 0) report('databases', 'at least one [databases.<name>.<environment>] is needed');
  return {
    agentId: toml.agent_id ?? hostname(),
    maxConcurrentTasks: toml.max_concurrent_tasks,
    maxConcurrentExplains: toml.max_concurrent_explains,
    pollWaitMs: toml.poll_wait_ms,
    pollIntervalMs: toml.poll_interval_ms,
    drainTimeoutMs: toml.drain_timeout_secs * 1000,
    statementTimeoutSecs: toml.statement_timeout_secs,
    maxStatementTimeoutSecs: toml.max_statement_timeout_secs,
    operations: toml.operations,
    resultRetryMs: toml.result_retry_secs * 1000,
    fenceWaitMs: toml.fence_wait_secs * 1000,
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
    schemaSync: {
      enabled: toml.schema_sync.enabled,
      onStartup: toml.schema_sync.sync_on_startup,
      intervalMs: toml.schema_sync.interval_secs * 1000,
    },
    probes: { dir: resolve(reading.directory, toml.probes.dir), listen: toml.probes.listen ?? null },
    log: {
      level: oneOf(variables.SVC_LOG_LEVEL, ['error', 'warn', 'info', 'debug']) ?? toml.log.level,
      format: oneOf(variables.SVC_LOG_FORMAT, ['text', 'json']) ?? toml.log.format,
    },
    databases,
  };
}

function readServer(toml: AgentToml, reading: Reading): AgentConfig['server'] {
  const { report, variables } = reading;
  const { server } = toml;
  const token = valueOrFile('server.agent_token', server.agent_token, server.agent_token_file, reading)?.trim() ?? '';
  if (token === '') report('server.agent_token', 'a token or agent_token_file is needed');
  const url = URL.canParse(server.url) ? new URL(server.url) : null;
  const insecure = server.allow_insecure || ['true', '1'].includes(variables.SVC_ALLOW_INSECURE ?? '');
  if (!url || !['http:', 'https:'].includes(url.protocol)) {
    report('server.url', 'must be an http:// or https:// address');
  } else if (url.protocol === 'http:' && !insecure && !isPrivateHost(url.hostname)) {
    report('server.url', `plain http to ${url.hostname} is not allowed; use https or set server.allow_insecure`);
  }
  const ca = server.ca_file === undefined ? null : readText('server.ca_file', server.ca_file, reading);
  return { url: server.url.replace(/\/+$/, ''), agentToken: token, ca: ca ?? null };
}

function readDatabases(toml: AgentToml, reading: Reading): DatabaseConfig[] {
  const poolDefault = toml.max_concurrent_tasks + toml.max_concurrent_explains + 1;
  return Object.entries(toml.databases).flatMap(([database, environments]) =>
    Object.entries(environments).map(([environment, one]) => {
      const key = `databases.${database}.${environment}`;
      const url = valueOrFile(`${key}.url`, one.url, one.url_file, reading)?.trim();
      const readUrl = valueOrFile(`${key}.read_url`, one.read_url, one.read_url_file, reading)?.trim() ?? url;
      if (!url) reading.report(`${key}.url`, 'a url or url_file is needed');
      for (const [name, value] of [
        ['url', url],
        ['read_url', readUrl],
      ]) {
        const problem = value ? urlProblem(value) : null;
        if (problem !== null) reading.report(`${key}.${name}`, problem);
      }
      if (url && readUrl && dialectOfUrl(url) !== dialectOfUrl(readUrl)) {
        reading.report(`${key}.read_url`, 'is of another kind of database than url');
      }
      return { database, environment, url: url ?? '', readUrl: readUrl ?? '', poolMax: one.pool_max ?? poolDefault };
    }),
  );
}

function valueOrFile(key: string, value: string | undefined, file: string | undefined, reading: Reading): string | undefined {
  if (value !== undefined && file !== undefined) reading.report(key, `${key} and ${key}_file exclude each other`);
  return file === undefined ? value : readText(`${key}_file`, file, reading);
}

function readText(key: string, file: string, reading: Reading): string | undefined {
  try {
    return readFileSync(resolve(reading.directory, file), 'utf8');
  } catch (error) {
    reading.report(key, `cannot be read (${(error as NodeJS.ErrnoException).code ?? 'error'})`);
    return undefined;
  }
}

function parseToml(file: string): unknown {
  try {
    return parse(readFileSync(file, 'utf8'));
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    const why = error instanceof TomlError ? error.message : code === 'ENOENT' ? 'no such file' : `cannot be read (${code})`;
    throw new AgentConfigError(`${file}: ${why}`);
  }
}

function describe(issue: z.core.$ZodIssue): string[] {
  const path = issue.path.map(String).join('.');
  if (issue.code === 'unrecognized_keys') {
    return issue.keys.map((key) => `unknown key ${path === '' ? key : `${path}.${key}`}`);
  }
  if (issue.code === 'invalid_key') return [`${path}: is no database or environment name`];
  return [`${path}: ${issue.message}`];
}

function oneOf<T extends string>(value: string | undefined, allowed: readonly T[]): T | undefined {
  return allowed.find((one) => one === value);
}
