import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Readable } from 'node:stream';
import type { Anchor, AnchorOutcome } from '../../activities/anchor.js';
import { stopAfter, within } from '../../lib/deadline.js';
import { failed, maxAnswerBytes } from './outcome.js';

export interface CommandOptions {
  /** Program and arguments; no shell reads them. */
  command: readonly string[];
  timeoutMs: number;
  environment?: NodeJS.ProcessEnv;
}

/** Between the request to end and the end: Git removes its locks meanwhile. */
const graceMs = 2000;
/** After the program ended and its group was killed, its output can only be held open by what left the group. */
const drainMs = 1000;
const maxErrorBytes = 1024 * 1024;
const keptErrorCharacters = 1000;

/** Nothing of ours: the environment of a worker holds addresses with passwords and keys. */
const passedOn = /^(PATH|HOME|USER|LOGNAME|LANG|LANGUAGE|LC_[A-Z]+|TZ|TMPDIR)$/;

const anchorEnvironment = (environment: NodeJS.ProcessEnv): NodeJS.ProcessEnv =>
  Object.fromEntries(Object.entries(environment).filter(([name]) => passedOn.test(name)));

/** Runs the command with the note on its stdin. Exit 0 means that it is anchored; what it wrote to stdout is the answer (AU-90). */
export function commandAnchor({ command, timeoutMs, environment = process.env }: CommandOptions): Anchor {
  const [program = '', ...args] = command;
  return async (note, signal) => {
    if (signal.aborted) return failed('stopped');
    // The leader of a process group of its own, so that all of what it starts can be ended.
    const options = { cwd: '/', detached: true, env: anchorEnvironment(environment) };
    let child: ChildProcessWithoutNullStreams;
    try {
      child = spawn(program, args, options);
    } catch (error) {
      return cannotStart(error);
    }
    return run(child, note, timeoutMs, signal);
  };
}

const cannotStart = (error: unknown) =>
  failed(`cannot_start_${String((error as NodeJS.ErrnoException).code ?? 'error').toLowerCase()}`);

async function run(
  child: ChildProcessWithoutNullStreams,
  note: string,
  timeoutMs: number,
  signal: AbortSignal,
): Promise<AnchorOutcome> {
  let stopped: string | null = null;
  let killing: NodeJS.Timeout | undefined;
  const stop = (reason: string) => {
    if (stopped !== null) return;
    stopped = reason;
    endGroup(child, 'SIGTERM');
    killing = setTimeout(() => endGroup(child, 'SIGKILL'), graceMs);
  };
  const answer = collect(child.stdout, maxAnswerBytes, () => stop('answer_too_long'));
  const errors = collect(child.stderr, maxErrorBytes, () => stop('too_many_errors'));
  // A program may ignore its stdin; the resulting EPIPE is not an error.
  child.stdin.on('error', () => {});
  child.stdin.end(note);
  const closed = once(child, 'close').catch(() => {});
  const stopOnSignal = () => stop(signal.aborted ? 'stopped' : 'timeout');
  const ended = await stopAfter(timeoutMs, stopOnSignal, () => exitOf(child), signal);
  clearTimeout(killing);
  endGroup(child, 'SIGKILL');
  await within(closed, drainMs, undefined);
  for (const stream of [child.stdin, child.stdout, child.stderr]) stream.destroy();
  if ('error' in ended) return cannotStart(ended.error);
  const detail = lastOf(errors());
  if (stopped !== null) return failed(stopped, detail);
  if (ended.code !== 0) return failed(ended.code === null ? `signal_${ended.by.toLowerCase()}` : `exit_${ended.code}`, detail);
  return { kind: 'anchored', answer: answer(), isTruncated: false };
}

function exitOf(child: ChildProcessWithoutNullStreams): Promise<{ code: number | null; by: string } | { error: unknown }> {
  return new Promise((resolve) => {
    child.once('exit', (code, by) => resolve({ code, by: by ?? '' }));
    child.once('error', (error) => resolve({ error }));
  });
}

/** Also what the program left behind, unless that made a group of its own. */
function endGroup({ pid }: ChildProcessWithoutNullStreams, name: 'SIGTERM' | 'SIGKILL'): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, name);
  } catch {
    // Nothing of the group is left.
  }
}

/** Keeps at most `limit` bytes; calls `onOver` when there are more. */
function collect(stream: Readable, limit: number, onOver: () => void): () => Uint8Array {
  const parts: Buffer[] = [];
  let bytes = 0;
  stream.on('error', () => {});
  stream.on('data', (part: Buffer) => {
    if (bytes < limit) parts.push(part.subarray(0, limit - bytes));
    bytes += part.length;
    if (bytes > limit) onOver();
  });
  return () => new Uint8Array(Buffer.concat(parts));
}

const lastOf = (bytes: Uint8Array) =>
  Buffer.from(bytes)
    .toString('utf8')
    .replaceAll(/[^\P{Cc}\n\t]/gu, '')
    .trim()
    .slice(-keptErrorCharacters);
