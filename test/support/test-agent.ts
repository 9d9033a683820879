import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runAgent } from '../../agent/agent.js';
import { loadAgentConfig } from '../../agent/config.js';
import type { AgentConfig } from '../../agent/config-values.js';
import { type ReloadRecord, readReloadRecord } from '../../agent/reload-record.js';
import { defaultTimings, type Timings } from '../../agent/timings.js';
import { createBell } from '../../lib/bell.js';
import type { FakeGateway } from './fake-gateway.js';
import { eventually } from './processes.js';

export interface TestAgent {
  config: AgentConfig;
  lines: string[];
  /** First stop signal. */
  stop(): void;
  /** Second stop signal. */
  stopNow(): void;
  exit: Promise<number>;
  directory: string;
  /** The text of agent.toml, and what `reload` puts in its place. */
  text: string;
  /** Replaces agent.toml, asks for a reload and waits for its outcome. */
  reload(text: string): Promise<ReloadRecord>;
}

export interface TestAgentOptions {
  gateway: Pick<FakeGateway, 'url'>;
  /** Of a real gateway; `svc_test` if absent. */
  token?: string;
  /** Address of `shop/staging`. */
  url: string;
  /** Further lines of agent.toml, before and after its tables. */
  head?: string;
  tables?: string;
  /** Further keys of `[server]`. */
  server?: string;
  timings?: Partial<Timings>;
  pollWaitMs?: number;
}

const quick: Partial<Timings> = {
  heartbeatMs: 40,
  pollClaimsMs: 50,
  claimBackoffMs: [10],
  resultBackoffMs: [20],
  keyRefreshAtMostEveryMs: 10,
  reconnectMs: 50,
  cancelRepeatMs: 100,
  commitProbeEveryMs: 50,
  fenceRetryMs: 20,
  reloadEveryMs: 10,
  deadlineGraceMs: 500,
};

/** For a job whose heartbeats answer 410: the run asks for itself, before a regular heartbeat cancels it. */
export const withoutBeats: Partial<Timings> = { heartbeatMs: 600_000 };

/** Runs an agent in this process with short durations. Call `stop()` and await `exit` before its gateway closes. */
export function startTestAgent(options: TestAgentOptions): TestAgent {
  const directory = mkdtempSync(join(tmpdir(), 'svc-agent-'));
  const file = join(directory, 'agent.toml');
  const text = `poll_wait_ms = ${options.pollWaitMs ?? 5000}
poll_interval_ms = 20
startup_retry_initial_ms = 20
${options.head ?? ''}
[server]
url = "${options.gateway.url}"
agent_token = "${options.token ?? 'svc_test'}"
${options.server ?? ''}
[probes]
dir = "."
[databases.shop.staging]
url = "${options.url}"
${options.tables ?? ''}
`;
  writeFileSync(file, text);
  const asked = createBell();
  const read = () => loadAgentConfig(file, {});
  const config = read();
  const stop = new AbortController();
  const stopNow = new AbortController();
  const lines: string[] = [];
  const write =
    (level: string) =>
    (message: string, fields: object = {}) => {
      lines.push(`${level} ${message} ${JSON.stringify(fields)}`);
    };
  const exit = runAgent({
    config,
    version: '0.1.0',
    timings: { ...defaultTimings, ...quick, ...options.timings },
    log: { error: write('error'), warn: write('warn'), info: write('info'), debug: write('debug') },
    stop: stop.signal,
    stopNow: stopNow.signal,
    reloads: { file: 'agent.toml', asked, read },
  }).finally(() => rmSync(directory, { recursive: true, force: true }));
  return {
    config,
    lines,
    stop: () => stop.abort(new Error('stopped')),
    stopNow: () => stopNow.abort(new Error('stopped')),
    exit,
    directory,
    text,
    async reload(next) {
      writeFileSync(file, next);
      const since = Date.now();
      asked.ring();
      return await eventually(() => {
        const record = readReloadRecord(directory);
        return record !== null && record.startedAt >= since && record;
      });
    },
  };
}
