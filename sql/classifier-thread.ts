import { Worker } from 'node:worker_threads';
import type { Answer, Task } from './engine.js';
import { createFairQueue } from './fair-queue.js';

export type ThreadAnswer = { ok: true; answer: Answer } | Failed;
export interface Failed {
  ok: false;
  why: string;
  /** The text was not classified because too many are waiting. */
  busy?: true;
}
export interface ClassifierThread {
  /** Runs the task on the thread, one at a time, callers taking turns. A task that exceeds its time or crashes the thread fails alone (SQ-7). */
  run(task: Task, caller: string): Promise<ThreadAnswer>;
  close(): Promise<void>;
}
/** What the thread reports after each task, and once when it is ready. */
export interface Report {
  answer: Answer;
  /** The thread asks to be replaced before the next task. */
  worn: boolean;
}
/** Which texts the thread classifies: it loads only their parsers. */
export type ThreadFor = 'postgresql' | 'mysql';
export interface ThreadLimits {
  /** Time for one text (SQ-7). */
  textMs: number;
  /** Time for the texts of a migration bundle, which may be ten times as long as one text. */
  bundleMs: number;
  startMs: number;
  /** Tasks that waited longer are dropped. */
  waitMs: number;
  /** How many tasks may wait, of all callers and of one. */
  total: number;
  perCaller: number;
}

/** 64 waiting texts of 1 MiB hold 64 MiB. Each caller with a worst-case text delays the others by 2 s. */
const defaultLimits: ThreadLimits = { textMs: 2_000, bundleMs: 6_000, startMs: 10_000, waitMs: 20_000, total: 64, perCaller: 16 };

const busy: Failed = { ok: false, why: 'too many texts are being classified', busy: true };

interface Waiting {
  task: Task;
  since: number;
  resolve: (answer: ThreadAnswer) => void;
}

/** The first task starts the thread; it is replaced after a failure. */
export function createClassifierThread(dialects: ThreadFor, given: Partial<ThreadLimits> = {}): ClassifierThread {
  const limits = { ...defaultLimits, ...given };
  const classifying = createFairQueue<Waiting>(limits);
  // After it was classified, for a call that is already running. The limits of classifying therefore bound these too.
  const redacting = createFairQueue<Waiting>({ total: Number.POSITIVE_INFINITY, perCaller: Number.POSITIVE_INFINITY });
  const next = () => redacting.next() ?? classifying.next();
  const thread = new ReplacedThread(dialects, limits);
  let working = false;
  const work = async (): Promise<void> => {
    if (working) return;
    working = true;
    for (let one = next(); one !== undefined; one = next()) {
      const late = performance.now() - one.since > limits.waitMs;
      one.resolve(
        late ? busy : await thread.run(one.task).catch(() => ({ ok: false, why: 'the thread of the classifier failed' })),
      );
    }
    working = false;
  };
  return {
    run: (task, caller) =>
      new Promise((resolve) => {
        const queue = task.kind === 'redact' && !task.unseen ? redacting : classifying;
        queue.add(caller, { task, since: performance.now(), resolve })?.resolve(busy);
        void work();
      }),
    close: () => thread.close(),
  };
}

/** One thread after another: the next one starts with the first task after the last one failed or was worn. */
class ReplacedThread {
  readonly #dialects: ThreadFor;
  readonly #limits: ThreadLimits;
  #worker: Worker | null = null;
  #closed = false;

  constructor(dialects: ThreadFor, limits: ThreadLimits) {
    this.#dialects = dialects;
    this.#limits = limits;
  }

  async run(task: Task): Promise<ThreadAnswer> {
    if (this.#closed) return { ok: false, why: 'the classifier is closed', busy: true };
    const running = this.#worker ?? (await this.#start());
    if (running === null) {
      await this.#stop();
      return { ok: false, why: 'the thread of the classifier does not start', busy: true };
    }
    // The thread keeps the process alive only while it works.
    running.ref();
    running.postMessage(task);
    const report = await receive(running, task.kind === 'migrations' ? this.#limits.bundleMs : this.#limits.textMs);
    if (report === null) {
      await this.#stop();
      return { ok: false, why: 'classifying took too long or too much memory' };
    }
    running.unref();
    if (report.worn) await this.#stop();
    return { ok: true, answer: report.answer };
  }

  async close(): Promise<void> {
    this.#closed = true;
    await this.#stop();
  }

  async #start(): Promise<Worker | null> {
    const starting = startWorker(this.#dialects);
    this.#worker = starting;
    starting.once('exit', () => {
      if (this.#worker === starting) this.#worker = null;
    });
    return (await receive(starting, this.#limits.startMs)) === null ? null : starting;
  }

  async #stop(): Promise<void> {
    const stopping = this.#worker;
    this.#worker = null;
    await stopping?.terminate();
  }
}

/** The next message, or null if the thread ends or is silent for too long. */
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

/** A build puts `classifier-worker.js` beside the file that this code is bundled into. */
function startWorker(dialects: ThreadFor): Worker {
  const file = import.meta.url.endsWith('.ts') ? './classifier-worker-source.mjs' : './classifier-worker.js';
  const options = { name: 'sql-classifier', workerData: dialects, execArgv: [], resourceLimits: { maxOldGenerationSizeMb: 512 } };
  const worker = new Worker(new URL(file, import.meta.url), options);
  // An error is followed by `exit`, which `receive` waits for. A thread that cannot start is a fault of the installation.
  worker.on('error', (error) => process.emitWarning(`a thread that classifies SQL texts ended: ${error.message}`));
  return worker;
}
