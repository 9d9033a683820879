import { parseArgs } from 'node:util';
import { createBell } from '../lib/bell.js';
import { nearest } from '../lib/nearest.js';
import { outliveLog } from '../lib/standard-error.js';
import { MARKER_SCHEMA, MARKER_TABLE } from '../sql/reserved-table.js';
import { runAgent } from './agent.js';
import { checkAgent } from './check.js';
import { AgentConfigError, loadAgentConfig } from './config.js';
import type { AgentConfig } from './config-values.js';
import { createLog } from './log.js';
import { mysqlMarkerDdl, postgresMarkerDdl } from './marker.js';
import type { ReloadSource } from './reload.js';
import { runReload } from './reload-command.js';
import { defaultTimings } from './timings.js';

export const VERSION = '0.1.0';

const USAGE = `Usage: svc-agent [--config PATH]
       svc-agent --check [--config PATH]
       svc-agent --reload [--config PATH]
       svc-agent --print-marker-ddl postgresql|mysql

Runs approved requests on the databases that agent.toml names.

  --config PATH         configuration (default: $SVC_AGENT_CONFIG,
                        else agent.toml)
  --check               check configuration, server, databases and markers;
                        change nothing
  --reload              make the running agent read the databases of agent.toml
                        again (like SIGHUP), and print the result
  --print-marker-ddl D  print the SQL that creates the marker table
  -v, --version         print the version
  -h, --help            print this help
`;

interface Arguments {
  config?: string | undefined;
  check: boolean;
  reload: boolean;
  'print-marker-ddl'?: string | undefined;
  version: boolean;
  help: boolean;
}

/** Runs `svc-agent` with the arguments after the program's name; resolves with its exit code (agent-process.md section 1). */
export async function main(argv: string[]): Promise<number> {
  const values = readArguments(argv);
  if (typeof values === 'string') {
    process.stderr.write(`svc-agent: ${values}\nhint: svc-agent --help\n`);
    return 2;
  }
  if (values.help) return printed(USAGE);
  if (values.version) return printed(`svc-agent ${VERSION}\n`);
  if (values['print-marker-ddl'] !== undefined) return printMarkerDdl(values['print-marker-ddl']);
  const file = values.config ?? process.env.SVC_AGENT_CONFIG ?? 'agent.toml';
  if (values.reload) return await runReload(file, process.env, standardStreams);
  const read = () => loadAgentConfig(file, process.env);
  let config: AgentConfig;
  try {
    config = read();
  } catch (error) {
    if (!(error instanceof AgentConfigError)) throw error;
    process.stderr.write(`svc-agent: ${error.message}\n`);
    return 1;
  }
  if (values.check) return await checkAgent(config, VERSION, defaultTimings, standardStreams.out);
  return await runUntilSignal(config, { file, read });
}

const flag = { type: 'boolean', default: false } as const;
const known = {
  config: { type: 'string' },
  check: flag,
  reload: flag,
  'print-marker-ddl': { type: 'string' },
  version: { ...flag, short: 'v' },
  help: { ...flag, short: 'h' },
} as const;

function readArguments(args: string[]): Arguments | string {
  try {
    const { values } = parseArgs({ args, options: known });
    if (values.check && values.reload) return '--check and --reload cannot be used together';
    return values;
  } catch (error) {
    return inPlainWords((error as Error).message);
  }
}

function inPlainWords(message: string): string {
  const [, unknown] = /^Unknown option '(-.*?)'/s.exec(message) ?? [];
  if (unknown === undefined)
    return message
      .replace(/^Option '(?:-\w, )?(--[\w-]+).*?' argument (?:missing|is ambiguous).*/s, '$1 needs a value')
      .replace(/^Option '(.*?)' does not/, '$1 does not')
      .replace(/^Unexpected argument ('.*')\. .*/s, 'unexpected argument $1');
  const near = nearest(unknown.slice(2), Object.keys(known));
  return `unknown option ${unknown}${near === null ? '' : ` (did you mean --${near}?)`}`;
}

function printed(text: string): number {
  process.stdout.write(text);
  return 0;
}

function printMarkerDdl(dialect: string): number {
  const table = `${MARKER_SCHEMA}.${MARKER_TABLE}`;
  if (dialect === 'postgresql') return printed(`CREATE SCHEMA IF NOT EXISTS ${MARKER_SCHEMA};\n${postgresMarkerDdl(table)};\n`);
  if (dialect === 'mysql') return printed(`CREATE DATABASE IF NOT EXISTS ${MARKER_SCHEMA};\n${mysqlMarkerDdl(table)};\n`);
  process.stderr.write(`svc-agent: --print-marker-ddl takes postgresql or mysql\n`);
  return 2;
}

const standardStreams = {
  out: (line: string) => void process.stdout.write(`${line}\n`),
  err: (line: string) => void process.stderr.write(`${line}\n`),
};

/** Runs the agent; SIGHUP reloads it (AP-19), the first SIGTERM or SIGINT drains it, the second ends it (AP-17, AP-18). */
async function runUntilSignal(config: AgentConfig, source: Omit<ReloadSource, 'asked'>): Promise<number> {
  outliveLog();
  const log = createLog(config.log, standardStreams.err);
  const stop = new AbortController();
  const stopNow = new AbortController();
  const asked = createBell();
  const onSignal = () => (stop.signal.aborted ? stopNow : stop).abort(new Error('stopped'));
  const handlers = { SIGTERM: onSignal, SIGINT: onSignal, SIGHUP: () => asked.ring() };
  for (const [name, handler] of Object.entries(handlers)) process.on(name, handler);
  const signals = { stop: stop.signal, stopNow: stopNow.signal };
  try {
    return await runAgent({ config, version: VERSION, timings: defaultTimings, log, ...signals, reloads: { ...source, asked } });
  } finally {
    for (const [name, handler] of Object.entries(handlers)) process.off(name, handler);
  }
}
