import { readFileSync } from 'node:fs';

const lookEveryMs = 500;

/** Stops this process, in its orderly way, when the npm that runs it is killed and so could not pass a signal on. */
export function endWithNpm() {
  if (!process.env.npm_lifecycle_event) return;
  const parent = process.ppid;
  const grandparent = parentOf(parent);
  const timer = setInterval(() => {
    if (process.ppid === parent && parentOf(parent) === grandparent) return;
    clearInterval(timer);
    process.kill(process.pid, 'SIGTERM');
  }, lookEveryMs);
  timer.unref();
}

/** The parent of a process; null where the system does not tell. Between npm and its script there may be a shell. */
function parentOf(pid) {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1];
  } catch {
    return null;
  }
}
