import { Worker } from 'node:worker_threads';
import type { Answer, Task } from './engine.js';
import { createFairQueue } from './fair-queue.js';

export type ThreadAnswer = { ok: true; answer: Answer } | Failed;
export interface Failed {
  ok: false;
  why: string;
  /** The text was not looked at, because too many wait. */
  busy?: true;
}
export interface JudgeThread {
  /**
   * Runs the task on the thread, one at a time and the callers in turn; a task that runs over or crashes the thread costs only itself
   * (SQ-7).
   */
  run(task: Task, caller: string): Promise<ThreadAnswer>;
  close(): Promise<void>;
}
/** What the thread says after each task, and first of all when it is ready. */
export interface Report {
  answer: Answer;
  /** It wants to be replaced before the next task. */
  worn: boolean;
}
/** Which texts the thread judges: it loads the parsers of these only. */
export type ThreadFor = 'postgresql' | 'mysql';
export interface ThreadLimits {
  /** Time for one text (SQ-7). */
  textMs: number;
  /** Time for the texts of a migration bundle, which is ten times as long. */
  bundleMs: number;
  startMs: number;
  /** What has waited longer is not looked at any more. */
  waitMs: number;
  /** Tasks that wait. */
  total: number;
  /** Of one caller. */
  perCaller: number;
}

/** 64 waiting texts of 1 MiB hold 64 MiB. Each caller with a text of the worst kind keeps the others waiting for 2 s. */
const defaultLimits: ThreadLimits = { textMs: 2_000, bundleMs: 6_000, startMs: 10_000, waitMs: 20_000, total: 64, perCaller: 16 };

const busy: Failed = { ok: false, why: 'too many texts are being judged', busy: true };

interface Waiting {
  task: Task;
  since: number;
  resolve: (answer: ThreadAnswer) => void;
}

/** A thread started by the first task and replaced after a failure. */
export function createJudgeThread(judges: ThreadFor, given: Partial<ThreadLimits> = {}): JudgeThread {
  const limits = { ...defaultLimits, ...given };
  const judging = createFairQueue<Waiting>(limits);
  // A text is redacted after it was judged, by a call that waits for it: these are bounded by the others, and end what was begun.
  const redacting = createFairQueue<Waiting>({ total: Number.POSITIVE_INFINITY, perCaller: Number.POSITIVE_INFINITY });
  const next = () => redacting.next() ?? judging.next();
  let worker: Worker | null = null;
  let working = false;
  let closed = false;

  const stop = async (): Promise<void> => {
    const stopping = worker;
    worker = null;
    await stopping?.terminate();
  };
  const start = async (): Promise<Worker | null> => {
    const starting = startWorker(judges);
    worker = starting;
    starting.once('exit', () => {
      if (worker === starting) worker = null;
    });
    return (await receive(starting, limits.startMs)) === null ? null : starting;
  };
  const runNow = async (task: Task): Promise<ThreadAnswer> => {
    if (closed) return { ok: false, why: 'the judge is closed', busy: true };
    const running = worker ?? (await start());
    if (running === null) {
      await stop();
      return { ok: false, why: 'the judging thread does not start', busy: true };
    }
    // Only while it works does the thread keep the process alive.
    running.ref();
    running.postMessage(task);
    const report = await receive(running, task.kind === 'migrations' ? limits.bundleMs : limits.textMs);
    if (report === null) {
      await stop();
      return { ok: false, why: 'judging took too long or too much memory' };
    }
    running.unref();
    if (report.worn) await stop();
    return { ok: true, answer: report.answer };
  };
  const work = async (): Promise<void> => {
    if (working) return;
    working = true;
    for (let one = next(); one !== undefined; one = next()) {
      const late = performance.now() - one.since > limits.waitMs;
      one.resolve(late ? busy : await runNow(one.task).catch(() => ({ ok: false, why: 'the judging thread failed' })));
    }
    working = false;
  };
  const run = (task: Task, caller: string): Promise<ThreadAnswer> =>
    new Promise((resolve) => {
      const queue = task.kind === 'redact' ? redacting : judging;
      queue.add(caller, { task, since: performance.now(), resolve })?.resolve(busy);
      void work();
    });
  return {
    run,
    close: async () => {
      closed = true;
      await stop();
    },
  };
}

/** The next message, or null when the thread ends or is silent for too long. */
function receive(worker: Worker, timeoutMs: number): Promise<Report | null> {
  return new Promise((resolve) => {
    const done = (report: Report | null): void => {
      clearTimeout(timer);
      worker.off('message', done).off('exit', gone);
      resolve(report);
    };
    const gone = (): void => done(null);
    const timer = setTimeout(gone, timeoutMs);
    worker.once('message', done).once('exit', gone);
  });
}

/** A build puts `judge-worker.js` beside the file that this code ends up in. */
function startWorker(judges: ThreadFor): Worker {
  const file = import.meta.url.endsWith('.ts') ? './judge-worker-source.mjs' : './judge-worker.js';
  const options = { name: 'sql-judge', workerData: judges, execArgv: [], resourceLimits: { maxOldGenerationSizeMb: 512 } };
  const worker = new Worker(new URL(file, import.meta.url), options);
  // An error is followed by `exit`, which is what is waited for; a thread that cannot start is a fault of the installation.
  worker.on('error', (error) => process.emitWarning(`a thread that judges SQL texts ended: ${error.message}`));
  return worker;
}
