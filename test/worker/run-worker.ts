import { runWorker } from '../../worker/main.js';

process.exit(await runWorker({ config: process.argv[2] ?? '' }));
