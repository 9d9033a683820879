import { linkSync, readFileSync, rmSync, writeFileSync } from 'node:fs';

/**
 * Takes the lock file for this process. Returns `{ release }`, or `{ holder }` with the id of the live process that holds it.
 * Takes over the lock of a dead process, even when its id was reused after a reboot.
 */
export function takeLock(file) {
  const mine = `${file}.${process.pid}`;
  writeFileSync(mine, processMark(process.pid));
  try {
    for (let attempt = 0; attempt < 100; attempt += 1) {
      if (link(mine, file)) return { release: () => release(file) };
      const holder = holderOf(file) ?? removeStale(file, mine);
      if (holder !== null) return { holder };
    }
    throw new Error(`the lock ${file} cannot be taken; remove it when no other start is running`);
  } finally {
    rmSync(mine, { force: true });
  }
}

/** The process id in a lock file if that process is alive, else null. */
export function holderOf(file) {
  return holderBy(read(file));
}

function holderBy(mark) {
  const pid = Number.parseInt(mark ?? '', 10);
  return Number.isInteger(pid) && isAlive(pid) && processMark(pid) === mark ? pid : null;
}

const isStale = (mark) => mark !== null && holderBy(mark) === null;

/** The process id and, where the kernel provides it, the process's start time: another process may reuse the id. */
function processMark(pid) {
  const stat = read(`/proc/${pid}/stat`);
  const started = stat === null ? '' : (stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19] ?? '');
  return `${pid} ${started}\n`;
}

/**
 * Only whoever has linked the file beside it may remove it: a lock that is taken meanwhile would be removed by everybody who has seen the
 * stale one. Returns the process that is about to remove it, or null when the lock may be free now.
 */
function removeStale(file, mine) {
  const claim = `${file}.stale`;
  if (!link(mine, claim)) {
    const remover = holderOf(claim);
    if (remover === null) rmSync(claim, { force: true });
    return remover;
  }
  try {
    // While it is stale nobody else removes or replaces it.
    if (isStale(read(file))) rmSync(file, { force: true });
  } finally {
    rmSync(claim, { force: true });
  }
  return null;
}

function release(file) {
  if (holderOf(file) === process.pid) rmSync(file, { force: true });
}

function link(from, to) {
  try {
    linkSync(from, to);
    return true;
  } catch (error) {
    if (error.code === 'EEXIST') return false;
    throw error;
  }
}

function read(file) {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return null;
  }
}

function isAlive(pid) {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error.code === 'EPERM';
  }
}
