import { writeFileSync } from 'node:fs';
import { Session } from 'node:inspector';
import { basename, join } from 'node:path';

// Loaded by NODE_OPTIONS into each program: SIGUSR2 starts the profiler, the next one writes what it has seen.
const session = new Session();
let profiling = false;

process.on('SIGUSR2', () => {
  profiling = !profiling;
  if (!profiling) return session.post('Profiler.stop', (_error, { profile }) => write(profile));
  session.connect();
  session.post('Profiler.enable');
  session.post('Profiler.setSamplingInterval', { interval: 200 });
  return session.post('Profiler.start');
});

function write(profile) {
  const name = process.argv
    .slice(1, 3)
    .map((word) => basename(word))
    .join('-');
  writeFileSync(join(process.env.SVC_PROFILE_DIR, `${name}.cpuprofile`), JSON.stringify(profile));
  session.disconnect();
}
