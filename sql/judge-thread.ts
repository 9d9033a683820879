import { Worker } from 'node:worker_threads';
import type { Answer, Task } from './engine.js';

export type ThreadAnswer = { ok: true; answer: Answer } | { ok: false; why: string };
export interface JudgeThread {
  /** Runs the task on the thread, one at a time; a task that runs over or crashes the thread costs only itself (SQ-7). */
  run(task: Task): Promise<ThreadAnswer>;
  close(): Promise<void>;
}
export interface ThreadLimits {
  /** Time for one text (SQ-7). */
  textMs: number;
  startMs: number;
  /** Tasks in hand, the running one included. */
  tasks: number;
}

/** 32 waiting texts at their worst hold 32 MiB and a minute; 100,000 bytes usually take under 100 ms. */
const defaultLimits: ThreadLimits = { textMs: 2_000, startMs: 10_000, tasks: 32 };

/** A thread started by the first task and replaced after a failure. */
export function createJudgeThread(limits: ThreadLimits = defaultLimits): JudgeThread {
  let worker: Worker | null = null;
  let last: Promise<unknown> = Promise.resolve();
  let tasks = 0;
  let closed = false;

  const stop = async (): Promise<void> => {
    const stopping = worker;
    worker = null;
    await stopping?.terminate();
  };
  const start = async (): Promise<Worker | null> => {
    const starting = startWorker();
    worker = starting;
    starting.once('exit', () => {
      if (worker === starting) worker = null;
    });
    return (await receive(starting, limits.startMs)) === null ? null : starting;
  };
  const runNow = async (task: Task): Promise<ThreadAnswer> => {
    if (closed) return { ok: false, why: 'the judge is closed' };
    const running = worker ?? (await start());
    if (running === null) return failed(stop, 'the judging thread does not start');
    // Only while it works does the thread keep the process alive.
    running.ref();
    running.postMessage(task);
    const answer: Answer | null = await receive(running, limits.textMs);
    if (answer === null) return failed(stop, 'judging took too long or too much memory');
    running.unref();
    return { ok: true, answer };
  };
  return {
    run: async (task) => {
      if (tasks >= limits.tasks) return { ok: false, why: 'too many long texts are being judged' };
      tasks += 1;
      const mine = last.then(() => runNow(task));
      last = mine.catch(() => null);
      return mine.finally(() => {
        tasks -= 1;
      });
    },
    close: async () => {
      closed = true;
      await stop();
    },
  };
}

async function failed(stop: () => Promise<void>, why: string): Promise<ThreadAnswer> {
  await stop();
  return { ok: false, why };
}

/** The next message, or null when the thread ends or is silent for too long. */
function receive(worker: Worker, timeoutMs: number): Promise<Answer | null> {
  return new Promise((resolve) => {
    const done = (answer: Answer | null): void => {
      clearTimeout(timer);
      worker.off('message', done).off('exit', gone);
      resolve(answer);
    };
    const gone = (): void => done(null);
    const timer = setTimeout(gone, timeoutMs);
    worker.once('message', done).once('exit', gone);
  });
}

/** A build puts `judge-worker.js` beside the file that this code ends up in. */
function startWorker(): Worker {
  const file = import.meta.url.endsWith('.ts') ? './judge-worker-source.mjs' : './judge-worker.js';
  const options = { name: 'sql-judge', execArgv: [], resourceLimits: { maxOldGenerationSizeMb: 512 } };
  const worker = new Worker(new URL(file, import.meta.url), options);
  // An error is followed by `exit`, which is what is waited for; a thread that cannot start is a fault of the installation.
  worker.on('error', (error) => process.emitWarning(`the thread that judges long SQL texts ended: ${error.message}`));
  return worker;
}
