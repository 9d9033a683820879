import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { clone } from '../../dev/layout.js';

/** The values of each key of a unit. */
function unit(name: string): Record<string, string[]> {
  const text = readFileSync(join(clone, `deploy/systemd/${name}.service`), 'utf8');
  const values: Record<string, string[]> = {};
  for (const [, key, value] of text.matchAll(/^(\w+)=(.*)$/gm)) values[key!] = [...(values[key!] ?? []), value!];
  return values;
}

const names = ['svc-server', 'svc-worker', 'svc-agent'];

describe.each(names)('%s.service', (name) => {
  const values = unit(name);

  it('refuses a system call with an error instead of killing: Node makes some at its start that it can do without', () => {
    expect(values.SystemCallFilter).toEqual(['@system-service @pkey', '~@privileged']);
    expect(values.SystemCallErrorNumber).toEqual(['EPERM']);
  });

  it('runs a program of the release as a user without rights, who writes to one folder', () => {
    const [program] = values.ExecStart![0]!.split(' ');
    expect(existsSync(join(clone, program!.replace('/opt/svc/', '')))).toBe(true);
    expect(values.User).toEqual([name === 'svc-agent' ? 'svc-agent' : 'svc']);
    expect(values).toMatchObject({ StateDirectory: values.User, ProtectSystem: ['strict'], CapabilityBoundingSet: [''] });
    expect(values.ReadWritePaths).toBeUndefined();
  });
});

it('a unit is killed only after its drain (OP-61, AP-17)', () => {
  const graceOf = (name: string) => Number(unit(name).TimeoutStopSec![0]);
  // drain_secs is 20 by default, drain_timeout_secs 60.
  expect(graceOf('svc-server')).toBeGreaterThanOrEqual(20 + 5 + 10);
  expect(graceOf('svc-worker')).toBeGreaterThanOrEqual(25 + 10);
  expect(graceOf('svc-agent')).toBeGreaterThanOrEqual(60 + 15);
});

it('a reload of the server or the agent fails if the file is refused (OP-52, AP-19)', () => {
  expect(unit('svc-server').ExecReload).toEqual([unit('svc-server').ExecStart![0]!.replace('svc server', 'svc server reload')]);
  expect(unit('svc-agent').ExecReload).toEqual([unit('svc-agent').ExecStart![0]!.replace('svc-agent', 'svc-agent --reload')]);
});
