/**
 * Loaded with --import. Kills this process with SIGKILL at the nth change that its code, or a program that it starts for them,
 * makes to files below a folder. SVC_KILL is JSON of `{ below, at, torn, log }`; `torn` kills in the middle of a change that has
 * parts. Each change is noted in `log`.
 */
import childProcess from 'node:child_process';
import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { join } from 'node:path';

const { below, at, torn, log } = JSON.parse(process.env.SVC_KILL);
const real = { ...fs, ...childProcess };
const notes = fs.openSync(log, 'w');
let count = 0;
let inside = false;

function die() {
  process.kill(process.pid, 'SIGKILL');
  // The signal may come a moment later.
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
}

const isBelow = (value) => (Array.isArray(value) ? value.some(isBelow) : below.some((folder) => String(value).includes(folder)));

/** Changes that can be left half done, and how each is. */
const tornParts = {
  writeFileSync: (file, data, options) => real.writeFileSync(file, String(data).slice(0, String(data).length / 2), options),
  cpSync(from, to, options) {
    let entries = 0;
    real.cpSync(from, to, { ...options, filter: () => ++entries < 5 || die() });
  },
  rmSync(path, options) {
    const names = real.statSync(path, { throwIfNoEntry: false })?.isDirectory() ? real.readdirSync(path).toSorted() : [];
    if (names.length > 0) real.rmSync(join(path, names.at(-1)), options);
  },
  spawn: real.spawn,
  spawnSync: (file, args, options) => real.spawn(file, args, { ...options, stdio: 'ignore', detached: true }),
};

const names = [
  'mkdirSync',
  'writeFileSync',
  'openSync',
  'renameSync',
  'rmSync',
  'chmodSync',
  'chownSync',
  'symlinkSync',
  'cpSync',
];
for (const [module, name] of [...names.map((name) => [fs, name]), [childProcess, 'spawn'], [childProcess, 'spawnSync']]) {
  module[name] = (...args) => {
    const reads = name === 'openSync' && !/[wa+]/.test(args[1]);
    if (inside || reads || !isBelow(args.slice(0, 2))) return real[name](...args);
    count += 1;
    real.writeSync(notes, `${name} ${args[0]}\n`);
    inside = true;
    try {
      if (count === at) {
        if (torn && name in tornParts) tornParts[name](...args);
        die();
      }
      return real[name](...args);
    } finally {
      inside = false;
    }
  };
}
syncBuiltinESMExports();
