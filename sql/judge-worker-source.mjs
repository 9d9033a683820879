// Starts the judging thread from sources: tsx's `--import` does not reach threads. A build starts judge-worker.js directly.
import { register } from 'tsx/esm/api';

register();
await import('./judge-worker.ts');
