import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Child } from '../../dev/child.js';
import { runSession } from '../../dev/run-session.js';
import { createSession, type Part } from '../../dev/session.js';
import { temporaryFolder } from '../support/processes.js';

describe('a development session', () => {
  it('stops its parts in reverse order, agent first and data last, then releases its folder (DV-6)', async () => {
    const order: string[] = [];
    const session = createSession();
    session.atEnd(() => order.push('lock'));
    for (const name of ['PostgreSQL', 'the server', 'the agent']) session.add(fakePart(name, order).part);
    await session.stop();
    expect(order).toEqual(['the agent', 'the server', 'PostgreSQL', 'lock']);
    expect(session.failure()).toBeNull();
  });

  it('kills all its parts when told to while it stops, also the one that is being stopped (DV-6)', async () => {
    const killed: string[] = [];
    const session = createSession();
    for (const name of ['PostgreSQL', 'the agent']) {
      const { part, die } = fakePart(name, []);
      const kill = async (signal: NodeJS.Signals) => {
        killed.push(`${name} by ${signal}`);
        die(`signal ${signal}`);
      };
      session.add({ child: { ...part.child, stop: kill }, stop: async () => void (await part.child.exited) });
    }
    const stopping = session.stop();
    session.kill();
    await stopping;
    expect(killed.sort()).toEqual(['PostgreSQL by SIGKILL', 'the agent by SIGKILL']);
  });

  it('lets only those parts give way that are not on the path of a request, and only when told', () => {
    const order: string[] = [];
    const session = createSession();
    session.add(fakePart('the server', order).part);
    session.add({ ...fakePart('the worker', order).part, yields: true });
    expect(order).toEqual([]);
    session.giveWay();
    expect(order).toEqual(['the worker gives way']);
  });

  it('ends when a part dies, naming it with the last lines of its log (DV-6)', async () => {
    const logFile = join(await temporaryFolder(), 'server.log');
    writeFileSync(logFile, 'first\nout of memory\n');
    const order: string[] = [];
    const session = createSession();
    session.add(fakePart('PostgreSQL', order).part);
    const server = fakePart('the server', order, logFile);
    session.add(server.part);
    server.die('exit code 1');
    await new Promise((resolve) => session.signal.addEventListener('abort', resolve));
    await session.stop();
    expect(session.failure()).toBe(
      `the server ended by itself (exit code 1); the end of its log ${logFile}:\n  first\n  out of memory`,
    );
    expect(order).toEqual(['the server', 'PostgreSQL']);
  });

  it('waits for steps that begin together, so that nothing starts behind its back', async () => {
    const session = createSession();
    let lateIsOver = false;
    const late = new Promise<void>((resolve) => session.signal.addEventListener('abort', () => setTimeout(resolve, 20))).then(
      () => {
        lateIsOver = true;
      },
    );
    await expect(session.together([Promise.reject(new Error('no room')), late])).rejects.toThrow('no room');
    expect(lateIsOver).toBe(true);
    expect(session.failure()).toBe('no room');
  });

  it('answers exit code 1 after a failed start and 0 after a stop signal (OP-51)', async () => {
    expect(await runSession(() => Promise.reject(new Error('port 3000 is in use')))).toBe(1);
    const running = runSession(async () => {});
    process.emit('SIGTERM');
    expect(await running).toBe(0);
    expect(process.listenerCount('SIGTERM')).toBe(0);
  });
});

function fakePart(name: string, order: string[], logFile = '/none'): { part: Part; die: (how: string) => void } {
  let die: (how: string) => void = () => {};
  const exited = new Promise<string>((resolve) => {
    die = resolve;
  });
  const child: Child = {
    name,
    pid: 1,
    logFile,
    hasExited: () => false,
    hasSucceeded: () => false,
    exited,
    stop: async () => {},
    giveWay: () => void order.push(`${name} gives way`),
  };
  return { part: { child, stop: async () => void order.push(name) }, die };
}
