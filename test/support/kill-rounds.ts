import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'vitest';
import { startFakeGateway } from './fake-gateway.js';

const launcher = new URL('../../bin/svc-agent', import.meta.url).pathname;

export interface KillTarget {
  url: string;
  /** Adds one to a counter that begins at 0, then waits for a moment. */
  detail: string;
  counter(): Promise<number>;
  /** Fences of the marker rows of the request that are done. */
  doneFences(requestId: string): Promise<number[]>;
}

/**
 * Kills real agents at five points of a run and lets the next agent take the request over, which is then the one to be killed. Each time the change must be there
 * exactly once, and the single marker row that is done must be that of the attempt that made it (AP-I3, AP-I4).
 */
export async function expectNeverTwice(target: KillTarget): Promise<void> {
  const directory = mkdtempSync(join(tmpdir(), 'svc-agent-kill-'));
  const file = join(directory, 'agent.toml');
  const gateway = await startFakeGateway();
  writeFileSync(
    file,
    `poll_interval_ms = 20\n[server]\nurl = "${gateway.url}"\nagent_token = "svc_test"\n[probes]\ndir = "."\n[databases.shop.staging]\nurl = "${target.url}"\n`,
  );
  const start = () => spawn(process.execPath, [launcher, '--config', file], { stdio: 'ignore' });
  const { detail } = target;
  try {
    let agent = start();
    for (const [round, delayMs] of [0, 10, 35, 45, 60].entries()) {
      const lost = gateway.offer({ operation: 'execute_dml', detail });
      await lost.claimed;
      await new Promise((resolve) => setTimeout(resolve, delayMs));
      await end(agent, 'SIGKILL');
      agent = start();
      const input = { operation: 'execute_dml', detail, requestId: lost.requestId, fence: 2, unresolvedFences: [1] };
      const result = await gateway.offer(input).result;
      expect(result.success).toBe(true);
      expect(await target.counter()).toBe(round + 1);
      expect(await target.doneFences(lost.requestId)).toEqual([result.outcome === 'already_applied' ? 1 : 2]);
    }
    expect(await end(agent, 'SIGTERM')).toBe(0);
  } finally {
    await gateway.close();
    rmSync(directory, { recursive: true, force: true });
  }
}

async function end(child: ChildProcess, signal: NodeJS.Signals): Promise<number | null> {
  const exited = once(child, 'exit');
  child.kill(signal);
  return (await exited)[0];
}
