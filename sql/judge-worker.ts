import { parentPort } from 'node:worker_threads';
import { createEngine, type Task } from './engine.js';

/** The thread that judges long texts: says `ready` once, then gives one answer per task. A failure ends it, which its owner sees. */
const run = await createEngine();
parentPort?.on('message', (task: Task) => void run(task).then((answer) => parentPort?.postMessage(answer)));
parentPort?.postMessage('ready');
