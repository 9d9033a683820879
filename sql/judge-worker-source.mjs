// Starts the judging thread from sources: tsx does not take hold of threads by `--import`. A build starts judge-worker.js directly.
import { register } from 'tsx/esm/api';

register();
await import('./judge-worker.ts');
