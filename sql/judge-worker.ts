import { parentPort, workerData } from 'node:worker_threads';
import { createEngine, type Task } from './engine.js';
import type { Report } from './judge-thread.js';
import { createMysqlEngine } from './mysql/engine.js';

/** A judging thread: says `ready` once, then gives one answer per task. A failure ends it, which its owner sees. */
const { run, worn } = workerData === 'mysql' ? await createMysqlEngine() : { run: await createEngine(), worn: () => false };
const report = (report: Report): void => parentPort?.postMessage(report);
parentPort?.on('message', (task: Task) => void run(task).then((answer) => report({ answer, worn: worn() })));
report({ answer: 'ready', worn: false });
