import { parentPort, workerData } from 'node:worker_threads';
import type { Report } from './classifier-thread.js';
import { createEngine, type Task } from './engine.js';
import { createMysqlEngine } from './mysql/engine.js';

/** A thread of the classifier: reports `ready` once, then one answer per task. A failure ends the thread, which its owner notices. */
const { run, worn } = workerData === 'mysql' ? await createMysqlEngine() : { run: await createEngine(), worn: () => false };
const report = (report: Report): void => parentPort?.postMessage(report);
parentPort?.on('message', (task: Task) => void run(task).then((answer) => report({ answer, worn: worn() })));
report({ answer: 'ready', worn: false });
