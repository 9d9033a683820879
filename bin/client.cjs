/**
 * The short way of `svc` to a command that talks to a server: one file with all of the client, compiled ahead. The start of Node is most of
 * such a command's time, so this is CommonJS, stats only what the file was built from, and loads what Node itself brings when it is used.
 */
const { readFileSync, renameSync, statSync, writeFileSync } = require('node:fs');
const { join } = require('node:path');
const vm = require('node:vm');

const root = join(__dirname, '..');
const dist = join(root, 'dist');
const stampName = 'client.json';

/** The built file if it is of the current sources, else null. */
function builtClient() {
  try {
    const { file, inputs } = JSON.parse(readFileSync(join(dist, stampName), 'utf8'));
    return inputs.every(isSame) ? join(dist, file) : null;
  } catch {
    return null;
  }
}

function isSame([file, size, mtimeMs]) {
  const found = statSync(join(root, file));
  return found.size === size && found.mtimeMs === mtimeMs;
}

/** Runs `main(argv)` of the built client. */
async function runClient(file, argv) {
  const source = `(function (exports, require, module, __filename) {${readFileSync(file, 'utf8')}\n})`;
  // One file for each V8, because none takes the code of another.
  const codeFile = `${file}.${process.versions.v8}-${process.arch}`;
  const cachedData = read(codeFile);
  const script = new vm.Script(source, { filename: file, cachedData });
  const module = { exports: {} };
  script.runInThisContext()(module.exports, requireWhenUsed, module, file);
  const code = await module.exports.main(argv);
  // After the run, so that it has the functions that were used.
  if (cachedData === undefined || script.cachedDataRejected) keep(codeFile, script.createCachedData());
  return code;
}

/** What takes long to load, and what few commands use. Loaded by the first look at a name of it. */
const loadedWhenUsed = ['child_process', 'crypto', 'http', 'https', 'net', 'readline', 'tls'];

function requireWhenUsed(name) {
  if (!loadedWhenUsed.includes(name.replace('node:', ''))) return require(name);
  return new Proxy({}, { get: (_, key) => require(name)[key] });
}

/** Ends the process with the exit code of a run, when all is written. */
async function end(running) {
  // With nothing left to wait for, Node would end such a process as a success.
  const stopped = () => fail('the command has stopped without an outcome; this is a fault of this program');
  process.once('beforeExit', stopped);
  const code = await running.catch((error) => fail(error.stack ?? String(error)));
  process.off('beforeExit', stopped);
  await Promise.all([flushed(process.stdout), flushed(process.stderr)]);
  process.exit(code);
}

function fail(message) {
  process.stderr.write(`error: ${message}\n`);
  process.exit(1);
}

/** A pipe without a reader must not keep the process alive. */
function flushed(stream) {
  return new Promise((resolve) => {
    stream.once('error', resolve);
    stream.write('', resolve);
  });
}

function read(file) {
  try {
    return readFileSync(file);
  } catch {
    return undefined;
  }
}

/** Where nothing may be written, each run compiles anew. */
function keep(file, data) {
  try {
    writeFileSync(`${file}.${process.pid}`, data);
    renameSync(`${file}.${process.pid}`, file);
  } catch {}
}

module.exports = { builtClient, end, fail, runClient, stampName };
