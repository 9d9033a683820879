const { builtClient, end, runClient } = require('./client.cjs');
const { checkNode } = require('./node-version.cjs');

/** Words of programs of the gateway's own host, which `launch.mjs` starts. As a value of an option they only cost time. */
const hosts = ['server', 'worker', 'dev', 'config'];

/** Starts `svc`: the client as it is built, or whatever else is needed by `launch.mjs`. */
async function start() {
  checkNode();
  const argv = process.argv.slice(2);
  if (argv.some((word) => hosts.includes(word))) return (await import('./launch.mjs')).launch('cli-main');
  const file = builtClient();
  if (file === null) return (await import('./launch.mjs')).launchClient();
  return end(runClient(file, argv));
}

module.exports = { start };
