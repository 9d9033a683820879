const { builtClient, end, runClient } = require('./client.cjs');
const { checkNode } = require('./node-version.cjs');

/** Words of programs of the gateway's own host, which `launch.mjs` starts. As a value of an option they only cost time. */
const hosts = ['server', 'worker', 'dev', 'config'];

/**
 * Node looks up half as many host names at a time as it has such threads, two unless told. With six names of a dead name server on the way, the seventh
 * took 30 s; with this, 9 ms. Must be set before anything uses a thread.
 */
const threads = '32';

/** `svc doctor` of a file of another program needs that program's code. */
const isHostDoctor = (argv) => argv.includes('doctor') && argv.some((word) => /^--(agent|server)(=|$)/.test(word));

/** Starts `svc`: the client as it is built, or whatever else is needed by `launch.mjs`. */
async function start() {
  checkNode();
  const argv = process.argv.slice(2);
  if (argv.some((word) => hosts.includes(word)) || isHostDoctor(argv)) {
    process.env.UV_THREADPOOL_SIZE ??= threads;
    return (await import('./launch.mjs')).launch('cli-main');
  }
  const file = builtClient();
  if (file === null) return (await import('./launch.mjs')).launchClient();
  return end(runClient(file, argv));
}

module.exports = { start };
