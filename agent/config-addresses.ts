import { X509Certificate } from 'node:crypto';
import { isPublicKeyHex } from '../crypto/ed25519.js';
import { collectorProblem } from '../domain/collector-address.js';
import { isLoopbackHost } from '../domain/loopback.js';
import { isListedCall } from '../sql/listed-calls.js';
import { type Reading, readText, valueOrFile } from './config-files.js';
import { type AgentToml, maxTrustedKeys } from './config-schema.js';
import type { AgentConfig, DatabaseConfig } from './config-values.js';
import { dialectOfUrl, urlProblem } from './drivers/url.js';
import { protectionProblem } from './transport-rule.js';

/** `[server]`: where the gateway is, and the token for it (AP-02). */
export function readServer({ server }: AgentToml, reading: Reading): AgentConfig['server'] {
  const { report } = reading;
  const token = valueOrFile('server.agent_token', server.agent_token, server.agent_token_file, reading);
  if (server.agent_token === undefined && server.agent_token_file === undefined)
    report('server.agent_token', 'a token or agent_token_file is needed');
  // A header allows no other characters, and the HTTP client's error would repeat on every call.
  if (token && /[^\x21-\x7e]/.test(token)) report('server.agent_token', 'holds a character that no token has');
  const problem = serverUrlProblem(server, reading);
  if (problem !== null) report('server.url', problem);
  return {
    url: server.url.replace(/\/+$/, ''),
    agentToken: token ?? '',
    ca: readCertificates(server.ca_file, reading),
    trustedKeys: readTrustedKeys(server, reading),
  };
}

function serverUrlProblem(server: AgentToml['server'], { variables }: Reading): string | null {
  const url = URL.canParse(server.url) ? new URL(server.url) : null;
  if (!url || !['http:', 'https:'].includes(url.protocol)) return 'must be an http:// or https:// address';
  if (url.username + url.password + url.search + url.hash !== '') return 'must hold no user, password, query or fragment';
  if (url.protocol === 'https:' || allowsPlain(server.allow_insecure, variables) || isLoopbackHost(url.hostname)) return null;
  return `plain http to ${url.hostname} is not allowed; use https or set server.allow_insecure`;
}

const allowsPlain = (key: boolean, { SVC_ALLOW_INSECURE: variable = '' }: Reading['variables']) =>
  key || ['true', '1'].includes(variable);

/** `[telemetry]` (OP-94). */
export function readTelemetry({ telemetry }: AgentToml, { report, variables }: Reading): AgentConfig['telemetry'] {
  const { otlp_endpoint: endpoint = null, sample_ratio: sampleRatio, allow_insecure: key } = telemetry;
  const problem = endpoint === null ? null : collectorProblem(endpoint, allowsPlain(key, variables));
  if (problem !== null) report('telemetry.otlp_endpoint', problem);
  return { endpoint, sampleRatio };
}

/** HD-80: the keys pinned in the file or in agent.toml; null when none are pinned. */
function readTrustedKeys(
  { trusted_keys: keys, trusted_keys_file: file }: AgentToml['server'],
  reading: Reading,
): string[] | null {
  const key = 'server.trusted_keys';
  if (keys !== undefined && file !== undefined) reading.report(key, `${key} and ${key}_file exclude each other`);
  if (file === undefined) return keys ?? null;
  const lines = readText(`${key}_file`, file, reading)
    ?.split('\n')
    .flatMap((line) => line.trim() || []);
  if (lines?.length === 0) reading.report(`${key}_file`, 'is empty');
  const wrong = lines?.findIndex((line) => !isPublicKeyHex(line)) ?? -1;
  if (wrong >= 0) reading.report(`${key}_file`, `key ${wrong + 1} is no public key: 64 lowercase hex characters`);
  if ((lines?.length ?? 0) > maxTrustedKeys) reading.report(`${key}_file`, `holds more than ${maxTrustedKeys} keys`);
  return lines ?? [];
}

function readCertificates(file: string | undefined, reading: Reading): string | null {
  const ca = file === undefined ? undefined : readText('server.ca_file', file, reading);
  if (ca === undefined) return null;
  try {
    new X509Certificate(ca);
  } catch {
    reading.report('server.ca_file', 'holds no certificate in PEM form');
  }
  return ca;
}

/** `[databases.<name>.<environment>]`, in file order. */
export function readDatabases(toml: AgentToml, reading: Reading): DatabaseConfig[] {
  return Object.entries(toml.databases).flatMap(([database, environments]) =>
    Object.entries(environments).map(([environment, one]) => ({
      database,
      environment,
      ...readDatabase(`databases.${database}.${environment}`, one, reading),
    })),
  );
}

type DatabaseToml = AgentToml['databases'][string][string];

function readDatabase(key: string, one: DatabaseToml, reading: Reading): Omit<DatabaseConfig, 'database' | 'environment'> {
  const url = readAddress(`${key}.url`, one.url, one.url_file, reading);
  const readUrl = readAddress(`${key}.read_url`, one.read_url, one.read_url_file, reading) ?? url;
  if (one.url === undefined && one.url_file === undefined) reading.report(`${key}.url`, 'a url or url_file is needed');
  if (url && readUrl && dialectOfUrl(url) !== dialectOfUrl(readUrl))
    reading.report(`${key}.read_url`, 'is of another kind of database than url');
  if (one.search_path !== undefined && url && dialectOfUrl(url) === 'mysql')
    reading.report(`${key}.search_path`, 'is of PostgreSQL; an address of MySQL names its database');
  for (const [at, name] of one.explain_functions.entries())
    if (isListedCall(name.split('.').at(-1) ?? ''))
      reading.report(`${key}.explain_functions.${at}`, 'is never planned before approval');
  return {
    url: url ?? '',
    readUrl: readUrl ?? '',
    searchPath: one.search_path ?? null,
    poolMax: one.pool_max ?? null,
    explainFunctions: one.explain_functions,
  };
}

function readAddress(key: string, value: string | undefined, file: string | undefined, reading: Reading): string | undefined {
  const url = valueOrFile(key, value, file, reading);
  const problem = url ? (urlProblem(url) ?? protectionProblem(url, reading.variables)) : null;
  if (problem !== null) reading.report(key, problem);
  return url;
}
